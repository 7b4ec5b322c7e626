// Exact states as they travel: parts that were packed and unpacked join to the whole's answers, and
// bytes that were changed trip nothing.
#include "kernels/cpu/exact_pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/dtypes/element.h"
#include "kernels/exact/product.h"
#include "kernels/ops/catalogue.h"
#include "kernels/plan.h"
#include "kernels/types.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/random_spec.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

using testing::Draw;

class ExactPackTest : public ::testing::TestWithParam<DType> {
 protected:
  // A part's states, and where they come from.
  struct Part {
    Extent extent;
    std::vector<std::uint64_t> states;  // aligned
    std::vector<std::string> values;
  };

  void SetUp() override { std::cout << "seed " << kSeed << '\n'; }

  // [outputs, count, 1] by rows, any ops of any policy.
  ReduceSpec AnySpec() {
    ReduceSpec spec = testing::RandomSpec(GetParam(), 1, random_);  // for its ops
    Draw draw(random_);
    spec.shape = {draw.Between(1, 6), draw.Between(1, 300)};
    spec.axes = {1};
    return spec;
  }

  // Columns [begin, end) of the tensor's rows, reduced and packed.
  Part PartOf(const Plan& plan, const std::vector<char>& data, std::int64_t begin,
              std::int64_t end) {
    const cpu::Job job = JobOf(plan);
    const std::size_t element = ElementBytes(plan.dtype);
    const std::int64_t count = plan.reduced_count;
    std::vector<char> bytes;
    for (std::int64_t row = 0; row < plan.output_count; ++row) {
      const auto at = [&](std::int64_t column) {
        return data.begin() + static_cast<std::ptrdiff_t>(
                                  static_cast<std::size_t>(row * count + column) * element);
      };
      bytes.insert(bytes.end(), at(begin), at(end));
    }
    Part part{{plan.output_count, end - begin, 1}, StatesFor(plan, plan.output_count), {}};
    Output output;
    output.states = part.states.data();
    cpu::EngineFor(job).FoldElements(bytes.data(), part.extent, output, cpu::Serial);
    part.values.resize(Kinds(plan).size());
    cpu::PackExactly(job, Kinds(plan), part.states.data(), plan.output_count,
                     {{{1, end - begin, 1}}, begin}, part.values);
    return part;
  }

  // Unpacks the parts' values, one behind the other, joins them and finishes.
  std::optional<ValueKind> JoinToResults(const Plan& plan, const std::vector<Part>& parts,
                                         testing::Results* results) {
    const cpu::Job job = JobOf(plan);
    const auto outputs = static_cast<std::size_t>(plan.output_count);
    std::vector<std::uint64_t> states =
        StatesFor(plan, plan.output_count * static_cast<std::int64_t>(parts.size()));
    std::int64_t begin = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::vector<absl::string_view> values(parts[p].values.begin(), parts[p].values.end());
      const std::int64_t count = parts[p].extent.count;
      const std::optional<ValueKind> bad = cpu::UnpackExactly(
          job, Kinds(plan), values, plan.output_count,
          {count, plan.reduced_count, {{1, plan.reduced_count, begin, begin + count}}},
          reinterpret_cast<char*>(states.data()) + p * outputs * cpu::EngineFor(job).StateBytes());
      if (bad.has_value()) return bad;
      for (const absl::string_view rest : values) {
        if (!rest.empty()) return ValueKind::kSum;  // any: whoever asks has to look
      }
      begin += count;
    }
    Output output;
    output.overflow = &results->overflow;
    output.targets.reduced_count = plan.reduced_count;
    output.targets.correction = plan.correction;
    output.targets.reduced_run_count = 1;
    output.targets.reduced_runs[0] = {1, plan.reduced_count};
    output.targets.count = static_cast<int>(plan.ops.size());
    results->bytes.resize(plan.ops.size());
    for (std::size_t i = 0; i < plan.ops.size(); ++i) {
      results->bytes[i].resize(outputs * ElementBytes(ResultDType(plan.ops[i], plan.dtype)));
      output.targets.ops[i] = plan.ops[i];
      output.targets.arrays[i] = results->bytes[i].data();
    }
    cpu::EngineFor(job).FoldStates(states.data(),
                                   {1, static_cast<std::int64_t>(parts.size()), plan.output_count},
                                   output, cpu::Serial);
    return std::nullopt;
  }

  static cpu::Job JobOf(const Plan& plan) { return {plan.dtype, plan.fused_op_set()}; }
  static std::vector<ValueKind> Kinds(const Plan& plan) {
    return ValueKindsOf(plan.dtype, plan.ops, plan.nan_policy);
  }
  static std::vector<std::uint64_t> StatesFor(const Plan& plan, std::int64_t count) {
    return std::vector<std::uint64_t>(
        (static_cast<std::size_t>(count) * cpu::EngineFor(JobOf(plan)).StateBytes() + 7) / 8 + 1);
  }

  static constexpr std::uint64_t kSeed = 20261128;
  std::mt19937_64 random_{kSeed};
};

