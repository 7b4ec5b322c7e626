// The whole server in this process, on devices that the test breaks.
#include "server/server.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/device/host_bytes.h"
#include "server/memory_limit.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"
#include "tests/server/faulty_device.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    config_.listen_address = "127.0.0.1:0";
    config_.metrics_address = "none";
    config_.workers_per_device = 1;
    for (const char* name : {"cuda:0", "cuda:1"}) {
      auto device = std::make_unique<FaultyDevice>(name);
      faulty_.push_back(device.get());
      devices_.executors.push_back(std::move(device));
    }
  }

  absl::StatusOr<std::unique_ptr<Server>> Start() {
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
        config_, log_, [this] { none_left_.Notify(); }, std::move(devices_));
    if (!server.ok()) return server;
    if (absl::Status ready = (*server)->MakeReady(); !ready.ok()) return ready;
    return server;
  }

  // The name of the device that answered, or the code.
  static std::string Ask(const Server& server) {
    grpc::ClientContext context;
    v1::ReduceRequest request;
    ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(request).mutable_tensor()->add_shape(1);
    request.add_ops()->set_op(v1::OP_SUM);
    request.set_data(std::string(8, '\1'));
    v1::ReduceResponse response;
    const auto stub = v1::ReductionService::NewStub(ConnectTo(server.grpc_port()));
    const grpc::Status status = stub->Reduce(&context, request, &response);
    return status.ok() ? response.device() : std::to_string(status.error_code());
  }

  Config config_;
  Log log_{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  Devices devices_;
  std::vector<FaultyDevice*> faulty_;
  absl::Notification none_left_;
};

const std::string kUnavailable = std::to_string(grpc::StatusCode::UNAVAILABLE);

TEST_F(ServerTest, DoesNotServeWithoutADeviceThatGivesTheRightBits) {
  faulty_[0]->FlipABit();
  faulty_[1]->FlipABit();
  const absl::Status status = Start().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("cuda:1: self-test bool: sum"), std::string::npos)
      << status;
  EXPECT_FALSE(none_left_.HasBeenNotified());  // the start itself has failed
}

TEST_F(ServerTest, RequestsShareWhatTheOptionsLeaveOfTheMemoryAlsoAfterAReload) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::int64_t left = HostBudget::OfProcess().state().limit_bytes;
  EXPECT_LT(left, ReadMemoryLimit().bytes);
  Config next = config_;
  next.max_bytes_in_flight -= std::int64_t{64} << 20;
  (*server)->Reload(next);
  EXPECT_EQ(HostBudget::OfProcess().state().limit_bytes - left, std::int64_t{2 * 64} << 20);
  next.max_bytes_in_flight = std::int64_t{1} << 50;
  (*server)->Reload(next);
  EXPECT_EQ((*server)->config().max_bytes_in_flight,
            config_.max_bytes_in_flight - (std::int64_t{64} << 20));
  (*server)->Drain();
}

TEST_F(ServerTest, LeavesOutADeviceThatGivesWrongBits) {
  faulty_[0]->FlipABit();
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(**server), "cuda:1");
  EXPECT_FALSE(none_left_.HasBeenNotified());
  (*server)->Drain();
}

TEST_F(ServerTest, ALostDeviceTakesItselfOutAndTheOthersGoOn) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Ask(**server), "cuda:0");
  faulty_[0]->Lose();
  EXPECT_EQ(Ask(**server), kUnavailable);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(**server), "cuda:1");
  EXPECT_TRUE((*server)->has_device());
  EXPECT_FALSE(none_left_.HasBeenNotified());
  (*server)->Drain();
}

TEST_F(ServerTest, TheOwnerHearsOnceThatNoDeviceIsLeft) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  faulty_[0]->Lose();
  faulty_[1]->Lose();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Ask(**server), kUnavailable);
  EXPECT_TRUE(none_left_.HasBeenNotified());  // a second time would fail a check
  EXPECT_FALSE((*server)->has_device());
  (*server)->Drain();
}

}  // namespace
}  // namespace warpfold
