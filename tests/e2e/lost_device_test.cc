// The server's process when its devices are lost, one after the other (losing_backend.cc).
#include <csignal>

#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

TEST(LostDeviceTest, TheOthersServeOnAndWithoutAnyTheExitCodeIsThree) {
  const auto server = ServerProcess::Start({"--workers-per-device=1"});
  ASSERT_NE(server, nullptr);
  Client client(*server);
  v1::ReduceResponse response;
  ASSERT_TRUE(client.Reduce(F32Ones(3), &response).ok());
  EXPECT_EQ(response.device(), "cuda:0");

  server->Signal(SIGUSR1);
  grpc::Status status;
  do {  // until the signal has come
    status = client.Reduce(F32Ones(3), &response);
  } while (status.ok() && response.device() == "cuda:0");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_TRUE(client.Reduce(F32Ones(3), &response).ok());
  EXPECT_EQ(response.device(), "cuda:1");
  const std::string page = MetricsPage(server->metrics_port());
  EXPECT_EQ(MetricValue(page, "warpfold_devices{state=\"lost\"}"), 1);
  EXPECT_EQ(MetricValue(page, "warpfold_devices{state=\"serving\"}"), 1);
  EXPECT_EQ(MetricValue(page, "warpfold_ready"), 1);

  server->Signal(SIGUSR1);
  do {
    status = client.Reduce(F32Ones(3), &response);
  } while (status.ok());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(server->Wait(), 3);
}

}  // namespace
}  // namespace warpfold::e2e
