#include "server/device/cpu/cpu_folds.h"

#include <tbb/parallel_for.h>

#include <cstring>

#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

void ParallelTasks(std::int64_t count, cpu::Task task) {
  if (count == 1) {
    task(0);
  } else {
    tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
      const BadAllocScope scope;  // of this thread; TBB brings the exception to the lane's
      task(i);
    });
  }
}

}  // namespace

absl::Status CpuBackend::FoldElements(const void* data, const Extent& extent, const Output& output,
                                      void* /*scratch*/) {
  return OrNoHostMemory([&] {
    cpu::FoldElements(job_, data, extent, output, ParallelTasks);
    return absl::OkStatus();
  });
}

absl::Status CpuBackend::FoldStates(const void* states, const Extent& extent, const Output& output,
                                    void* /*scratch*/) {
  return OrNoHostMemory([&] {
    cpu::FoldStates(job_, states, extent, output, ParallelTasks);
    return absl::OkStatus();
  });
}

absl::Status CpuBackend::PushStates(const void* states, std::int64_t width, std::int64_t index,
                                    void* stack) {
  cpu::PushStates(job_, states, width, index, stack);
  return absl::OkStatus();
}

absl::Status CpuBackend::DrainStack(const void* stack, std::int64_t width, std::int64_t count,
                                    const Output& output) {
  cpu::DrainStack(job_, stack, width, count, output);
  return absl::OkStatus();
}

absl::Status CpuBackend::Copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

CpuFolds::CpuFolds(const Plan& plan, const PieceCutter& cutter, Numerics numerics)
    : job_{plan.dtype, plan.bundle(), numerics},
      geometry_(plan.geometry),
      outputs_(plan.output_count),
      backend_(job_),
      kind_(cutter.kind()),
      leaves_states_(plan.leaves_states),
      keeps_states_(leaves_states_ || kind_ != PieceKind::kPlanes || !geometry_.folds.empty()) {
  if (numerics == Numerics::kOrdered) {
    scratch_bytes_ = layout_.emplace(plan, cutter, backend_).total_bytes;
  } else if (keeps_states_ && !leaves_states_) {
    ScratchPlaces places;
    places.Take(static_cast<std::size_t>(outputs_) * backend_.StateBytes());
    scratch_bytes_ = places.total_bytes();
  }
}

void CpuFolds::Place(const Plan& plan, std::byte* scratch, const Output& results) {
  results_ = results;
  if (layout_) {
    folding_.emplace(plan, kind_, backend_.StateBytes(), *layout_, scratch, results);
  } else if (keeps_states_) {
    states_ = leaves_states_ ? results.states : scratch;
    cpu::ClearStates(job_, states_, outputs_);
  }
}

absl::Status CpuFolds::Fold(const void* data, const Piece& piece) {
  if (folding_) return folding_->Fold(backend_, data, piece);
  const Extent extent{piece.planes, piece.rows, piece.columns, piece.first};
  const std::int64_t first_row = piece.plane * geometry_.inner + piece.column;
  if (!keeps_states_) {
    Output output = results_;
    output.first_result = first_row;
    return backend_.FoldElements(data, extent, output, nullptr);
  }
  return OrNoHostMemory([&] {
    cpu::AddElements(job_, data, extent, {geometry_.output_rows(), first_row}, states_,
                     ParallelTasks);
    return absl::OkStatus();
  });
}

absl::Status CpuFolds::Finish() {
  if (folding_) return folding_->Finish(backend_);
  if (!keeps_states_ || leaves_states_) return absl::OkStatus();
  return backend_.FoldStates(states_, {1, 1, outputs_}, results_, nullptr);
}

}  // namespace warpfold
