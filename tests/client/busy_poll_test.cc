// Calls that busy-poll for their answer before they sleep (CallLimits::spin_max), against the fake
// service: the same outcomes, and nobody polls beyond the call's end.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/connection.h"
#include "tests/client/fake_service.h"
#include "tests/contract/values_of.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr std::chrono::hours kAnHour(1);

CallReply Call(FakeServer& server, milliseconds timeout, const std::stop_token& stop = {}) {
  Connection connection(server.address(), {});
  v1::ReduceRequest request;
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_F32);
  ValuesOf(request).mutable_tensor()->add_shape(1);
  request.add_ops()->set_op(v1::OP_SUM);
  request.set_data(std::string(4, '\0'));
  return connection.Unary(kReduceMethod, request.SerializeAsString(), {},
                          {system_clock::now() + timeout, stop, kAnHour});
}

TEST(BusyPollTest, TheAnswerIsHeardByWhoPollsAndByWhoSleepsMeanwhile) {
  FakeServer server;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        const CallReply reply = Call(server, milliseconds(60'000));
        EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
        EXPECT_TRUE(reply.response.Valid());
      }
    });
  }
  callers.clear();
  EXPECT_EQ(server.service().unary_calls(), 60);
}

TEST(BusyPollTest, ADeadlineEndsIt) {
  FakeServer server;
  server.service().Hang();
  EXPECT_EQ(Call(server, milliseconds(50)).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  server.service().Release();
}

TEST(BusyPollTest, AStopEndsIt) {
  FakeServer server;
  server.service().Hang();
  std::stop_source stop;
  std::jthread stopper([&] {
    while (server.service().unary_calls() < 1) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(Call(server, milliseconds(60'000), stop.get_token()).status.error_code(),
            grpc::StatusCode::CANCELLED);
  server.service().Release();
}

}  // namespace
}  // namespace warpfold::client
