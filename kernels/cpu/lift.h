// Stored elements as what they are computed with. Safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_LIFT_H_
#define WARPFOLD_KERNELS_CPU_LIFT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu/loop_table.h"
#include "kernels/dtypes/element.h"

namespace warpfold::cpu {

template <typename Stored>
struct LiftLoop {
  // Writes Lift of each of `count` elements.
  void (*lift)(const Stored* elements, std::int64_t count, Lifted<Stored>* lifted);
};

// The loops for this processor.
using LiftLoopTable = LoopTable<LiftLoop<F8E4M3>, LiftLoop<F8E5M2>>;
const LiftLoopTable& GetLiftLoops();

template <typename Stored>
void CopyLifted(const Stored* elements, std::int64_t count, Lifted<Stored>* to) {
  if constexpr (kIsLifted<Stored>) {
    const LiftLoop<Stored>& loop = GetLiftLoops();
    loop.lift(elements, count, to);
  } else {
    std::copy(elements, elements + count, to);
  }
}

// Rows of a tensor, lifted, one block after another. Valid until the next one.
template <typename Stored>
class LiftedBlock {
 public:
  struct Rows {
    const Lifted<Stored>* data;
    std::int64_t step;  // elements from a row to the next
  };

  // `rows` rows of `columns` elements, `step` apart.
  Rows Of(const Stored* data, std::int64_t step, std::int64_t rows, std::int64_t columns) {
    if constexpr (!kIsLifted<Stored>) {
      return {data, step};
    } else {
      if (rows * columns > size_) {
        size_ = rows * columns;
        room_ = std::make_unique_for_overwrite<Lifted<Stored>[]>(static_cast<std::size_t>(size_));
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        CopyLifted(data + r * step, columns, room_.get() + r * columns);
      }
      return {room_.get(), columns};
    }
  }

 private:
  std::int64_t size_ = 0;
  std::unique_ptr<Lifted<Stored>[]> room_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_LIFT_H_
