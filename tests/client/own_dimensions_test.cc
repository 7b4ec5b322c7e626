// Results whose last dimensions are the op's own, which no op that is served has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/exchange.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

using testing::ElementsAre;

// An op of a newer server, whose results are three numbers each.
constexpr auto kNewOp = static_cast<v1::Op>(1000);

TEST(OwnDimensionsTest, AreBehindThoseThatAreKept) {
  FakeServer server;
  const auto client = Client::Connect(server.address(), {});
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<float> values(6);
  v1::ReduceResponse answer;
  v1::Result& result = *answer.add_results();
  result.mutable_spec()->set_op(kNewOp);
  result.mutable_tensor()->set_dtype(v1::DTYPE_F32);
  for (const int length : {2, 3}) result.mutable_tensor()->add_shape(length);
  result.set_trailing_dims(1);
  result.set_data(std::string(24, 'x'));
  const auto ask = [&](v1::Op op) {
    result.mutable_spec()->set_op(op);
    server.service().AnswerWith(answer);
    return (*client)->Reduce({v1::DTYPE_F32, {2, 3}, std::as_bytes(std::span(values))},
                             {.ops = {op}, .axes = {1}});
  };
  const auto of_new = ask(kNewOp);
  ASSERT_TRUE(of_new.ok()) << of_new.status();
  EXPECT_THAT(of_new->results[0].tensor.shape, ElementsAre(2, 3));
  EXPECT_EQ(of_new->results[0].trailing_dims, 1);
  EXPECT_EQ(ask(v1::OP_SUM).status().message(),
            "the server's result 0 (sum (2, 3)) has 1 dimensions of its own, which the op does not "
            "have");
  for (const int dims : {-1, 3}) {
    result.set_trailing_dims(dims);
    EXPECT_EQ(ask(kNewOp).status().code(), absl::StatusCode::kInternal) << dims;
  }
}

// Two numbers each.
TEST(OwnDimensionsTest, StayBehindTheOthersWhereStripesAreJoined) {
  const auto answer = [](std::vector<std::int64_t> shape, int trailing_dims, std::string data) {
    return ReduceAnswer{
        .results = {
            {v1::OP_SUM, {v1::DTYPE_U8, std::move(shape), std::move(data)}, trailing_dims}}};
  };
  ReduceAnswer whole = answer({1, 2}, 1, "ab");
  ASSERT_TRUE(Append(answer({2, 2}, 1, "cdef"), 0, whole).ok());
  EXPECT_THAT(whole.results[0].tensor.shape, ElementsAre(3, 2));
  EXPECT_EQ(whole.results[0].tensor.data, "abcdef");
  for (const ReduceAnswer& other : {answer({1, 3}, 1, "ghi"), answer({1, 2}, 0, "gh")}) {
    EXPECT_EQ(Append(other, 0, whole).code(), absl::StatusCode::kInternal);
  }
  EXPECT_EQ(Append(answer({3, 1}, 1, "ghi"), 1, whole).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace warpfold::client
