// Where a kernel leaves its states: in an array for the next pass, or, in the last pass, finished
// in the result arrays.
#ifndef WARPFOLD_KERNELS_CUDA_EPILOGUE_CUH_
#define WARPFOLD_KERNELS_CUDA_EPILOGUE_CUH_

#include <cstdint>

#include "kernels/cuda/launch_plan.h"
#include "kernels/exact/folds.h"
#include "kernels/finish.h"

namespace warpfold::cuda {

// Keeps the overflow with the lowest output index. Rare, so a lock is enough; the loop ends because
// threads of a warp make progress independently since Volta.
__device__ inline void ReportOverflow(Overflow* report, std::int64_t index,
                                      const OpOverflow& op_overflow) {
  volatile Overflow* shared = report;
  if (index >= shared->output_index) return;  // it is only ever lowered
  while (atomicCAS(&report->lock, 0, 1) != 0) {
  }
  __threadfence();
  if (index < shared->output_index) {
    shared->output_index = index;
    shared->op = op_overflow.op;
    shared->high = static_cast<std::int64_t>(op_overflow.sum >> 64);
    shared->low = static_cast<std::uint64_t>(op_overflow.sum);
  }
  __threadfence();
  atomicExch(&report->lock, 0);
}

__device__ inline void ReportUndecided(const UndecidedList& undecided, std::int64_t index,
                                       bool beyond_sums) {
  const auto at = static_cast<std::int64_t>(
      atomicAdd(reinterpret_cast<unsigned long long*>(&undecided.counts->all), 1ull));
  if (beyond_sums) undecided.counts->beyond_sums = 1;
  if (at < undecided.capacity) undecided.numbers[at] = index;
}

template <class F>
struct Epilogue {
  typename F::State* d_states = nullptr;  // [slot of the partial][output]; null: write results
  PartialOrder order;
  std::int64_t outputs = 0;
  ResultTargets targets;
  exact::Divisors divisors;       // the targets'
  std::int64_t first_result = 0;  // the result index of output 0
  Overflow* d_overflow = nullptr;
  // Whether anybody reads the index of the smallest, of the largest element.
  bool reads_arg_min = true;
  bool reads_arg_max = true;
  UndecidedList undecided;

  __device__ void Put(std::int64_t partial, std::int64_t output,
                      const typename F::State& state) const {
    const typename F::State states[1] = {state};
    Put(partial, output, states);
  }
  // Of neighbouring outputs.
  template <int kCount>
  __device__ void Put(std::int64_t partial, std::int64_t first_output,
                      const typename F::State (&states)[kCount]) const {
    if (d_states != nullptr) {
      typename F::State* slot = d_states + order.Slot(partial) * outputs + first_output;
#pragma unroll
      for (int i = 0; i < kCount; ++i) slot[i] = states[i];
      return;
    }
    if constexpr (exact::kIsExact<F>) {
      // What code out of line takes by reference lies in memory, and that a thread folds into must
      // not: nine statistics of i8 along columns took 1.4 times as long.
      typename F::State copies[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) copies[i] = states[i];
      PutResults(first_output, copies, {});
    } else {
      const std::int64_t index = first_result + first_output;
      OpOverflow op_overflow;
      const int at = WriteResults<F, kCount>(targets, index, states, &op_overflow);
      if (at < kCount) ReportOverflow(d_overflow, index + at, op_overflow);
    }
  }

  // Of an output whose state several warps have: a thread of each calls this with its share of the
  // ops, as nine results take one thread longer than a small tensor's elements.
  __device__ void PutByWarps(std::int64_t partial, std::int64_t output,
                             const typename F::State& state, const exact::OpShare& share) const {
    if constexpr (exact::kIsExact<F>) {
      if (d_states == nullptr) {
        const typename F::State states[1] = {state};
        return PutResults(output, states, share);
      }
    }
    if (share.first == 0) Put(partial, output, state);
  }

  // A thread's share of the results, of folds that kIsExact. REQUIRES: no states are asked for.
  template <int kCount>
  __device__ void PutResults(std::int64_t first_output, const typename F::State (&states)[kCount],
                             const exact::OpShare& share) const {
    const std::int64_t index = first_result + first_output;
    OpOverflow op_overflow;
    exact::UndecidedBits undecided_bits;
    const int at = exact::WriteFoldResults<F, kCount>(targets, divisors, index, states,
                                                      &op_overflow, &undecided_bits, share);
    if (at < kCount) ReportOverflow(d_overflow, index + at, op_overflow);
    for (int k = 0; k < kCount; ++k) {
      if ((undecided_bits.outputs >> k & 1) != 0) {
        ReportUndecided(undecided, index + k, undecided_bits.beyond_sums);
      }
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_EPILOGUE_CUH_
