// The front end over a real gRPC server in this process, with a device that the test holds back.
#ifndef WARPFOLD_TESTS_SERVER_FRONTEND_FIXTURE_H_
#define WARPFOLD_TESTS_SERVER_FRONTEND_FIXTURE_H_

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/frontend/grpc/grpc_server.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"
#include "tests/server/gated_device.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {

// Serves from Serve on; what a test admits has to have ended when it does.
class FrontendFixture : public ::testing::Test {
 protected:
  explicit FrontendFixture(const AdmissionOptions& admission = {.max_requests_in_flight = 3})
      : admission_(admission) {}

  void Serve(std::unique_ptr<Executor> device, const SchedulerOptions& options) {
    devices_.push_back(std::move(device));
    scheduler_ = *Scheduler::Create(devices_, options);
    tensors_ = std::make_unique<TensorTable>(devices_, options_.limits.resident);
    if (options_.listen.empty()) options_.listen = *ParseListenAddresses("127.0.0.1:0");
    options_.version = "test";
    options_.limits.stream_idle_timeout = std::chrono::milliseconds(60000);
    regions_ = std::make_unique<RegionTable>(devices_, options_.limits.regions);
    auto server = GrpcServer::Start(options_, {std::move(callers_), {}}, admission_, *scheduler_,
                                    *tensors_, *regions_, metrics_, *used_access_log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->StartServing();
    channel_ = ConnectTo(server_->port());
    stub_ = v1::ReductionService::NewStub(channel_);
  }

  void TearDown() override {
    server_ = nullptr;
    EXPECT_EQ(admission_.state().requests_in_flight, 0);
    EXPECT_EQ(admission_.state().bytes_in_flight, 0);
  }

  static v1::ReduceRequest Request(std::int64_t count = 1) {
    v1::ReduceRequest request;
    ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(request).mutable_tensor()->add_shape(count);
    request.add_ops()->set_op(v1::OP_SUM);
    request.set_data(std::string(static_cast<std::size_t>(count) * 8, '\1'));
    return request;
  }

  // The same, as a stream's header and its one chunk.
  static v1::ReduceStreamRequest Header(std::int64_t count = 1) {
    v1::ReduceStreamRequest header;
    *header.mutable_header() = Request(count);
    header.mutable_header()->clear_data();
    return header;
  }
  static v1::ReduceStreamRequest Chunk(std::string bytes) {
    v1::ReduceStreamRequest chunk;
    chunk.set_chunk(std::move(bytes));
    return chunk;
  }

  grpc::Status GetServerInfo() {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    return stub_->GetServerInfo(&context, {}, &info);
  }

  // Waits until `count` requests are admitted.
  void AwaitInFlight(std::int64_t count) {
    while (admission_.state().requests_in_flight != count) std::this_thread::yield();
  }

  std::vector<std::unique_ptr<Executor>> devices_;
  AdmissionController admission_;
  CallerTable callers_;  // before Serve
  Metrics metrics_{{}};
  Log log_{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  AccessLog access_log_{log_, {}};
  AccessLog* used_access_log_ = &access_log_;  // before Serve
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<TensorTable> tensors_;
  std::unique_ptr<RegionTable> regions_;
  GrpcServerOptions options_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ReductionService::Stub> stub_;
};

// One worker, three requests in flight; the queue has room for all of them.
class FrontendTest : public FrontendFixture {
 protected:
  void SetUp() override {
    auto device = std::make_unique<GatedDevice>();
    device_ = device.get();
    Serve(std::move(device), {.workers = 1, .queue_depth_max = 3});
  }
  void TearDown() override {
    device_->Open();
    FrontendFixture::TearDown();
  }

  GatedDevice* device_ = nullptr;
};

// A unary call in the background. Where it is must not change.
template <typename Request, typename Response>
struct CallOf {
  grpc::ClientContext context;
  Request request;
  Response response;
  grpc::Status status;
  absl::Notification done;

  // What gRPC calls at its end.
  auto Ending() {
    return [this](grpc::Status ended) {
      status = std::move(ended);
      done.Notify();
    };
  }
};
using Call = CallOf<v1::ReduceRequest, v1::ReduceResponse>;

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FRONTEND_FIXTURE_H_
