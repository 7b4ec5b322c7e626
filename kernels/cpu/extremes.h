// The least and the greatest of a few elements, and where such a one is first. The best of elements
// does not depend on an order, so that these loops look at them as they please, and at both ends at
// once.
#ifndef WARPFOLD_KERNELS_CPU_EXTREMES_H_
#define WARPFOLD_KERNELS_CPU_EXTREMES_H_

#include "kernels/cpu/loop_table.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"

namespace warpfold::cpu {

// As the components Min<T> and Max<T> have them: of NaN both ends are past those of numbers, and of
// no elements they are the components' identities.
template <typename T>
struct Extremes {
  OrderedKey<T> least;
  OrderedKey<T> greatest;
};

// Of the `count` elements at `data`, 1 or more; kOmitsNan: of those that are numbers.
template <typename T, bool kOmitsNan>
struct ExtremeLoops {
  Extremes<T> (*both)(const T* data, int count);
  OrderedKey<T> (*least)(const T* data, int count);
  OrderedKey<T> (*greatest)(const T* data, int count);
  // The number of the first element that ARGMIN or ARGMAX takes for the one with this key.
  // REQUIRES: there is one.
  int (*index_of)(const T* data, int count, OrderedKey<T> key);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
using ExtremeLoopTable = ElementLoops<ExtremeLoops>;
const ExtremeLoopTable& GetExtremeLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXTREMES_H_
