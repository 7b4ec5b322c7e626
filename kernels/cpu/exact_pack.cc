#include "kernels/cpu/exact_pack.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/pack_fields.h"
#include "kernels/exact/fold.h"
#include "kernels/exact/wire.h"
#include "kernels/finish.h"

namespace warpfold::cpu {
namespace {

using exact::ProductState;
using exact::SumValue;

SumValue ValueOf(int128 sum) {
  const auto size = sum < 0 ? uint128{0} - static_cast<uint128>(sum) : static_cast<uint128>(sum);
  const std::uint64_t words[] = {static_cast<std::uint64_t>(size),
                                 static_cast<std::uint64_t>(size >> 64)};
  return {0, sum < 0, exact::NaturalOf(exact::WordsView{words, 2, 0})};
}

int128 Int128Of(const SumValue& value) {
  const exact::WordsView words = value.size.View();
  const uint128 size = uint128{words[1]} << 64 | words[0];
  return static_cast<int128>(value.is_negative ? uint128{0} - size : size);
}

// Calls `visit(kind, sum)` with each of the state's sums, wherever they lie: a WideSum, an int128
// or the words of wide squares.
template <class X, typename State, class Visit>
void VisitSums(State& state, const Visit& visit) {
  using T = typename X::Element;
  using Values = typename X::Values;
  constexpr bool kHasStatistics = X::kSums == exact::Sums::kStatistics;
  if constexpr (kIsFloat<T>) {
    if constexpr (X::kSums != exact::Sums::kNone) visit(ValueKind::kSum, state.sums.sum);
    if constexpr (kHasStatistics) {
      visit(ValueKind::kAbsSum, state.sums.absolute_sum);
      visit(ValueKind::kSquareSum, state.sums.squares);
    }
  } else {
    Values::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      constexpr ValueKind kKind = kKindOf<T, C>;
      if constexpr (IsSumKind(kKind)) visit(kKind, Values::template Get<C>(X::ValuesOf(state)));
    });
    if constexpr (kHasStatistics) visit(ValueKind::kSquareSum, state.sums.squares);
  }
}

template <class X>
std::uint32_t SpecialsOf(const typename X::State& state) {
  if constexpr (kIsFloat<typename X::Element> && X::kSums != exact::Sums::kNone) {
    return state.sums.specials;
  } else {
    return 0;
  }
}

struct ToValue {
  std::uint32_t specials;

  template <class Layout>
  SumValue operator()(const exact::WideSum<Layout>& sum) const {
    return exact::ValueOf(sum, specials);
  }
  SumValue operator()(int128 sum) const { return ValueOf(sum); }
  template <std::size_t kWords>
  SumValue operator()(const std::uint64_t (&words)[kWords]) const {
    return {0, false, exact::NaturalOf(exact::WordsView{words, static_cast<int>(kWords), 0})};
  }
};

struct FromValue {
  const SumValue& value;

  template <class Layout>
  void operator()(exact::WideSum<Layout>& sum) const {
    exact::AddValue(value, &sum);
    exact::Normalize(sum);
  }
  void operator()(int128& sum) const { sum = Int128Of(value); }
  template <std::size_t kWords>
  void operator()(std::uint64_t (&words)[kWords]) const {
    for (std::size_t w = 0; w < kWords; ++w) {
      words[w] = value.size.View()[static_cast<std::int64_t>(w)];
    }
  }
};

void AppendProduct(const ProductState& product, std::string* bytes) {
  char value[kFloatProductBytes];
  value[0] = static_cast<char>(product.flags | product.is_negative << 3);
  Writer write(value + 1);
  write(static_cast<std::uint64_t>(product.size.mantissa));
  write(static_cast<std::uint64_t>(product.size.mantissa >> 64));
  write(product.size.exponent);
  write(product.size.truncations);
  bytes->append(value, sizeof(value));
}

// Whether `count` factors may have multiplied to it.
bool MayBeProduct(const ProductState& product, std::int64_t count) {
  const exact::PositiveProduct one;
  const exact::PositiveProduct& size = product.size;
  const bool is_one =
      size.mantissa == one.mantissa && size.exponent == one.exponent && size.truncations == 0;
  if (count == 0) return is_one && product.flags == 0 && product.is_negative == 0;
  if (product.flags != 0) return is_one;
  if (count > exact::kProductElementsMax) return false;
  // A factor lies between 2^-1074 and 2^1024, and is cut off at most once.
  const std::int64_t exponent_max = count * 1100 + 128;
  return size.mantissa >> 127 != 0 && size.exponent <= exponent_max &&
         size.exponent >= -exponent_max && size.truncations <= static_cast<std::uint64_t>(count);
}

bool TakeProduct(absl::string_view* bytes, ProductState* product) {
  if (bytes->size() < kFloatProductBytes) return false;
  const auto head = static_cast<std::uint8_t>(bytes->front());
  if (head > 15) return false;
  product->flags = head & 7;
  product->is_negative = head >> 3;
  Reader read(bytes->data() + 1);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  read(low);
  read(high);
  product->size.mantissa = uint128{high} << 64 | low;
  read(product->size.exponent);
  read(product->size.truncations);
  bytes->remove_prefix(kFloatProductBytes);
  return true;
}

template <typename Visitor>
void VisitFusion(const Job& job, Visitor&& visitor) {
  VisitDType(job.dtype, [&](auto type) {
    exact::VisitFusion<typename decltype(type)::type>(job.fused_op_set, visitor);
  });
}

