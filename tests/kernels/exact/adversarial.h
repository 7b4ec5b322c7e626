// Elements that are hard to reduce exactly: far apart, cancelling, on ties of the result and beside
// them, subnormal, near overflow, special. The same ones for the same engine.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_ADVERSARIAL_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_ADVERSARIAL_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/plan.h"
#include "kernels/types.h"

namespace warpfold::testing {

// What the elements of one output are. Those that are built from the answer need some elements for
// it, at most about thirty, and are any elements where there are too few.
enum class HardFloat : std::uint8_t {
  kNormal,           // N(0, 1)
  kEightyBinades,    // of any exponent within 80 binades around 1, or all that the type has
  k270Binades,       // within 270
  kAllBinades,       // of every exponent
  kSubnormals,       // and now and then a small normal number
  kCancellingPairs,  // that leave one element
  kSumTie,           // the sum lies halfway between two numbers; among zeros the L1 norm, too
  kBesideSumTie,     // by the smallest subnormal number
  kMeanTie,
  kBesideMeanTie,  // by the smallest subnormal number, in the sum
  kL2NormTie,
  kAboveL2NormTie,  // by the square of the smallest subnormal number, in the sum of squares
  kVarianceTie,     // of an even count and correction 0
  kStdTie,          // of an even count and correction 0
  kProductTie,
  kNearOne,  // 1 and its neighbours: their product is cut off at every step
  kSignedZeros,
  kNegativeZeros,
  kHuge,          // their sums overflow, or nearly
  kOneHugeATile,  // among 1,024 small ones
  kSpecials,      // NaN of any payload, infinities and zeros among others, or NaN alone
  kConstant,      // one number, far from 0
  kOffset,        // neighbours of one number, far from 0
};
inline constexpr HardFloat kHardFloats[] = {
    HardFloat::kNormal,        HardFloat::kEightyBinades, HardFloat::k270Binades,
    HardFloat::kAllBinades,    HardFloat::kSubnormals,    HardFloat::kCancellingPairs,
    HardFloat::kSumTie,        HardFloat::kBesideSumTie,  HardFloat::kMeanTie,
    HardFloat::kBesideMeanTie, HardFloat::kL2NormTie,     HardFloat::kAboveL2NormTie,
    HardFloat::kVarianceTie,   HardFloat::kStdTie,        HardFloat::kProductTie,
    HardFloat::kNearOne,       HardFloat::kSignedZeros,   HardFloat::kNegativeZeros,
    HardFloat::kHuge,          HardFloat::kOneHugeATile,  HardFloat::kSpecials,
    HardFloat::kConstant,      HardFloat::kOffset};

enum class HardInteger : std::uint8_t {
  kAnyBits,
  kExtremes,       // the largest, the smallest, 0, 1 and -1
  kConstant,       // one number, far from 0
  kOffset,         // it and those above it
  kSumFits,        // of 64 bits: the sum is the largest or the smallest that fits
  kSumDoesNotFit,  // of 64 bits: by one
  kProductFits,    // by a factor of at most 2
  kProductDoesNotFit,
};
inline constexpr HardInteger kHardIntegers[] = {
    HardInteger::kAnyBits,     HardInteger::kExtremes,         HardInteger::kConstant,
    HardInteger::kOffset,      HardInteger::kSumFits,          HardInteger::kSumDoesNotFit,
    HardInteger::kProductFits, HardInteger::kProductDoesNotFit};

// The bits of `count` elements.
std::vector<std::uint64_t> HardFloats(DType dtype, HardFloat kind, std::size_t count,
                                      std::mt19937_64& random);
std::vector<std::uint64_t> HardIntegers(DType dtype, HardInteger kind, std::size_t count,
                                        std::mt19937_64& random);

// A tensor of spec.dtype and spec.shape: the elements of each output are of any kind.
std::vector<char> HardTensor(const ReduceSpec& spec, std::mt19937_64& random);

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_ADVERSARIAL_H_
