// What every Worker must do with the parts of a tensor: values that, merged, are the bits of the
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
#include "server/core/scheduling/worker_run.h"
#include "server/device/reduce/merge.h"
#include "tests/device/worker_cases.h"
#include "tests/server/owned_task.h"

namespace warpfold::testing {

// A part, or a whole, whose bytes are in memory.
class MemoryTask : public OwnedTask, protected PayloadSource {
 public:
  MemoryTask(Plan of_tensor, std::string bytes)
      : plan_(std::move(of_tensor)), bytes_(std::move(bytes)) {
    plan = &plan_;
    payload = this;
  }

  void OnDone(TaskReport) override {}

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

// The reduction of `task` on `worker`, as a worker's thread runs it.
inline absl::StatusOr<std::vector<std::string>> RunTask(Worker& worker, MemoryTask task) {
  absl::StatusOr<Outcome> outcome =
      RunOnWorker(worker, task, std::chrono::steady_clock::now()).outcome;
  if (!outcome.ok()) return outcome.status();
  return std::move(outcome->results);
}

inline Part PartOf(const ReduceSpec& spec, const Plan& whole, Box box) {
  absl::StatusOr<Part> part = MakePart(spec, whole, std::move(box));
  EXPECT_TRUE(part.ok()) << part.status();
  return *std::move(part);
}

inline Plan StatesPlan(const Plan& whole, const Box& box) {
  Plan plan = CutPlan(whole, box);
  plan.leaves_states = true;
  return plan;
}

// All of the whole but along `dimension`.
inline Box RangeOf(const Plan& whole, std::size_t dimension, std::int64_t begin, std::int64_t end) {
  Box box = BoxOf(whole);
  box.offset[dimension] = begin;
  box.shape[dimension] = end - begin;
  return box;
}

// Of `data`, the whole's, the bytes of `box`, element by element.
inline std::string BytesOfBox(const Plan& whole, const std::string& data, const Box& box) {
  const std::size_t element_bytes = ElementBytes(whole.dtype);
  std::string bytes;
  if (box.is_empty()) return bytes;
  std::vector<std::int64_t> at = box.offset;
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset = offset * whole.shape[d] + at[d];
    bytes.append(data, static_cast<std::size_t>(offset) * element_bytes, element_bytes);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == box.end(d - 1)) --d, at[d] = box.offset[d];
    if (d == 0) return bytes;
  }
}

// Parts that make up the whole, some of them perhaps empty: it is cut in two, and what comes of
// that, at any place of any dimension that is reduced.
struct Cuts {
  std::vector<Box> boxes;
  std::vector<std::size_t> from;  // of each but the first, the box that lies before it
};
inline Cuts RandomCuts(const Plan& whole, std::mt19937_64& random) {
  Cuts cuts{{BoxOf(whole)}, {0}};
  if (whole.reduced.none()) return cuts;
  for (std::uint64_t more = random() % 7; more > 0; --more) {
    cuts.from.push_back(random() % cuts.boxes.size());
    Box& first = cuts.boxes[cuts.from.back()];
    std::size_t d = random() % whole.shape.size();
    while (!whole.reduced.test(d)) d = (d + 1) % whole.shape.size();
    Box second = first;
    const auto length = static_cast<std::uint64_t>(first.shape[d]) + 1;
    first.shape[d] = static_cast<std::int64_t>(random() % length);
    second.offset[d] = first.end(d);
    second.shape[d] -= first.shape[d];
    cuts.boxes.push_back(std::move(second));
  }
  return cuts;
}

// Of boxes that were cut apart.
inline Box Joined(const Box& a, const Box& b) {
  Box joined = a;
  for (std::size_t d = 0; d < a.shape.size(); ++d) joined.shape[d] = b.end(d) - a.offset[d];
  return joined;
}

