#include "kernels/cpu/exact_gather.h"

#include <algorithm>
#include <iterator>

#include "kernels/exact/components.h"
#include "kernels/exact/fold.h"
#include "kernels/exact/folds.h"

namespace warpfold::cpu {
namespace {

// A fold's components into those of the fusion, and of integers its squares.
template <class X, class F>
void TakeFolded(const typename F::State& folded, typename X::State& state) {
  using T = typename X::Element;
  using Values = typename X::Values;
  Values::ForEach([&](auto tag) {
    using C = typename decltype(tag)::type;
    Values::template Get<C>(X::ValuesOf(state)) = F::template Get<C>(folded);
  });
  if constexpr (X::kSums == exact::Sums::kStatistics && !kIsFloat<T>) {
    const auto& squares = F::template Get<exact::WideSquares<T>>(folded);
    std::copy(std::begin(squares.words), std::end(squares.words), state.sums.squares);
  }
}

template <class X, typename T, exact::Sums kSums>
void TakeSums(const exact::OutputSums<T, kSums>& sums, typename X::State& state) {
  if constexpr (X::kSums != exact::Sums::kNone) {
    state.sums.specials = sums.sums.specials;
    state.sums.sum = sums.sums.sum;
    if constexpr (X::kSums == exact::Sums::kStatistics && kSums == exact::Sums::kStatistics) {
      state.sums.absolute_sum = sums.sums.absolute_sum;
      state.sums.squares = sums.sums.squares;
    }
    if constexpr (X::kOmitsNan) {
      X::Values::template Get<NanCount<T>>(X::ValuesOf(state)) = sums.omitted;
    }
  }
}

// Whether F folds all of these values, a Fold's.
template <class F, class Values>
inline constexpr bool kFolds = false;
template <class F, typename Stored, NanPolicy kNanPolicy, class... Components>
inline constexpr bool kFolds<F, Fold<Stored, kNanPolicy, Components...>> =
    (F::template kHas<Components> && ...);

template <class X>
void Gather(FusedOpSet fused_op_set, const DeviceStates& from, std::int64_t i,
            typename X::State& state) {
  using T = typename X::Element;
  using Stored = typename X::Storage;
  state = X::Identity();
  if (from.folded != nullptr) {
    exact::VisitFold<Stored>(fused_op_set, [&](auto tag) {
      using F = typename decltype(tag)::type;
      if constexpr (kFolds<F, typename X::Values>) {
        TakeFolded<X, F>(static_cast<const typename F::State*>(from.folded)[i], state);
      }
    });
  }
  if constexpr (X::kHasProduct) {
    if (from.products != nullptr) {
      constexpr auto kNanPolicy = X::kOmitsNan ? NanPolicy::kOmit : NanPolicy::kPropagate;
      using F = exact::ProductFold<Stored, kNanPolicy>;
      using C = exact::ExactProduct<T>;
      const auto* const products = static_cast<const typename F::State*>(from.products);
      state.product = C::ProductOf(F::template Get<C>(products[i]));
    }
  }
  if constexpr (kIsFloat<T>) {
    if (from.sums_kind == exact::Sums::kSum) {
      using Sums = exact::OutputSums<T, exact::Sums::kSum>;
      TakeSums<X>(static_cast<const Sums*>(from.sums)[i], state);
    } else if (from.sums_kind == exact::Sums::kStatistics) {
      using Sums = exact::OutputSums<T, exact::Sums::kStatistics>;
      TakeSums<X>(static_cast<const Sums*>(from.sums)[i], state);
    }
  }
  X::Normalize(state);
}

}  // namespace

void GatherExactly(const Job& job, const DeviceStates& from, std::int64_t first, std::int64_t count,
                   void* states) {
  VisitDType(job.dtype, [&](auto type) {
    exact::VisitFusion<typename decltype(type)::type>(job.fused_op_set, [&](auto fusion) {
      using X = typename decltype(fusion)::type;
      for (std::int64_t i = 0; i < count; ++i) {
        Gather<X>(job.fused_op_set, from, first + i, static_cast<typename X::State*>(states)[i]);
      }
    });
  });
}

}  // namespace warpfold::cpu
