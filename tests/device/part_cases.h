// What every Lane must do with the parts of a tensor: values that, merged, are the bits of the
// whole's answer. Shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_PART_CASES_H_
#define WARPFOLD_TESTS_DEVICE_PART_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/part.h"
#include "server/core/lane_run.h"
#include "server/device/merge.h"
#include "tests/device/lane_cases.h"

namespace warpfold::testing {

// A part, or a whole, whose bytes are in memory.
class MemoryWork : public Work, protected PayloadSource {
 public:
  MemoryWork(Plan plan, std::string bytes) : plan_(std::move(plan)), bytes_(std::move(bytes)) {}

  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return *this; }
  bool waits_for_client() const override { return false; }
  void Done(WorkReport) override {}

 protected:
  std::size_t at() const { return at_; }
  std::size_t size() const { return bytes_.size(); }

  absl::Status ReadInto(absl::Span<std::byte> out) override {
    if (out.size() > bytes_.size() - at_) return absl::InternalError("read past the end");
    std::memcpy(out.data(), bytes_.data() + at_, out.size());
    at_ += out.size();
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override {
    return at_ == bytes_.size() ? absl::OkStatus() : absl::InternalError("bytes are left");
  }

 private:
  const Plan plan_;
  const std::string bytes_;
  std::size_t at_ = 0;
};

// The reduction of `work` on `lane`, as a lane's thread runs it.
inline absl::StatusOr<std::vector<std::string>> RunWork(Lane& lane, MemoryWork work) {
  absl::StatusOr<Outcome> outcome = RunOnLane(lane, work, std::chrono::steady_clock::now()).outcome;
  if (!outcome.ok()) return outcome.status();
  return std::move(outcome->results);
}

// The part of `spec`'s tensor that `range` is. Its dimensions in the run spell its length.
inline Part PartOf(const ReduceSpec& spec, const Plan& whole, const Range& range) {
  std::vector<std::int64_t> shape = spec.shape;
  const OuterRun& run = whole.outer_run;
  for (int d = run.first_dimension; d < run.end_dimension; ++d) {
    shape[static_cast<std::size_t>(d)] = 1;
  }
  if (run.end_dimension > 0) {
    shape[static_cast<std::size_t>(run.end_dimension) - 1] = range.length();
  }
  const absl::StatusOr<Part> part = MakePart(spec, whole, shape, range.begin);
  EXPECT_TRUE(part.ok()) << part.status();
  return *part;
}

// Of `data`, the whole's, the bytes of `range`: in each plane its rows.
inline std::string BytesOfRange(const Plan& whole, const std::string& data, const Range& range) {
  std::string bytes;
  if (data.empty()) return bytes;
  const std::size_t plane = data.size() / static_cast<std::size_t>(PlaneCount(whole));
  const std::size_t row = plane / static_cast<std::size_t>(whole.outer_run.length);
  for (std::size_t at = 0; at < data.size(); at += plane) {
    bytes.append(data, at + static_cast<std::size_t>(range.begin) * row,
                 static_cast<std::size_t>(range.length()) * row);
  }
  return bytes;
}

inline std::vector<Range> RandomCuts(const Plan& whole, std::mt19937_64& random) {
  const std::int64_t length = whole.outer_run.length;
  std::vector<std::int64_t> cuts = {0, length};
  // Where nothing is reduced no shape says that a part is empty.
  const std::uint64_t parts = whole.outer_run.end_dimension == 0 ? 1 : 1 + random() % 7;
  for (std::uint64_t i = 1; i < parts; ++i) {
    cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Range> ranges;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) ranges.push_back({cuts[i], cuts[i + 1]});
  return ranges;
}

// Values with the strings that hold them.
struct HeldValues {
  Range range;
  std::vector<std::string> values;
};
inline std::vector<PartValues> Views(const std::vector<HeldValues>& held) {
  std::vector<PartValues> views;
  for (const HeldValues& part : held) {
    views.push_back({part.range, {part.values.begin(), part.values.end()}});
  }
  return views;
}

// The same bytes; but how often an exact product of floats was cut off depends on the order of its
// factors.
inline void ExpectSameValues(const Plan& whole, const std::vector<std::string>& values,
                             const std::vector<std::string>& expected) {
  const std::vector<ValueKind> kinds = ValueKindsOf(whole);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (kinds[k] == ValueKind::kProduct && IsFloat(whole.dtype)) continue;
    ASSERT_TRUE(values[k] == expected[k]) << "kind " << static_cast<int>(kinds[k]);
  }
}

