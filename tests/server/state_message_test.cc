#include "server/frontend/native/state_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/device/backend/backend.h"
#include "server/frontend/native/decode.h"
#include "server/frontend/wire/wire_message.h"
#include "tests/device/part_cases.h"
#include "tests/kernels/effort.h"

namespace warpfold {
namespace {

using ::testing::ElementsAre;
using testing::MemoryTask;

// States of the parts of one reduction, made by a worker.
class StateMessageTest : public ::testing::Test {
 protected:
  // Three parts of `spec`'s tensor, cut along its first dimension at `step` and three times that.
  v1::MergeRequest States(const ReduceSpec& spec, std::int64_t step) {
    const Plan whole = *MakePlan(spec);
    const std::int64_t end = whole.shape[0];
    std::string data(static_cast<std::size_t>(whole.input_bytes), '\0');
    for (char& byte : data) byte = static_cast<char>(random_() % 2);
    v1::MergeRequest request;
    for (const auto& [first, last] :
         {std::pair{std::int64_t{0}, step}, {step, 3 * step}, {3 * step, end}}) {
      const Box box = testing::RangeOf(whole, 0, first, last);
      const Part part = testing::PartOf(spec, whole, box);
      auto values = testing::RunTask(
          *worker_, MemoryTask(PlanOf(part), testing::BytesOfBox(whole, data, box)));
      EXPECT_TRUE(values.ok()) << values.status();
      request.add_states(EncodeState(part, *std::move(values)));
    }
    return request;
  }

  absl::Status MergeStatus(const v1::MergeRequest& request) {
    const absl::StatusOr<Merging> merging = DecodeStates(request, limits_);
    if (!merging.ok()) return merging.status();
    const Plan& whole = merging->merged.whole;
    return request.return_state() ? MergeToValues(whole, merging->parts).status()
                                  : MergeToResults(whole, merging->parts).status();
  }

