// What the end-to-end tests share: a served fixture that checks after every test that the server
// still answers and holds nothing, calls below the stubs, and the metrics page.
#ifndef WARPFOLD_TESTS_E2E_SERVED_TEST_H_
#define WARPFOLD_TESTS_E2E_SERVED_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/e2e/server_process.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold::e2e {

struct RawReply {
  grpc::Status status;
  std::string bytes;  // of the first reply message
};

// Sends `request` as it is to the full `method` name and half-closes, below any stub.
RawReply RawCall(grpc::Channel& channel, const std::string& method, const std::string& request);

// The server's Prometheus page.
std::string MetricsPage(int port);

// The value of the series written exactly as `series` ("warpfold_workers{state=\"in_use\"}") on
// `page`; NaN when absent.
double MetricValue(const std::string& page, const std::string& series);

// Asks for the page until `series` has `value`, for at most ten seconds; the last value seen.
double AwaitMetric(int port, const std::string& series, double value);

class Client {
 public:
  explicit Client(const ServerProcess& server);

  v1::ReductionService::Stub& stub() { return *stub_; }
  grpc::Channel& channel() { return *channel_; }
  grpc::Status Reduce(const v1::ReduceRequest& request, v1::ReduceResponse* response);
  // Sends `messages` on ReduceStream until the server stops taking them, then half-closes.
  grpc::Status ReduceStream(const std::vector<v1::ReduceStreamRequest>& messages,
                            v1::ReduceResponse* response);

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ReductionService::Stub> stub_;
};

// A request for `op` over a f32 tensor of `shape`, without data.
v1::ReduceRequest F32Request(const std::vector<std::int64_t>& shape, v1::Op op = v1::OP_SUM);
// The same with `count` ones as data.
v1::ReduceRequest F32Ones(std::int64_t count, v1::Op op = v1::OP_SUM);
// Of the only result's first element. NaN, which equals nothing, where there is no such result.
float FirstFloat(const v1::ReduceResponse& response);
v1::ReduceStreamRequest Header(const v1::ReduceRequest& request);
v1::ReduceStreamRequest Chunk(std::string bytes);

// One server for all tests of a suite that derives from this; SetUpTestSuite of the derived class
// calls StartServer.
class ServedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { StartServer({}); }
  static void StartServer(const std::vector<std::string>& flags);
  static void TearDownTestSuite() { server_ = nullptr; }

  void SetUp() override;
  // The server still answers, and nothing is in flight.
  void TearDown() override;

  static ServerProcess& server() { return *server_; }
  Client& client() { return *client_; }

 private:
  static std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_SERVED_TEST_H_
