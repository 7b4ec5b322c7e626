#include "kernels/cpu/pack.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/finish.h"
#include "kernels/fold.h"

namespace warpfold::cpu {
namespace {

// The kind that a component is; of none it is null.
template <class C>
constexpr std::nullptr_t kKindOf = nullptr;
template <typename T>
constexpr ValueKind kKindOf<Sum<T>> = ValueKind::kSum;
template <typename T>
constexpr ValueKind kKindOf<AbsSum<T>> = ValueKind::kAbsSum;
template <typename T>
constexpr ValueKind kKindOf<SquareSum<T>> = ValueKind::kSquareSum;
template <typename T>
constexpr ValueKind kKindOf<Min<T>> = ValueKind::kMin;
template <typename T>
constexpr ValueKind kKindOf<Max<T>> = ValueKind::kMax;
template <typename T>
constexpr ValueKind kKindOf<ArgMin<T>> = ValueKind::kArgMin;
template <typename T>
constexpr ValueKind kKindOf<ArgMax<T>> = ValueKind::kArgMax;
template <typename T>
constexpr ValueKind kKindOf<NonzeroCount<T>> = ValueKind::kNonzeroCount;
template <typename T>
constexpr ValueKind kKindOf<NanCount<T>> = ValueKind::kNanCount;
template <typename T>
constexpr ValueKind kKindOf<InfCount<T>> = ValueKind::kInfCount;
template <typename T>
constexpr ValueKind kKindOf<Moments<T>> = ValueKind::kMoments;
template <typename T>
constexpr ValueKind kKindOf<Product<T>> = ValueKind::kProduct;

// A packed value is the state's fields without the padding between or behind them, and of NaNs the
// one of the contract: processors differ in the NaN that their arithmetic makes.
class Writer {
 public:
  explicit Writer(char* out) : out_(out) {}
  template <typename Field>
  void operator()(Field field) {
    if constexpr (std::is_same_v<Field, double>) field = IsNan(field) ? QuietNan<double>() : field;
    std::memcpy(out_, &field, sizeof(field));
    out_ += sizeof(field);
  }

 private:
  char* out_;
};

class Reader {
 public:
  explicit Reader(const char* in) : in_(in) {}
  template <typename Field>
  void operator()(Field& field) {
    std::memcpy(&field, in_, sizeof(field));
    in_ += sizeof(field);
  }

