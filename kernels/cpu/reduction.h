// A reduction of tensors in host memory: planned once, run any number of times. Every sum of floats
// is the real sum, rounded once; the same bits as cuda/reduction.h's.
//
//   const absl::StatusOr<cpu::Reduction> mean =
//       cpu::Reduction::Make({.shape = {4096, 1024}, .ops = {Op::kMean}, .axes = {1}});
//   std::vector<float> means(4096);
//   absl::Status status = mean->Run(std::as_bytes(std::span(tensor)),
//                                   {std::as_writable_bytes(std::span(means))});
//
// Safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_REDUCTION_H_
#define WARPFOLD_KERNELS_CPU_REDUCTION_H_

#include <cstddef>
#include <initializer_list>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"

namespace warpfold::cpu {

class Reduction {
 public:
  // As MakePlan; also UNIMPLEMENTED of a dtype that this build has no kernels of.
  static absl::StatusOr<Reduction> Make(const ReduceSpec& spec);

  const Plan& plan() const { return plan_; }

  // Reduces `tensor`, in C order, on the calling thread, or on those that `parallel_for` has.
  // Results, of plan().result_dtype(i), go to results[i] of op i: plan().output_count of them, in C
  // order. All arrays begin on a multiple of their elements' size, and none overlaps another. Takes
  // memory for states where other than neighbouring axes are reduced (std::bad_alloc).
  //
  // INVALID_ARGUMENT: bytes that are not as many as the plan's or do not begin on such a multiple,
  // or not one array for each op. OUT_OF_RANGE: an integer sum or product that does not fit, with
  // its value. DATA_LOSS: a product of floats whose rounding nobody knows. Of several the message
  // has one; all results but such are there.
  absl::Status Run(std::span<const std::byte> tensor, std::span<const std::span<std::byte>> results,
                   ParallelFor parallel_for = Serial) const;
  absl::Status Run(std::span<const std::byte> tensor,
                   std::initializer_list<std::span<std::byte>> results,
                   ParallelFor parallel_for = Serial) const {
    return Run(tensor, std::span(results.begin(), results.size()), parallel_for);
  }

 private:
  explicit Reduction(Plan plan);
  absl::Status CheckArrays(std::span<const std::byte> tensor,
                           std::span<const std::span<std::byte>> results) const;

  Plan plan_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_REDUCTION_H_