// Joins random neighbours until one is left.
inline std::vector<HeldValues> MergedThroughATree(const Plan& whole, std::vector<HeldValues> held,
                                                  std::mt19937_64& random) {
  while (held.size() > 1) {
    const std::size_t i = random() % (held.size() - 1);
    const std::size_t n = 2 + random() % (held.size() - i - 1);
    const std::vector<HeldValues> group(held.begin() + static_cast<std::ptrdiff_t>(i),
                                        held.begin() + static_cast<std::ptrdiff_t>(i + n));
    absl::StatusOr<std::vector<std::string>> values = MergeToValues(whole, Views(group));
    EXPECT_TRUE(values.ok()) << values.status();
    held[i] = {{group.front().range.begin, group.back().range.end}, *std::move(values)};
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i + 1),
               held.begin() + static_cast<std::ptrdiff_t>(i + n));
  }
  return held;
}

template <typename T>
void ExpectPartsMergeToTheWhole(Lane& lane, const Case& c, std::mt19937_64& random) {
  const Plan whole = *MakePlan(c.spec);
  std::vector<T> elements =
      RandomElements<T>(static_cast<std::size_t>(whole.element_count), random);
  if (c.spec.nan_policy == NanPolicy::kOmit || random() % 8 == 0) StrewNan(elements, random);
  const std::string data(reinterpret_cast<const char*>(elements.data()),
                         elements.size() * sizeof(T));
  const auto expected = RunWork(lane, MemoryWork(whole, data));

  const std::vector<Range> ranges = RandomCuts(whole, random);
  std::vector<HeldValues> held;
  for (const Range& range : ranges) {
    const Part part = PartOf(c.spec, whole, range);
    absl::StatusOr<std::vector<std::string>> values =
        RunWork(lane, MemoryWork(PlanOf(part), BytesOfRange(whole, data, range)));
    ASSERT_TRUE(values.ok()) << values.status() << c.ToString();
    held.push_back({range, *std::move(values)});
  }
  const auto at_once = MergeToResults(whole, Views(held));
  const std::vector<HeldValues> one = MergedThroughATree(whole, held, random);
  const auto in_steps = MergeToResults(whole, Views(one));
  const Part all = PartOf(c.spec, whole, {0, whole.outer_run.length});
  const auto unsplit = RunWork(lane, MemoryWork(PlanOf(all), data));

  ASSERT_EQ(at_once.status(), expected.status()) << c.ToString();
  ASSERT_EQ(in_steps.status(), expected.status()) << c.ToString();
  ASSERT_TRUE(unsplit.ok()) << unsplit.status() << c.ToString();
  if (held.size() > 1) {
    SCOPED_TRACE(c.ToString());
    ExpectSameValues(whole, one.front().values, *unsplit);
  }
  if (!expected.ok()) return;
  for (std::size_t op = 0; op < expected->size(); ++op) {
    ASSERT_EQ((*at_once)[op], (*expected)[op]) << c.ToString() << ", " << Name(c.spec.ops[op]);
    ASSERT_EQ((*in_steps)[op], (*expected)[op]) << c.ToString() << ", " << Name(c.spec.ops[op]);
  }
}

