// Where the states of outputs go: to an array of states, or, finished, to the results.
#ifndef WARPFOLD_KERNELS_CPU_EMIT_H_
#define WARPFOLD_KERNELS_CPU_EMIT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/finish_loops.h"
#include "kernels/finish.h"

namespace warpfold::cpu {

inline void ReportOverflow(Overflow* report, std::int64_t index, const OpOverflow& op_overflow) {
  std::atomic_ref<std::int32_t> lock(report->lock);
  while (lock.exchange(1, std::memory_order_acquire) != 0) {
  }
  if (index < report->output_index) {
    report->output_index = index;
    report->op = op_overflow.op;
    report->high = static_cast<std::int64_t>(op_overflow.sum >> 64);
    report->low = static_cast<std::uint64_t>(op_overflow.sum);
  }
  lock.store(0, std::memory_order_release);
}

// The states of outputs one after another, from output `first` on, by a writer as exact_writer.h
// has it.
//
// Not for interprocedural analysis: GCC 12 found that some instances write nothing, and dropped
// the calls (minima of f32, f64 and bf16 along columns, at -O3).
template <class Writer>
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noipa))
#endif
void EmitRun(const Output& output, std::int64_t first, const typename Writer::State* states,
             std::int64_t count) {
  if (output.states != nullptr) {
    std::copy_n(states, count, static_cast<typename Writer::State*>(output.states) + first);
    return;
  }
  std::int64_t i = 0;
  const auto write = [&]<int kCount>() {
    for (; i + kCount <= count; i += kCount) {
      const std::int64_t index = output.first_result + first + i;
      OpOverflow op_overflow;
      const int at =
          Writer::template Write<kCount>(output.targets, index, states + i, &op_overflow);
      if (at < kCount) ReportOverflow(output.overflow, index + at, op_overflow);
    }
  };
  if (Writer::TakesBlocks(output.targets)) write.template operator()<kFinishBlock>();
  write.template operator()<8>();
  write.template operator()<1>();
}

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EMIT_H_
