// Partial states end to end: parts reduced on their own, through every method, merge to the bits of
// the whole.
#include <algorithm>
#include <cstring>
#include <future>
#include <random>
#include <span>

#include "client/cpp/client.h"
#include "tests/contract/values_of.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

class MergeTest : public ServedTest {
 protected:
  // Columns of [rows, columns] in bytes of f32 that add up to other bits in another order.
  std::string Data(std::int64_t count) {
    std::vector<float> elements(static_cast<std::size_t>(count));
    for (float& x : elements) {
      x = std::ldexp(static_cast<float>(random_() % 100000) - 5e4F,
                     static_cast<int>(random_() % 30) - 15);
    }
    std::string bytes(elements.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
  }

  // A request for the state of rows [begin, end) of [rows, columns].
  static v1::ReduceRequest PartRequest(const v1::ReduceRequest& whole, std::int64_t begin,
                                       std::int64_t end) {
    const std::int64_t rows = whole.sources(0).tensor().shape(0);
    const std::size_t row_bytes = whole.data().size() / static_cast<std::size_t>(rows);
    v1::ReduceRequest part = whole;
    part.set_return_state(true);
    *part.mutable_part()->mutable_whole_shape() = whole.sources(0).tensor().shape();
    part.mutable_part()->add_offset(begin);
    for (int d = 1; d < whole.sources(0).tensor().shape_size(); ++d)
      part.mutable_part()->add_offset(0);
    ValuesOf(part).mutable_tensor()->set_shape(0, end - begin);
    part.set_data(whole.data().substr(static_cast<std::size_t>(begin) * row_bytes,
                                      static_cast<std::size_t>(end - begin) * row_bytes));
    return part;
  }

  grpc::Status ReduceOneOf(v1::ReduceRequest request, v1::ReduceResponse* response) {
    switch (random_() % 3) {
      case 0:
        return client().Reduce(request, response);
      case 1: {
        std::vector<v1::ReduceStreamRequest> messages = {Chunk(request.data().substr(0, 100)),
                                                         Chunk(request.data().substr(100))};
        request.clear_data();
        messages.insert(messages.begin(), Header(request));
        return client().ReduceStream(messages, response);
      }
      default:
        return ReduceMany(request, response);
    }
  }

  grpc::Status ReduceMany(const v1::ReduceRequest& request, v1::ReduceResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = client().stub().ReduceMany(&context);
    stream->Write(request);
    stream->WritesDone();
    v1::ReduceManyResponse answer;
    EXPECT_TRUE(stream->Read(&answer));
    EXPECT_EQ(answer.status().code(), 0) << answer.status().message();
    response->Swap(answer.mutable_response());
    v1::ReduceManyResponse none;
    EXPECT_FALSE(stream->Read(&none));
    return stream->Finish();
  }

  grpc::Status Merge(const v1::MergeRequest& request, v1::ReduceResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return client().stub().Merge(&context, request, response);
  }

  std::mt19937_64 random_{11};
};

v1::ReduceRequest Table(std::int64_t rows, std::int64_t columns, const std::string& data) {
  v1::ReduceRequest request = F32Request({rows, columns});
  for (const v1::Op op : {v1::OP_MEAN, v1::OP_STD, v1::OP_ARGMIN, v1::OP_MAX})
    request.add_ops()->set_op(op);
  request.set_data(data);
  return request;
}

TEST_F(MergeTest, PartsThroughEveryMethodMergeToTheBitsOfTheWhole) {
  for (const bool over_all : {true, false}) {
    for (const std::int64_t step : {7, 41, 136}) {
      v1::ReduceRequest whole = Table(1003, 128, Data(1003 * 128));
      if (!over_all) whole.add_axes(0);
      v1::ReduceResponse expected;
      ASSERT_TRUE(client().Reduce(whole, &expected).ok());
      v1::MergeRequest at_once;
      v1::MergeRequest in_steps;
      for (std::int64_t begin = 0; begin < 1003; begin += step) {
        v1::ReduceResponse part;
        const grpc::Status status = ReduceOneOf(
            PartRequest(whole, begin, std::min<std::int64_t>(begin + step, 1003)), &part);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(part.results_size(), 0);
        at_once.add_states(part.state());
        in_steps.add_states(part.state());
        if (random_() % 3 != 0) continue;
        in_steps.set_return_state(true);
        v1::ReduceResponse merged;
        const grpc::Status joined = Merge(in_steps, &merged);
        ASSERT_TRUE(joined.ok()) << joined.error_message();
        in_steps.clear_states();
        in_steps.add_states(merged.state());
      }
      in_steps.set_return_state(false);
      for (v1::MergeRequest* request : {&at_once, &in_steps}) {
        request->set_request_id("merging");
        v1::ReduceResponse merged;
        const grpc::Status status = Merge(*request, &merged);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(merged.request_id(), "merging");
        EXPECT_EQ(merged.state(), "");
        ASSERT_EQ(merged.results_size(), expected.results_size());
        for (int i = 0; i < expected.results_size(); ++i) {
          EXPECT_EQ(merged.results(i).SerializeAsString(), expected.results(i).SerializeAsString())
              << i << " of steps of " << step;
        }
      }
    }
  }
}

TEST_F(MergeTest, ASumThatFitsInTheWholeOnlyFits) {
  v1::MergeRequest states;
  for (const std::int64_t x : {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
    v1::ReduceRequest part;
    ValuesOf(part).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(part).mutable_tensor()->add_shape(3);
    part.mutable_part()->add_whole_shape(6);
    part.mutable_part()->add_offset(states.states_size() * 3);
    part.add_ops()->set_op(v1::OP_SUM);
    part.set_return_state(true);
    const std::int64_t elements[] = {x, x, x};
    part.set_data(elements, sizeof(elements));
    v1::ReduceResponse response;
    const grpc::Status status = client().Reduce(part, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    states.add_states(response.state());
  }
  v1::ReduceResponse response;
  ASSERT_TRUE(Merge(states, &response).ok());
  EXPECT_EQ(response.results(0).data(), std::string(8, '\0'));
}

TEST_F(MergeTest, TheClientReducesInPartsAndMerges) {
  auto connected = client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
  ASSERT_TRUE(connected.ok()) << connected.status();
  client::Client& warpfold = **connected;
  const std::string data = Data(100 * 7);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data));
  const client::ReduceOptions options = {.ops = {v1::OP_SUM, v1::OP_ARGMAX}, .axes = {0}};
  const auto expected = warpfold.Reduce({v1::DTYPE_F32, {100, 7}, bytes}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();

  std::vector<std::string> states;
  for (std::int64_t row = 0; row < 100; row += 23) {
    const std::int64_t rows = std::min<std::int64_t>(23, 100 - row);
    const client::TensorView part = {
        v1::DTYPE_F32,
        {rows, 7},
        bytes.subspan(static_cast<std::size_t>(row) * 28, static_cast<std::size_t>(rows) * 28)};
    auto state =
        warpfold.ReduceToState(part, {.whole_shape = {100, 7}, .offset = {row, 0}}, options);
    ASSERT_TRUE(state.ok()) << state.status();
    states.push_back(*std::move(state));
  }
  const auto last_two = warpfold.MergeToState(std::span(states).last(2), {});
  ASSERT_TRUE(last_two.ok()) << last_two.status();
  states.resize(states.size() - 2);
  states.push_back(*last_two);
  std::shuffle(states.begin(), states.end(), random_);
  const auto merged = warpfold.Merge(states, {});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->numerics_version, 1U);
  ASSERT_EQ(merged->results.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(merged->results[i].op, expected->results[i].op);
    EXPECT_EQ(merged->results[i].tensor.shape, expected->results[i].tensor.shape);
    EXPECT_EQ(merged->results[i].tensor.data, expected->results[i].tensor.data);
  }
  EXPECT_EQ(warpfold.Merge({}, {}).status().message(), "states: are none");
}

TEST_F(MergeTest, CancelledMergesHoldNothing) {
  v1::ReduceRequest whole = Table(64, 4096, Data(64 * 4096));
  whole.add_axes(0);
  v1::MergeRequest states;
  for (const std::int64_t begin : {0, 8, 32}) {
    v1::ReduceResponse part;
    const std::int64_t end = begin == 32 ? 64 : begin == 8 ? 32 : 8;
    ASSERT_TRUE(client().Reduce(PartRequest(whole, begin, end), &part).ok());
    states.add_states(part.state());
  }
  struct Call {
    grpc::ClientContext context;
    v1::ReduceResponse response;
    std::promise<grpc::Status> status;
  };
  std::vector<Call> calls(40);
  for (Call& call : calls) {
    client().stub().async()->Merge(
        &call.context, &states, &call.response,
        [&call](const grpc::Status& status) { call.status.set_value(status); });
    if (random_() % 4 != 0) call.context.TryCancel();
  }
  int served = 0;
  for (Call& call : calls) {
    const grpc::Status status = call.status.get_future().get();
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::CANCELLED)
        << status.error_message();
    served += status.ok() ? 1 : 0;
  }
  EXPECT_GT(served, 0);
  // TearDown looks at what the server holds.
}