  // Changes state `i` of a good request; the refusal must start with `start`.
  void ExpectRefused(int i, const std::function<void(v1::PartialState&)>& change,
                     const std::string& start) {
    v1::MergeRequest request = States(kSpec, 8);
    v1::PartialState state;
    ASSERT_TRUE(state.ParseFromString(request.states(i)));
    change(state);
    *request.mutable_states(i) = state.SerializeAsString();
    const absl::Status status = MergeStatus(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << start << ": " << status;
    EXPECT_EQ(std::string(status.message()).rfind(start, 0), 0u) << start << ": " << status;
  }

  static inline const ReduceSpec kSpec = {.dtype = DType::kF32,
                                          .shape = {50, 3},
                                          .ops = {Op::kSum, Op::kMin, Op::kArgMax, Op::kVar},
                                          .axes = {0},
                                          .nan_policy = NanPolicy::kOmit,
                                          .correction = 1};

  const Limits limits_ = {};
  std::mt19937_64 random_{3};
  Devices devices_ = *OpenDevices(Backend::kCpu, WorkerOptions{});
  std::unique_ptr<Worker> worker_ = *devices_.executors[0]->MakeWorker();
};

TEST_F(StateMessageTest, AStateSaysWhatItIsOf) {
  v1::PartialState state;
  ASSERT_TRUE(state.ParseFromString(States(kSpec, 8).states(1)));
  EXPECT_EQ(state.version(), 5u);
  for (const auto& component : state.components()) EXPECT_EQ(component.revision(), 1u);
  EXPECT_EQ(state.tensor().dtype(), v1::DTYPE_F32);
  EXPECT_EQ(state.tensor().shape(0), 50);
  EXPECT_EQ(state.ops_size(), 4);
  EXPECT_EQ(state.axes_size(), 1);
  EXPECT_EQ(state.nan_policy(), v1::NAN_POLICY_OMIT);
  EXPECT_EQ(state.ops(3).variance().correction(), 1);
  EXPECT_THAT(state.part_offset(), ElementsAre(8, 0));
  EXPECT_THAT(state.part_shape(), ElementsAre(16, 3));
}

TEST_F(StateMessageTest, MergesWhatItEncoded) {
  EXPECT_TRUE(MergeStatus(States(kSpec, 8)).ok()) << MergeStatus(States(kSpec, 8));
}

TEST_F(StateMessageTest, AxesHaveOneSpelling) {
  ReduceSpec spec = kSpec;
  v1::MergeRequest request = States(spec, 8);
  spec.axes = {-2};
  *request.mutable_states(2) = States(spec, 8).states(2);
  EXPECT_TRUE(MergeStatus(request).ok()) << MergeStatus(request);
}

TEST_F(StateMessageTest, NoStatesAreRefused) {
  EXPECT_EQ(MergeStatus({}), InvalidField(Field::kStates, "are none"));
}

TEST_F(StateMessageTest, NamesTheFieldThatIsWrong) {
  using State = v1::PartialState;
  const auto refused = [this](int i, const char* start, auto change) {
    ExpectRefused(i, change, start);
  };
  refused(0, "states[0].version: is 3", [](State& s) { s.set_version(3); });
  refused(0,
          "states[0].components[0].revision: is 2, and this server reads SUM_VALUES of revision 1",
          [](State& s) { s.mutable_components(0)->set_revision(2); });
  refused(1, "states[1].components[1].revision: is 0",
          [](State& s) { s.mutable_components(1)->clear_revision(); });
  refused(1, "states[1].version: is 0", [](State& s) { s.clear_version(); });
  refused(0, "states[0].tensor: is not given", [](State& s) { s.clear_tensor(); });
  refused(0, "states[0].tensor.dtype: ", [](State& s) { s.mutable_tensor()->clear_dtype(); });
  refused(0, "states[0].tensor.shape: ", [](State& s) { s.mutable_tensor()->set_shape(0, -1); });
  refused(1, "states[1].tensor.shape: is not that",
          [](State& s) { s.mutable_tensor()->set_shape(0, 51); });
  refused(2, "states[2].tensor.dtype: is not that",
          [](State& s) { s.mutable_tensor()->set_dtype(v1::DTYPE_F64); });
  refused(0, "states[0].ops[4]: ", [](State& s) { s.add_ops()->set_op(v1::OP_SUM); });
  refused(1, "states[1].ops: is not that", [](State& s) { s.mutable_ops()->RemoveLast(); });
  refused(0, "states[0].axes: ", [](State& s) { s.set_axes(0, 2); });
  refused(1, "states[1].axes: is not that", [](State& s) { s.set_axes(0, 1); });
  refused(1, "states[1].axes: are not all that are reduced", [](State& s) { s.set_axes(0, -2); });
  refused(1, "states[1].axes: are not all that are reduced", [](State& s) { s.clear_axes(); });
  refused(1, "states[1].keepdims: ", [](State& s) { s.set_keepdims(true); });
  refused(1, "states[1].nan_policy: ", [](State& s) { s.clear_nan_policy(); });
  refused(1, "states[1].ops: is not that",
          [](State& s) { s.mutable_ops(3)->mutable_variance()->set_correction(0); });
  refused(0, "states[0].ops[0].variance: the op has no parameters",
          [](State& s) { s.mutable_ops(0)->mutable_variance(); });
  const auto from = [](std::int64_t offset) {
    return [=](State& s) { s.set_part_offset(0, offset); };
  };
  const auto so_long = [](std::int64_t length) {
    return [=](State& s) { s.set_part_shape(0, length); };
  };
  refused(1, "states[1].part_offset: dimension 0 is negative: -8", from(-8));
  refused(1, "states[1].part_offset: dimension 0: 16 indices from 56 on are not", from(56));
  refused(1, "states[2].part_offset: the element at [24, 0] is in states[1], too", so_long(17));
  refused(1, "states: none has the element at [8, 0]", from(16));
  refused(1, "states[1].part_offset: the element at [7, 0] is in states[0], too", from(7));
  refused(1, "states: none has the element at [23, 0]", so_long(15));
  refused(1, "states[1].part_shape: dimension 0 is negative: -8", so_long(-8));
  refused(1, "states[1].part_shape: dimension 0: 9223372036854775807 indices from 8 on",
          so_long(std::numeric_limits<std::int64_t>::max()));
  refused(1, "states[1].part_shape: dimension 1 has 2 indices from 0 on; it is kept",
          [](State& s) { s.set_part_shape(1, 2); });
  refused(1, "states[1].part_shape: has 0 dimensions", [](State& s) { s.clear_part_shape(); });
  refused(1, "states[1].part_offset: has 3 indices", [](State& s) { s.add_part_offset(0); });
  refused(1, "states[1].components: has 4", [](State& s) { s.mutable_components()->RemoveLast(); });
  refused(1, "states[1].components[0].kind: ", [](State& s) {
    s.mutable_components(0)->set_kind(State::PRODUCT_VALUES);
  });
  // A byte too few; an index past the part; a NaN count of -1.
  const auto refuses_values = [this](int component, auto change) {
    const auto change_values = [&](State& s) {
      change(*s.mutable_components(component)->mutable_values());
    };
    ExpectRefused(1, change_values, absl::StrCat("states[1].components[", component, "].values: "));
  };
  constexpr int kMinimum = 2;  // behind the squares
  refuses_values(kMinimum, [](std::string& values) { values.pop_back(); });
  refuses_values(kMinimum + 1, [](std::string& values) { values[8] = 49; });
  // Of no element, where some take part.
  const auto replace = [](std::size_t bytes, absl::string_view by) {
    return [=](std::string& values) { values.replace(0, bytes, by.data(), by.size()); };
  };
  refuses_values(kMinimum, replace(4, "\xff\xff\xff\x7f"));
  const std::string last = "\xff\xff\xff\xff\xff\xff\xff\x7f";
  refuses_values(kMinimum + 1, replace(16, last + last));
  refuses_values(kMinimum + 2, [](std::string& values) { values.replace(0, 8, 8, '\xff'); });
}

TEST_F(StateMessageTest, AnyOrderButNoGapsAndOverlaps) {
  v1::MergeRequest request = States(kSpec, 8);
  request.mutable_states()->SwapElements(0, 2);
  EXPECT_TRUE(MergeStatus(request).ok()) << MergeStatus(request);
  request.add_states(request.states(1));
  EXPECT_EQ(MergeStatus(request).message(),
            "states[3].part_offset: the element at [8, 0] is in states[1], too");
  request.mutable_states()->RemoveLast();
  request.mutable_states()->DeleteSubrange(1, 1);
  EXPECT_EQ(MergeStatus(request).message(), "states: none has the element at [8, 0]");
  request = States(kSpec, 8);
  request.mutable_states()->RemoveLast();
  EXPECT_EQ(MergeStatus(request).message(), "states: none has the element at [24, 0]");
  request.set_return_state(true);
  EXPECT_TRUE(MergeStatus(request).ok()) << MergeStatus(request);
}

TEST_F(StateMessageTest, ResultsAndStatesAboveTheLimitNeverFit) {
  Limits limits;
  limits.max_result_bytes = 4 * 3 * (4 + 4 + 8 + 4) / 4 - 1;
  v1::MergeRequest request = States(kSpec, 8);
  EXPECT_EQ(DecodeStates(request, limits).status().code(), absl::StatusCode::kResourceExhausted);
  limits.max_result_bytes += 1;
  EXPECT_TRUE(DecodeStates(request, limits).ok()) << DecodeStates(request, limits).status();
  request.set_return_state(true);
  EXPECT_EQ(DecodeStates(request, limits).status().code(), absl::StatusCode::kResourceExhausted);
}

// SUM and MEAN have one component, so that a state may have fewer bytes than results.
TEST_F(StateMessageTest, ResultsThatNobodyAsksForAreNotMeasured) {
  v1::MergeRequest request = States(
      {.dtype = DType::kF64, .shape = {50, 3}, .ops = {Op::kSum, Op::kMean}, .axes = {0}}, 8);
  request.mutable_states()->DeleteSubrange(1, 2);
  request.set_return_state(true);
  Limits limits;
  limits.max_result_bytes =
      3 * static_cast<std::int64_t>(ValueBytesMax(ValueKind::kSum, DType::kF64));
  EXPECT_TRUE(DecodeStates(request, limits).ok()) << DecodeStates(request, limits).status();
  limits.max_result_bytes -= 1;
  EXPECT_EQ(DecodeStates(request, limits).status().code(), absl::StatusCode::kResourceExhausted);
}

grpc::ByteBuffer Serialised(const v1::MergeRequest& request) {
  const grpc::Slice slice(request.SerializeAsString());
  return {&slice, 1};
}

TEST_F(StateMessageTest, TheOutlineOfAMessageSaysWhatIsInIt) {
  v1::MergeRequest request = States(kSpec, 8);
  request.set_request_id("name");
  grpc::ByteBuffer message = Serialised(request);
  absl::StatusOr<MergeOutline> outline = OutlineMerge(&message);
  ASSERT_TRUE(outline.ok()) << outline.status();
  std::int64_t values_bytes = 0;
  for (const std::string& bytes : request.states()) {
    v1::PartialState state;
    ASSERT_TRUE(state.ParseFromString(bytes));
    for (const auto& component : state.components()) values_bytes += std::ssize(component.values());
  }
  EXPECT_EQ(outline->message_bytes, std::ssize(request.SerializeAsString()));
  EXPECT_EQ(outline->header_bytes, outline->message_bytes - values_bytes);
  EXPECT_EQ(outline->states, 3);
  EXPECT_FALSE(outline->broken_state.has_value());
  // Cut off in its values, of which there are more than a header may have.
  v1::PartialState state;
  ASSERT_TRUE(state.ParseFromString(request.states(1)));
  state.mutable_components(0)->mutable_values()->resize(2 * kStateHeaderBytesMax);
  *request.mutable_states(1) = state.SerializeAsString();
  request.mutable_states(1)->resize(kStateHeaderBytesMax + 1000);
  request.mutable_states(2)->resize(3);
  message = Serialised(request);
  outline = OutlineMerge(&message);
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_EQ(outline->broken_state, 1);
  EXPECT_EQ(BrokenState(1), DecodeStates(request, limits_).status());
}

// Whatever of a state is broken, what follows it is read as it is.
TEST_F(StateMessageTest, ABrokenStateDoesNotShiftTheNext) {
  const v1::MergeRequest good = States(kSpec, 8);
  const std::string& bytes = good.states(1);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    v1::MergeRequest request = good;
    char& changed = (*request.mutable_states(1))[bit / 8];
    changed = static_cast<char>(changed ^ (1 << bit % 8));
    grpc::ByteBuffer message = Serialised(request);
    const absl::StatusOr<MergeOutline> outline = OutlineMerge(&message);
    ASSERT_TRUE(outline.ok()) << outline.status() << " bit " << bit;
    EXPECT_EQ(outline->states, 3) << "bit " << bit;
    EXPECT_LE(outline->header_bytes, outline->message_bytes);
  }
}

// What is on the heap. Sanitizers have heaps of their own, of which this is nothing.
std::int64_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

// Messages that become many times as large, as many states of their kind as may be in one.
TEST_F(StateMessageTest, AParsedMessageHoldsNoMoreThanItsOutlineSays) {
  v1::PartialState empty;
  empty.set_version(4);
  empty.mutable_tensor()->set_dtype(v1::DTYPE_I64);
  empty.mutable_tensor()->add_shape(1);
  empty.add_ops()->set_op(v1::OP_MAX);
  empty.add_components()->set_kind(v1::PartialState::MAX_VALUES);
  const auto followed_by = [&empty](absl::string_view field) {
    std::string state = empty.SerializeAsString();
    // One more than fits in a vector before it grows.
    for (int i = 0; i <= 1 << 20; ++i) state.append(field.data(), field.size());
    return state;
  };
  std::map<std::string, std::string> states = {
      {"empty", empty.SerializeAsString()},         {"components", followed_by({"\x52\0", 2})},
      {"unknown numbers", followed_by("\x78\x01")}, {"unknown bytes", followed_by({"\x7a\0", 2})},
      {"unknown groups", followed_by("\x7b\x7c")},
  };
  for (const auto& [name, state] : states) {
    SCOPED_TRACE(name);
    v1::MergeRequest asked;
    asked.set_return_state(true);
    const std::size_t count =
        std::min(kHeaderBytesMax / 2 - 1, kStateHeaderBytesMax / state.size());
    for (std::size_t i = 0; i < count; ++i) asked.add_states(state);
    grpc::ByteBuffer message = Serialised(asked);
    asked.Clear();
    const absl::StatusOr<MergeOutline> outline = OutlineMerge(&message);
    ASSERT_TRUE(outline.ok()) << outline.status();
    v1::MergeRequest request;
    std::int64_t before = HeapBytes();
    ASSERT_TRUE(ParseMerge(&message, &request).ok());
    std::int64_t held = HeapBytes() - before;
    before = HeapBytes();
    {
      std::vector<v1::PartialState> messages;
      std::vector<PartValues> parts;
      for (const std::string& bytes : request.states()) {
        ASSERT_TRUE(messages.emplace_back().ParseFromString(bytes));
        ASSERT_TRUE(MakePlan(*DecodeSpec(messages.back(), limits_)).ok());
        parts.push_back({.box = {{0}, {1}}, .values = {{}}});
      }
      held += HeapBytes() - before;
    }
    EXPECT_LE(held, outline->parsed_bytes());
    RecordProperty(name, std::to_string(held) + " of " + std::to_string(outline->parsed_bytes()));
  }
}

// Flips, cuts, doubles and swaps bytes: whatever comes, merging ends with a status that is right.
TEST_F(StateMessageTest, SurvivesMutatedStates) {
  int merged = 0;
  int refused = 0;
  for (const DType dtype : kAllDTypes) {
    ReduceSpec spec = kSpec;
    spec.dtype = dtype;
    spec.ops = {Op::kSum, Op::kMin, Op::kArgMax, Op::kVar, Op::kProd, Op::kAll, Op::kL1Norm};
    const v1::MergeRequest good = States(spec, 8);
    for (int round = 0; round < testing::Rounds(3000); ++round) {
      v1::MergeRequest request = good;
      request.set_return_state(random_() % 2 != 0);
      std::string& bytes = *request.mutable_states(static_cast<int>(random_() % 3));
      for (std::uint64_t n = 1 + random_() % 3; n > 0 && !bytes.empty(); --n) {
        const std::size_t at = random_() % bytes.size();
        const std::size_t count = std::min<std::size_t>(1 + random_() % 16, bytes.size() - at);
        switch (random_() % 6) {
          case 0:
            bytes.erase(at, count);
            break;
          case 1:
            bytes.insert(at, bytes.substr(at, count));
            break;
          case 2:
            bytes.replace(at, count, count, random_() % 2 != 0 ? '\xff' : '\x7f');
            break;
          case 3:
            bytes.resize(at + 1);
            break;
          case 4:
            bytes[at] = static_cast<char>(random_());
            break;
          case 5:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_() % 8));
            break;
        }
      }
      const absl::Status status = MergeStatus(request);
      if (absl::IsInvalidArgument(status)) {
        ASSERT_EQ(std::string(status.message()).rfind("states", 0), 0u) << status;
        ++refused;
      } else {
        ASSERT_TRUE(status.ok() || absl::IsOutOfRange(status) || absl::IsDataLoss(status) ||
                    absl::IsResourceExhausted(status) || absl::IsUnimplemented(status))
            << status;
        ++merged;
      }
    }
  }
  // Both ways were gone often.
  EXPECT_GT(merged, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace warpfold
