// Serves one lone unary Reduce of 4 KiB, on a device that batches, and leaves to gcov what ran
// meanwhile: request_path.py reads it.
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "server/frontend/grpc/grpc_server.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"
#include "tests/server/fake_device.h"
#include "warpfold/v1/reduction.grpc.pb.h"

// GCC's: forget what has been counted; write it.
extern "C" void __gcov_reset();
extern "C" void __gcov_dump();

namespace warpfold {
namespace {

v1::ReduceRequest FourKiB() {
  v1::ReduceRequest request;
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
  ValuesOf(request).mutable_tensor()->add_shape(512);
  request.add_ops()->set_op(v1::OP_SUM);
  request.set_data(std::string(4096, '\1'));
  return request;
}

std::vector<std::unique_ptr<Executor>> BatchingDevice() {
  auto device = std::make_unique<FakeDevice>();
  device->fake_batches().BatchUpTo(4096, {.tensors = 8, .bytes = 1 << 20});
  std::vector<std::unique_ptr<Executor>> devices;
  devices.push_back(std::move(device));
  return devices;
}

// The last of a call is that its answer is written.
void AwaitNoAnswer(const AdmissionController& admission) {
  while (admission.state().answers_unwritten != 0) std::this_thread::yield();
}

absl::Status ServeOne() {
  const std::vector<std::unique_ptr<Executor>> devices = BatchingDevice();
  AdmissionController admission{{}};
  Metrics metrics{{}};
  Log log{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  AccessLog access_log{log, {}};
  const std::unique_ptr<Scheduler> scheduler = *Scheduler::Create(devices, {.workers = 1});
  GrpcServerOptions options;
  options.listen = *ParseListenAddresses("127.0.0.1:0");
  TensorTable tensors(devices, options.limits.resident);
  RegionTable regions(devices, options.limits.regions);
  const auto server = GrpcServer::Start(options, {CallerTable(), {}}, admission, *scheduler,
                                        tensors, regions, metrics, access_log);
  if (!server.ok()) return server.status();
  (*server)->StartServing();
  const auto stub = v1::ReductionService::NewStub(ConnectTo((*server)->port()));
  {
    // The connection is there, and its client known.
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    if (!stub->GetServerInfo(&context, {}, &info).ok()) return absl::UnknownError("no info");
  }
  AwaitNoAnswer(admission);
  const v1::ReduceRequest request = FourKiB();
  grpc::ClientContext context;
  v1::ReduceResponse response;
  __gcov_reset();
  const grpc::Status status = stub->Reduce(&context, request, &response);
  AwaitNoAnswer(admission);
  __gcov_dump();
  return status.ok() ? absl::OkStatus() : absl::UnknownError(status.error_message());
}

}  // namespace
}  // namespace warpfold

int main() {
  const absl::Status status = warpfold::ServeOne();
  std::fprintf(stderr, "request_path: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