 private:
  const char* in_;
};

// Calls `visit` with each field of a state, in the order in which they are packed.
template <class C, typename State, class Visit>
void VisitFields(State& state, Visit&& visit) {
  if constexpr (Indexed<C>) {
    visit(state.key);
    visit(state.index);
  } else if constexpr (requires { state.squares; }) {
    visit(state.mean);
    visit(state.squares);
    visit(state.count);
  } else if constexpr (requires { state.magnitude; }) {
    visit(state.magnitude);
    visit(state.negative);
    visit(state.past);
  } else {
    visit(state);
  }
}

template <typename T>
constexpr bool IsKeyOfElement(OrderedKey<T> key) {
  if constexpr (kIsFloat<T>) {
    return key >= kLowestKey<T> && key <= kHighestKey<T>;
  } else if constexpr (std::is_same_v<T, Bool>) {
    return key == 0 || key == 1;
  } else {
    return key >= ToKey(std::numeric_limits<T>::min()) &&
           key <= ToKey(std::numeric_limits<T>::max());
  }
}

// The largest magnitude of an integer T.
template <typename T>
constexpr int128 LargestMagnitude() {
  if constexpr (std::is_same_v<T, Bool>) {
    return 1;
  } else {
    const int128 lowest = std::numeric_limits<T>::min();
    return std::max<int128>(std::numeric_limits<T>::max(), -lowest);
  }
}

// Whether `count` integers T can come to the exact sum `x`. Such sums never overflow when they add
// up: no tensor has as many elements.
template <class C, typename T>
bool IsSum(int128 x, std::int64_t count) {
  constexpr int128 kLargest = LargestMagnitude<T>();
  if constexpr (std::is_same_v<C, SquareSum<T>>) {
    return x >= 0 && x <= count * (kLargest * kLargest);
  } else {
    const bool may_be_negative =
        std::is_same_v<C, Sum<T>> && !kIsUnsigned<T> && !std::is_same_v<T, Bool>;
    return x <= count * kLargest && x >= (may_be_negative ? -count * kLargest : 0);
  }
}

// Whether the value is one that `elements` elements can come to, as far as anything depends on it.
template <class C, typename T>
bool IsPossible(const typename C::State& state, const ReducedElements& elements) {
  using State = typename C::State;
  if constexpr (Indexed<C>) {
    return (state.index >= elements.first_index &&
            state.index - elements.first_index < elements.count) ||
           (state.index == C::kNone && state.key == C::kNone);
  } else if constexpr (std::is_same_v<C, Moments<T>>) {
    return state.count >= 0 && state.count <= elements.count;
  } else if constexpr (std::is_same_v<C, Min<T>> || std::is_same_v<C, Max<T>>) {
    return IsKeyOfElement<T>(state);
  } else if constexpr (requires { state.magnitude; }) {
    return state.negative <= 1 && state.past <= 1;
  } else if constexpr (std::is_same_v<State, int128>) {
    return IsSum<C, T>(state, elements.count);
  } else if constexpr (std::is_same_v<State, std::int64_t>) {
    return state >= 0 && state <= elements.count;
  } else {
    return true;  // any float64
  }
}

// Calls `visitor(TypeTag<F>{})` with the job's fold.
template <typename Visitor>
void VisitFold(const Job& job, Visitor&& visitor) {
  VisitDType(job.dtype,
             [&](auto type) { VisitBundle<typename decltype(type)::type>(job.bundle, visitor); });
}

// Calls `visitor(TypeTag<Component>{}, i)` for each component of F that is kinds[i].
template <class F, typename Visitor>
void VisitKinds(const std::vector<ValueKind>& kinds, Visitor&& visitor) {
  F::ForEach([&](auto tag) {
    const auto found = std::find(kinds.begin(), kinds.end(), kKindOf<typename decltype(tag)::type>);
    if (found != kinds.end()) visitor(tag, static_cast<std::size_t>(found - kinds.begin()));
  });
}

}  // namespace

void Pack(const Job& job, const std::vector<ValueKind>& kinds, const void* states,
          std::int64_t count, const std::vector<ReducedRun>& runs, std::int64_t first_index,
          const std::vector<char*>& values) {
  ResultTargets places;
  places.reduced_run_count = static_cast<int>(runs.size());
  std::copy(runs.begin(), runs.end(), places.reduced_runs);
  VisitFold(job, [&](auto fold) {
    using F = typename decltype(fold)::type;
    VisitKinds<F>(kinds, [&](auto tag, std::size_t i) {
      using C = typename decltype(tag)::type;
      const std::size_t value_bytes = ValueBytes(kinds[i], job.dtype);
      for (std::int64_t s = 0; s < count; ++s) {
        typename F::State state;
        std::memcpy(static_cast<void*>(&state),
                    static_cast<const char*>(states) + static_cast<std::size_t>(s) * sizeof(state),
                    sizeof(state));
        typename C::State value = F::template Get<C>(state);
        if constexpr (Indexed<C>) {
          if (value.index != C::kNone) {
            value.index = first_index + places.ReducedIndex(value.index);
          }
        }
        VisitFields<C>(value, Writer(values[i] + static_cast<std::size_t>(s) * value_bytes));
      }
    });
  });
}

std::optional<ValueKind> Unpack(const Job& job, const std::vector<ValueKind>& kinds,
                                const std::vector<const char*>& values, std::int64_t count,
                                const ReducedElements& elements, void* states) {
  std::optional<ValueKind> bad;
  VisitFold(job, [&](auto fold) {
    using F = typename decltype(fold)::type;
    typename F::State* out = static_cast<typename F::State*>(states);
    std::fill_n(out, count, F::IdentityState());
    VisitKinds<F>(kinds, [&](auto tag, std::size_t i) {
      using C = typename decltype(tag)::type;
      const std::size_t value_bytes = ValueBytes(kinds[i], job.dtype);
      for (std::int64_t s = 0; s < count; ++s) {
        typename C::State& value = F::template Get<C>(out[s]);
        VisitFields<C>(value, Reader(values[i] + static_cast<std::size_t>(s) * value_bytes));
        if (!IsPossible<C, typename F::Element>(value, elements)) bad = kinds[i];
      }
    });
  });
  return bad;
}

}  // namespace warpfold::cpu