// Calls visit(TypeTag<T>{}, case) for shapes that have each kind of outermost run, in one plane and
// in many, small and large, and for random ones.
template <typename Visit>
void VisitPartCases(int random_cases, std::mt19937_64& random, const Visit& visit) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{100, 2500}, {1}},
      {{3, 60000}, {1}},
      {{40000, 3}, {0}},
      {{500, 37, 3}, {1}},
      {{37, 9001}, {0}},
      {{2, 17, 9001}, {1}},
      {{13, 4, 999}, {0, 2}},
      {{9, 11, 5, 70}, {1, 3}},
      {{3, 5, 4, 7, 60}, {0, 2, 4}},
      {{70000}, {}},
      {{1, 33, 1, 200}, {}},
      {{7, 1, 5}, {1}},
      {{}, {}},
      {{5, 0, 3}, {1}},
      {{0, 40}, {1}},
      {{6, 3, 0}, {0, 2}},
  };
  for (const DType dtype : DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      const auto run = [&](Case c) {
        std::vector<Op>& ops = c.spec.ops;
        if (std::find(c.spec.shape.begin(), c.spec.shape.end(), 0) != c.spec.shape.end()) {
          ops = {Op::kSum, Op::kVar, Op::kAll, Op::kProd};
        } else if (random() % 4 == 0) {
          ops.push_back(Op::kProd);
          std::sort(ops.begin(), ops.end());
          ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
        } else if (random() % 2 == 0) {
          ops = {ops[random() % ops.size()]};
        }
        if (!::testing::Test::HasFatalFailure()) visit(tag, c);
      };
      for (const auto& [shape, axes] : shapes) {
        Case c = RandomCase(dtype, 2, random);
        c.spec.shape = shape;
        c.spec.axes = axes;
        run(c);
      }
      for (int i = 0; i < Rounds(random_cases); ++i) run(RandomCase(dtype, 60000, random));
    });
  }
}

inline void PartsMergeToTheWhole(Lane& lane, int random_cases) {
  std::mt19937_64 random(7);
  VisitPartCases(random_cases, random, [&](auto tag, const Case& c) {
    ExpectPartsMergeToTheWhole<typename decltype(tag)::type>(lane, c, random);
  });
}

// The bytes of a part's values do not depend on the lane.
inline void LeavesTheSameValues(Lane& lane, Lane& other, int random_cases) {
  std::mt19937_64 random(9);
  VisitPartCases(random_cases, random, [&](auto tag, const Case& c) {
    using T = typename decltype(tag)::type;
    const Plan whole = *MakePlan(c.spec);
    std::vector<T> elements =
        RandomElements<T>(static_cast<std::size_t>(whole.element_count), random);
    StrewNan(elements, random);
    const std::string data(reinterpret_cast<const char*>(elements.data()),
                           elements.size() * sizeof(T));
    for (const Range& range : RandomCuts(whole, random)) {
      const Part part = PartOf(c.spec, whole, range);
      const std::string bytes = BytesOfRange(whole, data, range);
      const auto values = RunWork(lane, MemoryWork(PlanOf(part), bytes));
      const auto expected = RunWork(other, MemoryWork(PlanOf(part), bytes));
      ASSERT_TRUE(values.ok()) << values.status() << c.ToString();
      ASSERT_TRUE(expected.ok()) << expected.status() << c.ToString();
      SCOPED_TRACE(c.ToString());
      ExpectSameValues(whole, *values, *expected);
    }
  });
}

// More small planes than are gathered at a time.
inline void PartsOfManyPlanesMergeToTheWhole(Lane& lane) {
  std::mt19937_64 random(8);
  Case c;
  c.spec = {.dtype = DType::kF32,
            .shape = {40000, 40, 2},
            .ops = {Op::kVar, Op::kArgMin, Op::kSum},
            .axes = {1}};
  for (int i = 0; i < 3; ++i) ExpectPartsMergeToTheWhole<float>(lane, c, random);
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_PART_CASES_H_
