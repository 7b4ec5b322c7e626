#include "kernels/cpu/reduce.h"

#include "kernels/cpu/engine.h"
#include "kernels/cpu/exact_reduce.h"

namespace warpfold::cpu {
namespace {

// Calls `visitor(TypeTag<EngineOf<F>>{})` with the job's engine.
template <typename Visitor>
void VisitEngine(const Job& job, Visitor&& visitor) {
  VisitDType(job.dtype, [&](auto type) {
    VisitBundle<typename decltype(type)::type>(job.bundle, [&](auto fold) {
      visitor(TypeTag<EngineOf<typename decltype(fold)::type>>{});
    });
  });
}

}  // namespace

std::size_t StateBytes(const Job& job) {
  return job.numerics == Numerics::kExact ? ExactStateBytes(job)
                                          : warpfold::StateBytes(job.dtype, job.bundle);
}

void FoldElements(const Job& job, const void* data, const Extent& extent, const Output& output,
                  ParallelFor parallel_for) {
  if (job.numerics == Numerics::kExact) {
    FoldElementsExactly(job, data, extent, output, parallel_for);
    return;
  }
  VisitEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::FoldElements(static_cast<const typename E::T*>(data), extent, output, parallel_for);
  });
}

void FoldStates(const Job& job, const void* states, const Extent& extent, const Output& output,
                ParallelFor parallel_for) {
  if (job.numerics == Numerics::kExact) {
    FoldStatesExactly(job, states, extent, output, parallel_for);
    return;
  }
  VisitEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::FoldStates(static_cast<const typename E::State*>(states), extent, output, parallel_for);
  });
}

void PushStates(const Job& job, const void* states, std::int64_t width, std::int64_t index,
                void* stack) {
  if (job.numerics == Numerics::kExact) {
    PushStatesExactly(job, states, width, index, stack);
    return;
  }
  VisitEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::PushStates(static_cast<const typename E::State*>(states), width, index,
                  static_cast<typename E::State*>(stack));
  });
}

void DrainStack(const Job& job, const void* stack, std::int64_t width, std::int64_t count,
                const Output& output) {
  VisitEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::DrainStack(static_cast<const typename E::State*>(stack), width, count, output);
  });
}

}  // namespace warpfold::cpu