TEST_F(MergeTest, RefusalsNameTheField) {
  const auto expect = [&](const v1::ReduceRequest& request, const std::string& start) {
    v1::ReduceResponse response;
    const grpc::Status status = client().Reduce(request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(status.error_message().rfind(start, 0), 0u) << status.error_message();
  };
  v1::ReduceRequest whole = Table(100, 3, Data(300));
  whole.add_axes(0);
  v1::ReduceRequest part = PartRequest(whole, 16, 32);
  part.set_return_state(false);
  expect(part, "part: ");
  part = PartRequest(whole, 16, 32);
  part.mutable_part()->set_offset(0, -8);
  expect(part, "part.offset: dimension 0 is negative: -8");
  part.mutable_part()->set_offset(0, 96);
  expect(part, "part.offset: dimension 0: 16 indices from 96 on are not in the whole's 100");
  part.mutable_part()->clear_offset();
  expect(part, "part.offset: has 0 indices, but the whole has 2 dimensions");
  part = PartRequest(whole, 16, 32);
  part.mutable_part()->set_whole_shape(1, 4);
  expect(part, "tensor.shape: dimension 1 has 3 indices from 0 on; it is kept");
  part.mutable_part()->set_whole_shape(1, -4);
  expect(part, "part.whole_shape: dimension 1 is negative");
  part.mutable_part()->add_whole_shape(1);
  part.mutable_part()->set_whole_shape(1, 3);
  expect(part, "tensor.shape: has 2 dimensions, but the whole has 3");

  v1::MergeRequest states;
  states.add_states("no state");
  v1::ReduceResponse response;
  const grpc::Status status = Merge(states, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "states[0]: is not a PartialState");
}

}  // namespace
}  // namespace warpfold::e2e
