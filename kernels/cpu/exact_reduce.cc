#include "kernels/cpu/exact_reduce.h"

#include "kernels/cpu/exact_engine.h"

namespace warpfold::cpu {
namespace {

// Calls `visitor(TypeTag<ExactEngineOf<X>>{})` with the job's engine.
template <typename Visitor>
void VisitExactEngine(const Job& job, Visitor&& visitor) {
  VisitDType(job.dtype, [&](auto type) {
    exact::VisitFusion<typename decltype(type)::type>(job.bundle, [&](auto fusion) {
      visitor(TypeTag<ExactEngineOf<typename decltype(fusion)::type>>{});
    });
  });
}

}  // namespace

void ClearStates(const Job& job, void* states, std::int64_t count) {
  VisitExactEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::Clear(static_cast<typename E::State*>(states), count);
  });
}

void AddElements(const Job& job, const void* data, const Extent& extent, const RowNumbers& rows,
                 void* states, ParallelFor parallel_for) {
  VisitExactEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    Output output;
    output.states = states;
    const OutputStates outputs(rows, states);
    E::FoldElements(static_cast<const typename E::T*>(data), extent, {output, &outputs},
                    parallel_for);
  });
}

void FoldElementsExactly(const Job& job, const void* data, const Extent& extent,
                         const Output& output, ParallelFor parallel_for) {
  VisitExactEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::FoldElements(static_cast<const typename E::T*>(data), extent, {output}, parallel_for);
  });
}

void FoldStatesExactly(const Job& job, const void* states, const Extent& extent,
                       const Output& output, ParallelFor parallel_for) {
  VisitExactEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::FoldStates(static_cast<const typename E::State*>(states), extent, {output}, parallel_for);
  });
}

// Of the stack's levels the first does: what joins in any order needs no tree.
void PushStatesExactly(const Job& job, const void* states, std::int64_t width, std::int64_t index,
                       void* stack) {
  VisitExactEngine(job, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E::PushStates(static_cast<const typename E::State*>(states), width, index,
                  static_cast<typename E::State*>(stack));
  });
}

std::size_t ExactStateBytes(const Job& job) {
  std::size_t bytes = 0;
  VisitExactEngine(job, [&](auto tag) { bytes = sizeof(typename decltype(tag)::type::State); });
  return bytes;
}

}  // namespace warpfold::cpu