template <class X>
void PackState(DType dtype, const std::vector<ValueKind>& kinds, const typename X::State& state,
               const ReducedIndexMap& index_map, std::vector<std::string>& values) {
  using Values = typename X::Values;
  const auto place_of = [&](ValueKind kind) {
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    return found == kinds.end() ? nullptr
                                : &values[static_cast<std::size_t>(found - kinds.begin())];
  };
  VisitSums<X>(state, [&](ValueKind kind, const auto& sum) {
    if (std::string* to = place_of(kind)) {
      exact::AppendSum(ToValue{SpecialsOf<X>(state)}(sum), to);
    }
  });
  if constexpr (X::kHasProduct) {
    if (std::string* to = place_of(ValueKind::kProduct)) AppendProduct(state.product, to);
  }
  VisitKinds<Values>(kinds, [&](auto tag, std::size_t i) {
    using C = typename decltype(tag)::type;
    typename C::State value = Values::template Get<C>(X::ValuesOf(state));
    if constexpr (Indexed<C>) {
      if (value.index != C::kNone) value.index = index_map.IndexOf(value.index);
    }
    char packed[32];
    static_assert(sizeof(value) <= sizeof(packed));
    VisitFields<C>(value, Writer(packed));
    values[i].append(packed, ValueBytes(kinds[i], dtype));
  });
}

// The values of one output, into its state; the kind of a bad one.
template <class X>
std::optional<ValueKind> UnpackState(DType dtype, const std::vector<ValueKind>& kinds,
                                     std::vector<absl::string_view>& values,
                                     const ReducedElements& elements, typename X::State* state) {
  using T = typename X::Element;
  using Stored = typename X::Storage;
  using Values = typename X::Values;
  std::optional<ValueKind> bad;
  const auto view_of = [&](ValueKind kind) {
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    return found == kinds.end() ? nullptr
                                : &values[static_cast<std::size_t>(found - kinds.begin())];
  };
  *state = X::Identity();
  std::int64_t nans = 0;
  VisitKinds<Values>(kinds, [&](auto tag, std::size_t i) {
    using C = typename decltype(tag)::type;
    const std::size_t bytes = ValueBytes(kinds[i], dtype);
    if (values[i].size() < bytes) {
      bad = kinds[i];
      return;
    }
    typename C::State& value = Values::template Get<C>(X::ValuesOf(*state));
    VisitFields<C>(value, Reader(values[i].data()));
    values[i].remove_prefix(bytes);
    if (!IsPossible<C, Stored>(value, elements)) bad = kinds[i];
    if constexpr (std::is_same_v<C, NanCount<T>>) nans = value;
  });
  if (bad.has_value()) return bad;
  const std::int64_t count = elements.count - (X::kOmitsNan ? nans : 0);
  VisitKinds<Values>(kinds, [&](auto tag, std::size_t i) {
    using C = typename decltype(tag)::type;
    const auto& value = Values::template Get<C>(X::ValuesOf(*state));
    if (!bad.has_value() && !AgreesWithCount<C, T>(value, count)) bad = kinds[i];
  });
  if (bad.has_value()) return bad;
  // By their kinds, which are the first three.
  SumValue sums[3];
  exact::SumValues known;
  const SumValue** const by_kind[] = {&known.sum, &known.absolute_sum, &known.squares};
  VisitSums<X>(*state, [&](ValueKind kind, const auto&) {
    absl::string_view* const from = view_of(kind);
    if (from == nullptr || bad.has_value()) return;
    const auto number = static_cast<std::size_t>(kind);
    const int power = kind == ValueKind::kSquareSum ? 2 : 1;
    if (!exact::TakeSum(from, exact::SumRangeOf(dtype, power), &sums[number])) bad = kind;
    *by_kind[number] = &sums[number];
  });
  if (bad.has_value()) return bad;
  if (!exact::MayBeSums(known, count, exact::SumRangeOf(dtype, 1))) {
    return known.sum != nullptr            ? ValueKind::kSum
           : known.absolute_sum != nullptr ? ValueKind::kAbsSum
                                           : ValueKind::kSquareSum;
  }
  VisitSums<X>(*state, [&](ValueKind kind, auto& sum) {
    const SumValue* const value = *by_kind[static_cast<std::size_t>(kind)];
    if (value == nullptr) return;
    FromValue{*value}(sum);
    if constexpr (kIsFloat<T> && X::kSums != exact::Sums::kNone) {
      state->sums.specials = value->specials;
    }
  });
  if constexpr (X::kHasProduct) {
    if (absl::string_view* const from = view_of(ValueKind::kProduct)) {
      if (!TakeProduct(from, &state->product) || !MayBeProduct(state->product, count) ||
          (!kHasInfinities<Stored> && (state->product.flags & ProductState::kHasInfinity) != 0)) {
        return ValueKind::kProduct;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void PackExactly(const Job& job, const std::vector<ValueKind>& kinds, const void* states,
                 std::int64_t count, const ReducedIndexMap& index_map,
                 std::vector<std::string>& values) {
  VisitFusion(job, [&](auto fusion) {
    using X = typename decltype(fusion)::type;
    const auto* const from = static_cast<const typename X::State*>(states);
    for (std::int64_t i = 0; i < count; ++i) {
      PackState<X>(job.dtype, kinds, from[i], index_map, values);
    }
  });
}

std::optional<ValueKind> UnpackExactly(const Job& job, const std::vector<ValueKind>& kinds,
                                       std::vector<absl::string_view>& values, std::int64_t count,
                                       const ReducedElements& elements, void* states) {
  std::optional<ValueKind> bad;
  VisitFusion(job, [&](auto fusion) {
    using X = typename decltype(fusion)::type;
    auto* const to = static_cast<typename X::State*>(states);
    for (std::int64_t i = 0; i < count && !bad.has_value(); ++i) {
      bad = UnpackState<X>(job.dtype, kinds, values, elements, to + i);
    }
  });
  return bad;
}

}  // namespace warpfold::cpu