TEST_P(ExactPackTest, PartsJoinToTheWhole) {
  for (int round = 0; round < testing::Rounds(150); ++round) {
    const ReduceSpec spec = AnySpec();
    SCOPED_TRACE(testing::ToString(spec));
    const Plan plan = *MakePlan(spec);
    const std::vector<char> data = testing::HardTensor(spec, random_);
    std::vector<std::int64_t> cuts = {0, plan.reduced_count};
    Draw draw(random_);
    for (long more = draw.Between(0, 3); more > 0; --more) {
      cuts.push_back(draw.Between(0, plan.reduced_count));
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Part> parts;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      parts.push_back(PartOf(plan, data, cuts[c], cuts[c + 1]));
    }
    testing::Results joined;
    ASSERT_EQ(JoinToResults(plan, parts, &joined), std::nullopt);
    const testing::Results whole = testing::Reduce(plan, data.data(), cpu::Serial);
    ASSERT_EQ(joined.overflow.output_index, whole.overflow.output_index);
    if (whole.overflow.output_index == Overflow::kNone) {
      ASSERT_EQ(joined.bytes, whole.bytes);
    }
  }
}

TEST_P(ExactPackTest, ChangedBytesTripNothing) {
  int refused = 0;
  for (int round = 0; round < testing::Rounds(600); ++round) {
    const ReduceSpec spec = AnySpec();
    const Plan plan = *MakePlan(spec);
    std::vector<Part> parts = {
        PartOf(plan, testing::HardTensor(spec, random_), 0, plan.reduced_count)};
    Draw draw(random_);
    std::string& values = parts[0].values[draw.UpTo(parts[0].values.size() - 1)];
    for (long changes = draw.Between(1, 4); changes > 0; --changes) {
      values[draw.UpTo(values.size() - 1)] = static_cast<char>(draw.Bits());
    }
    if (draw.OneIn(8)) values.resize(draw.UpTo(values.size() - 1));
    testing::Results results;
    refused += JoinToResults(plan, parts, &results).has_value() ? 1 : 0;
  }
  EXPECT_GT(refused, testing::Rounds(600) / 4);
}

// 1, 2 and a NaN that is left out; the second value says how many NaN there are.
TEST(ExactPackRefusalTest, NamesTheKindThatDoesNotFit) {
  const cpu::Job job{DType::kF32, FusedOpSet::kOmitNan};
  const std::vector<ValueKind> kinds = {ValueKind::kSum, ValueKind::kNanCount, ValueKind::kProduct};
  const float elements[] = {1, 2, QuietNan<float>()};
  std::vector<std::uint64_t> states(cpu::EngineFor(job).StateBytes() / 8 + 1);
  Output output;
  output.states = states.data();
  cpu::EngineFor(job).FoldElements(elements, {1, 3, 1}, output, cpu::Serial);
  std::vector<std::string> packed(3);
  cpu::PackExactly(job, kinds, states.data(), 1, {{{1, 3, 1}}, 0}, packed);
  const auto unpack = [&](const std::vector<std::string>& values) {
    std::vector<absl::string_view> views(values.begin(), values.end());
    return cpu::UnpackExactly(job, kinds, views, 1, {3, 3, {}}, states.data());
  };
  EXPECT_EQ(unpack(packed), std::nullopt);
  const auto with = [&](std::size_t kind, std::size_t at, char byte) {
    std::vector<std::string> values = packed;
    values[kind][at] = byte;
    return unpack(values);
  };
  EXPECT_EQ(with(1, 0, 3), ValueKind::kSum) << "all of them NaN, and a sum";
  EXPECT_EQ(with(1, 0, 4), ValueKind::kNanCount) << "more than there are elements";
  EXPECT_EQ(with(2, 0, 0x10), ValueKind::kProduct) << "a reserved flag";
  EXPECT_EQ(with(2, 0, 1), ValueKind::kProduct) << "a zero among them, and a size";
  EXPECT_EQ(with(2, 16, 0), ValueKind::kProduct) << "a mantissa without its highest bit";
  EXPECT_EQ(with(2, 24, 0x7f), ValueKind::kProduct) << "an exponent of no product";
  EXPECT_EQ(with(2, 25, 3), ValueKind::kProduct) << "more truncations than factors";
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    std::vector<std::string> values = packed;
    values[kind].pop_back();
    EXPECT_EQ(unpack(values), kinds[kind]) << "too short";
  }
}