// Values with the strings that hold them.
struct HeldValues {
  Box box;
  std::vector<std::string> values;
};
inline std::vector<PartValues> Views(const std::vector<HeldValues>& held) {
  std::vector<PartValues> views;
  for (const HeldValues& part : held) {
    views.push_back({part.box, {part.values.begin(), part.values.end()}});
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

// Joins those that were cut apart, the last first.
inline HeldValues MergedThroughATree(const Plan& whole, const Cuts& cuts,
                                     std::vector<HeldValues> held) {
  for (; held.size() > 1; held.pop_back()) {
    HeldValues& first = held[cuts.from[held.size() - 1]];
    absl::StatusOr<std::vector<std::string>> values =
        MergeToValues(whole, Views({held.back(), first}));
    EXPECT_TRUE(values.ok()) << values.status();
    first = {Joined(first.box, held.back().box), *std::move(values)};
  }
  return held.front();
}

template <typename T>
void ExpectPartsMergeToTheWhole(Worker& worker, const Case& c, std::mt19937_64& random) {
  const Plan whole = *MakePlan(c.spec);
  std::vector<T> elements =
      RandomElements<T>(static_cast<std::size_t>(whole.element_count), random);
  if (c.spec.nan_policy == NanPolicy::kOmit || random() % 8 == 0) StrewNan(elements, random);
  const std::string data(reinterpret_cast<const char*>(elements.data()),
                         elements.size() * sizeof(T));
  const auto expected = RunTask(worker, MemoryTask(whole, data));

  const Cuts cuts = RandomCuts(whole, random);
  std::vector<HeldValues> held;
  for (const Box& box : cuts.boxes) {
    const Part part = PartOf(c.spec, whole, box);
    absl::StatusOr<std::vector<std::string>> values =
        RunTask(worker, MemoryTask(PlanOf(part), BytesOfBox(whole, data, box)));
    ASSERT_TRUE(values.ok()) << values.status() << c.ToString();
    held.push_back({box, *std::move(values)});
  }
  const auto at_once = MergeToResults(whole, Views(held));
  const HeldValues one = MergedThroughATree(whole, cuts, held);
  const auto in_steps = MergeToResults(whole, Views({one}));
  const Part all = PartOf(c.spec, whole, BoxOf(whole));
  const auto unsplit = RunTask(worker, MemoryTask(PlanOf(all), data));

  ASSERT_EQ(at_once.status(), expected.status()) << c.ToString();
  ASSERT_EQ(in_steps.status(), expected.status()) << c.ToString();
  ASSERT_TRUE(unsplit.ok()) << unsplit.status() << c.ToString();
  if (held.size() > 1) {
    SCOPED_TRACE(c.ToString());
    ExpectSameValues(whole, one.values, *unsplit);
  }
  if (!expected.ok()) return;
  for (std::size_t op = 0; op < expected->size(); ++op) {
    ASSERT_EQ((*at_once)[op], (*expected)[op]) << c.ToString() << ", " << Name(c.spec.ops[op]);
    ASSERT_EQ((*in_steps)[op], (*expected)[op]) << c.ToString() << ", " << Name(c.spec.ops[op]);
  }
}

// Calls visit(TypeTag<T>{}, case) for shapes that have each kind of reduced dimension, outermost
// and not, alone and several, small and large, and for random ones.
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

inline void PartsMergeToTheWhole(Worker& worker, int random_cases) {
  std::mt19937_64 random(7);
  VisitPartCases(random_cases, random, [&](auto tag, const Case& c) {
    ExpectPartsMergeToTheWhole<typename decltype(tag)::type>(worker, c, random);
  });
}

// The bytes of a part's values do not depend on the worker.
inline void LeavesTheSameValues(Worker& worker, Worker& other, int random_cases) {
  std::mt19937_64 random(9);
  VisitPartCases(random_cases, random, [&](auto tag, const Case& c) {
    using T = typename decltype(tag)::type;
    const Plan whole = *MakePlan(c.spec);
    std::vector<T> elements =
        RandomElements<T>(static_cast<std::size_t>(whole.element_count), random);
    StrewNan(elements, random);
    const std::string data(reinterpret_cast<const char*>(elements.data()),
                           elements.size() * sizeof(T));
    for (const Box& box : RandomCuts(whole, random).boxes) {
      const Part part = PartOf(c.spec, whole, box);
      const std::string bytes = BytesOfBox(whole, data, box);
      const auto values = RunTask(worker, MemoryTask(PlanOf(part), bytes));
      const auto expected = RunTask(other, MemoryTask(PlanOf(part), bytes));
      ASSERT_TRUE(values.ok()) << values.status() << c.ToString();
      ASSERT_TRUE(expected.ok()) << expected.status() << c.ToString();
      SCOPED_TRACE(c.ToString());
      ExpectSameValues(whole, *values, *expected);
    }
  });
}

// More small planes than are gathered at a time.
inline void PartsOfManyPlanesMergeToTheWhole(Worker& worker) {
  std::mt19937_64 random(8);
  Case c;
  c.spec = {.dtype = DType::kF32,
            .shape = {40000, 40, 2},
            .ops = {Op::kVar, Op::kArgMin, Op::kSum},
            .axes = {1}};
  for (int i = 0; i < 3; ++i) ExpectPartsMergeToTheWhole<float>(worker, c, random);
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_PART_CASES_H_