// However many elements a state says it has, exponents of two of them add up.
TEST(ExactPackRefusalTest, TheExponentOfAProductFits) {
  const cpu::Job job{DType::kF64, FusedOpSet::kAll};
  const std::vector<ValueKind> kinds = {ValueKind::kProduct};
  const double element = 1;
  const cpu::Engine& engine = cpu::EngineFor(job);
  std::vector<std::uint64_t> state(engine.StateBytes() / 8 + 1);
  Output output;
  output.states = state.data();
  engine.FoldElements(&element, {1, 1, 1}, output, cpu::Serial);
  std::vector<std::string> packed(1);
  cpu::PackExactly(job, kinds, state.data(), 1, {{{1, 1, 1}}, 0}, packed);
  const auto unpack = [&](std::int64_t exponent, std::int64_t count) {
    std::string value = packed[0];
    std::memcpy(value.data() + 17, &exponent, sizeof(exponent));
    std::vector<absl::string_view> views = {value};
    return cpu::UnpackExactly(job, kinds, views, 1, {count, count, {}}, state.data());
  };
  constexpr std::int64_t kElements = exact::kProductElementsMax;
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(unpack(kHighest, kElements), ValueKind::kProduct);
  EXPECT_EQ(unpack(-kHighest, kElements), ValueKind::kProduct);
  EXPECT_EQ(unpack(kHighest, std::int64_t{1} << 59), ValueKind::kProduct);
  EXPECT_EQ(unpack(0, kElements + 1), ValueKind::kProduct);
  EXPECT_EQ(unpack(kElements / 2 * 1100, kElements / 2), std::nullopt);
  const std::vector<std::uint64_t> other = state;
  engine.AddStates(other.data(), 1, state.data());
  packed[0].clear();
  cpu::PackExactly(job, kinds, state.data(), 1, {{{1, 1, 1}}, 0}, packed);
  std::int64_t exponent = 0;
  std::memcpy(&exponent, packed[0].data() + 17, sizeof(exponent));
  EXPECT_NEAR(static_cast<double>(exponent), static_cast<double>(kElements) * 1100, 256);
}

// The values of one element, of which one field is then another number.
template <typename T, typename Field>
std::optional<ValueKind> UnpackWith(T element, ValueKind kind, std::size_t at, Field field) {
  const std::vector<Op> all = testing::FirstOps();
  DType dtype = DType::kU8;
  if (std::is_same_v<T, float>) dtype = DType::kF32;
  if (std::is_same_v<T, std::int32_t>) dtype = DType::kI32;
  const cpu::Job job{dtype, FusedOpSetFor(dtype, all, NanPolicy::kPropagate)};
  const std::vector<ValueKind> kinds = ValueKindsOf(dtype, all, NanPolicy::kPropagate);
  std::vector<std::uint64_t> states(cpu::EngineFor(job).StateBytes() / 8 + 1);
  Output output;
  output.states = states.data();
  cpu::EngineFor(job).FoldElements(&element, {1, 1, 1}, output, cpu::Serial);
  std::vector<std::string> values(kinds.size());
  cpu::PackExactly(job, kinds, states.data(), 1, {{{1, 1, 1}}, 0}, values);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k] == kind) std::memcpy(values[k].data() + at, &field, sizeof(field));
  }
  std::vector<absl::string_view> views(values.begin(), values.end());
  return cpu::UnpackExactly(job, kinds, views, 1, {1, 1, {}}, states.data());
}

TEST(ExactPackRefusalTest, NoElementHasTheKey) {
  constexpr std::int64_t kNegativeZero = -1;
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kArgMin, 0, std::int64_t{0}), std::nullopt);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kArgMin, 0, kNegativeZero), ValueKind::kArgMin);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kArgMax, 0, ~std::int64_t{0}), std::nullopt);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kArgMax, 0, ~kNegativeZero), ValueKind::kArgMax);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kArgMin, 0, std::int64_t{1} << 40), ValueKind::kArgMin);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kMin, 0, std::int32_t{0x7fc00001}), ValueKind::kMin);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kMax, 0, std::int32_t{0x7fc00001}), ValueKind::kMax);
  EXPECT_EQ(UnpackWith(0.0F, ValueKind::kMax, 0, std::int32_t{0x7f800000}), std::nullopt);
  const std::uint8_t byte = 7;
  EXPECT_EQ(UnpackWith(byte, ValueKind::kArgMax, 0, ~std::int64_t{255}), std::nullopt);
  EXPECT_EQ(UnpackWith(byte, ValueKind::kArgMax, 0, ~std::int64_t{256}), ValueKind::kArgMax);
}

TEST(ExactPackRefusalTest, NoIntegersHaveTheSign) {
  const std::uint8_t byte = 7;
  EXPECT_EQ(UnpackWith(byte, ValueKind::kSum, 0, char{16}), ValueKind::kSum);
  EXPECT_EQ(UnpackWith(byte, ValueKind::kProduct, 8, std::uint32_t{1}), ValueKind::kProduct);
  EXPECT_EQ(UnpackWith(std::int32_t{7}, ValueKind::kProduct, 8, std::uint32_t{1}), std::nullopt);
  EXPECT_EQ(UnpackWith(std::int32_t{0}, ValueKind::kProduct, 8, std::uint32_t{1}),
            ValueKind::kProduct);
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, ExactPackTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
