// The server between "the port is open" and "ready", on a device whose kernels the test holds back.
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/device/cpu/cpu_executor.h"
#include "server/frontend/grpc/running_server.h"
#include "server/server.h"
#include "server/version.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {
namespace {

// A CPU that says it compiles its kernels, and waits in LoadKernels until it may go on.
class CompilingDevice final : public Executor {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::string compiles_for() const override { return "sm_120"; }
  absl::Status LoadKernels(DType /*dtype*/) override {
    absl::MutexLock lock(&mutex_);
    ++loads_;
    const auto may_go_on = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return loads_ <= may_load_;
    };
    mutex_.Await(absl::Condition(&may_go_on));
    return status_;
  }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override { return cpu_.MakeWorker(); }

  // LoadKernels answers `status` from now on.
  void FailWith(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  // So many calls of LoadKernels may end.
  void MayLoad(int count) {
    absl::MutexLock lock(&mutex_);
    may_load_ = count;
  }
  // Waits until LoadKernels has been called.
  void AwaitLoading() {
    absl::MutexLock lock(&mutex_);
    const auto loads = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return loads_ > 0; };
    mutex_.Await(absl::Condition(&loads));
  }
  int loads() {
    absl::MutexLock lock(&mutex_);
    return loads_;
  }

 private:
  CpuExecutor cpu_{{.staging_buffer_bytes = 64 << 10}};
  const DeviceInfo info_{"cuda:0", "compiling", 0};
  absl::Mutex mutex_;
  int loads_ ABSL_GUARDED_BY(mutex_) = 0;
  int may_load_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};
// ThreadSanitizer does not see the locks inside the distribution's prometheus-cpp.
#ifdef __SANITIZE_THREAD__
constexpr bool kServesMetrics = false;
#else
constexpr bool kServesMetrics = true;
#endif
constexpr int kDTypes = static_cast<int>(std::size(kAllDTypes));

class StartupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Config config;
    config.listen_address = "127.0.0.1:0";
    config.metrics_address = kServesMetrics ? "127.0.0.1:0" : "none";
    config.workers_per_device = 1;
    auto device = std::make_unique<CompilingDevice>();
    device_ = device.get();
    Devices devices{.backend = Backend::kCuda};
    devices.executors.push_back(std::move(device));
    devices.left_out.push_back({"cuda:1", "GPU 1 is sm_70"});
    auto server = Server::Start(
        config, *log_, [] { ADD_FAILURE() << "no device is left"; }, std::move(devices));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = ConnectTo(server_->grpc_port());
  }

  void TearDown() override {  // of a test that failed halfway
    if (loader_.joinable()) EndLoading().IgnoreError();
  }

  // Starts MakeReady and waits until the device loads its first dtype.
  void BeginLoading() {
    loader_ = std::thread([this] { ready_ = server_->MakeReady([this] { return stop_.load(); }); });
    device_->AwaitLoading();
  }
  absl::Status EndLoading(int may_load = kDTypes) {
    device_->MayLoad(may_load);
    loader_.join();
    return ready_;
  }

  // Of grpc.health.v1; the one byte that matters of its two messages is written and read here.
  bool IsServing(const std::string& service) {
    std::string request = "\n";  // field 1, a string
    request += static_cast<char>(service.size());
    request += service;
    const e2e::RawReply reply = e2e::RawCall(*channel_, "/grpc.health.v1.Health/Check", request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    return reply.bytes == "\x08\x01";  // field 1, SERVING
  }
  grpc::Status Reduce() {
    grpc::ClientContext context;
    return Reduce(&context);
  }
  grpc::Status Reduce(grpc::ClientContext* context) {
    v1::ReduceRequest request;
    ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(request).mutable_tensor()->add_shape(1);
    request.add_ops()->set_op(v1::OP_SUM);
    request.set_data(std::string(8, '\1'));
    v1::ReduceResponse response;
    return v1::ReductionService::NewStub(channel_)->Reduce(context, request, &response);
  }
  // The header of a ReduceStream; to the others a message of unknown fields.
  static std::string Header() {
    v1::ReduceStreamRequest message;
    ValuesOf(*message.mutable_header()).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(*message.mutable_header()).mutable_tensor()->add_shape(1);
    message.mutable_header()->add_ops()->set_op(v1::OP_SUM);
    return message.SerializeAsString();
  }
  void ExpectMetric(const std::string& series, double value) const {
    if (!kServesMetrics) return;
    const std::string page = e2e::MetricsPage(server_->metrics_port());
    EXPECT_EQ(e2e::MetricValue(page, series), value) << series;
  }
  std::string log() {
    log_ = nullptr;  // writes what waits
    return text_.str();
  }

  std::ostringstream text_;
  std::unique_ptr<Log> log_ =
      std::make_unique<Log>(LogOptions{}, std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
  CompilingDevice* device_ = nullptr;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::atomic<bool> stop_{false};
  absl::Status ready_;
  std::thread loader_;
};

TEST_F(StartupTest, IsLiveAndNotReadyWhileKernelsCompile) {
  BeginLoading();
  EXPECT_TRUE(IsServing("liveness"));
  for (const char* name : {"readiness", "", "warpfold.v1.ReductionService",
                           "warpfold.v1.TensorService", "inference.GRPCInferenceService"}) {
    EXPECT_FALSE(IsServing(name)) << name;
  }
  ExpectMetric("warpfold_ready", 0);
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  for (const char* name : {"liveness", "readiness", "", "warpfold.v1.ReductionService"}) {
    EXPECT_TRUE(IsServing(name)) << name;
  }
  ExpectMetric("warpfold_ready", 1);
  EXPECT_EQ(device_->loads(), kDTypes);
  EXPECT_TRUE(Reduce().ok());
}

TEST_F(StartupTest, RefusesRequestsForAWhileAndSaysWhatItDoes) {
  BeginLoading();
  grpc::ClientContext context;
  const grpc::Status status = Reduce(&context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "starting: compiling kernels for sm_120, minutes, once");
  google::rpc::Status details;
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  ExpectMetric("warpfold_admission_refusals_total{reason=\"starting\"}", 1);
  EXPECT_TRUE(EndLoading().ok()) << ready_;
}

TEST_F(StartupTest, WhoAsksForItsVersionHearsThatItIsStarting) {
  const ListenAddress address{HostPort{"127.0.0.1", server_->grpc_port()}};
  BeginLoading();
  EXPECT_EQ(AskServerVersion(address).value_or("none"), "that is starting");
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  EXPECT_EQ(AskServerVersion(address).value_or("none"), kVersion);
}

TEST_F(StartupTest, AnswersOnlyWhatAsksAboutTheServerItself) {
  BeginLoading();
  for (const char* method :
       {"/warpfold.v1.ReductionService/GetServerInfo", "/warpfold.v1.ReductionService/ReduceStream",
        "/warpfold.v1.TensorService/ListTensors", "/warpfold.v1.TensorService/ListMemory",
        "/inference.GRPCInferenceService/RepositoryIndex"}) {
    const e2e::RawReply reply = e2e::RawCall(*channel_, method, Header());
    EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::UNAVAILABLE) << method;
    EXPECT_EQ(reply.status.error_message().rfind("starting: ", 0), 0U)
        << method << ": " << reply.status.error_message();
  }
  EXPECT_EQ(e2e::RawCall(*channel_, "/inference.GRPCInferenceService/ServerLive", "").bytes,
            "\x08\x01");
  EXPECT_EQ(e2e::RawCall(*channel_, "/inference.GRPCInferenceService/ServerReady", "").bytes, "");
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  EXPECT_EQ(e2e::RawCall(*channel_, "/inference.GRPCInferenceService/ServerReady", "").bytes,
            "\x08\x01");
}

TEST_F(StartupTest, SaysWhatItCompilesAndWhereThatIsKept) {
  const UniqueTempFolder folder;
  setenv("CUDA_CACHE_PATH", folder.Path("cache").c_str(), 1);
  BeginLoading();
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  server_ = nullptr;
  const std::string text = log();
  EXPECT_NE(text.find("compiling kernels for sm_120, minutes, once"), std::string::npos) << text;
  EXPECT_NE(text.find(folder.Path("cache")), std::string::npos) << text;
  EXPECT_EQ(text.find("not kept"), std::string::npos) << text;
  for (const DType dtype : kAllDTypes) {
    EXPECT_NE(text.find(std::string("dtype=\"") + Name(dtype)), std::string::npos) << text;
  }
  unsetenv("CUDA_CACHE_PATH");
}

TEST_F(StartupTest, WarnsWhereCompiledKernelsCannotBeKept) {
  const UniqueTempFolder folder;
  setenv("CUDA_CACHE_PATH", (folder.Write("file", "") + "/cache").c_str(), 1);
  BeginLoading();
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  server_ = nullptr;
  const std::string text = log();
  EXPECT_NE(text.find("compiled kernels are not kept"), std::string::npos) << text;
  EXPECT_NE(text.find("file is no folder"), std::string::npos) << text;
  unsetenv("CUDA_CACHE_PATH");
}

TEST_F(StartupTest, AStopEndsItBetweenTwoDtypes) {
  BeginLoading();
  stop_ = true;
  EXPECT_TRUE(absl::IsCancelled(EndLoading())) << ready_;
  EXPECT_EQ(device_->loads(), 1);
  EXPECT_FALSE(IsServing("readiness"));
}

TEST_F(StartupTest, KernelsThatDoNotLoadEndTheStart) {
  device_->FailWith(absl::UnavailableError("CUDA: cudaErrorNoKernelImageForDevice"));
  BeginLoading();
  EXPECT_EQ(std::string(EndLoading().message()),
            "cuda:0: kernels of bool: CUDA: cudaErrorNoKernelImageForDevice");
  ExpectMetric("warpfold_device_usable{device=\"cuda:0\"}", 0);
}

TEST_F(StartupTest, CountsTheDevicesThatCanBeUsed) {
  BeginLoading();
  EXPECT_TRUE(EndLoading().ok()) << ready_;
  ExpectMetric("warpfold_device_usable{device=\"cuda:0\"}", 1);
  ExpectMetric("warpfold_device_usable{device=\"cuda:1\"}", 0);
  server_ = nullptr;
  const std::string text = log();
  EXPECT_NE(text.find("device left out"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU 1 is sm_70"), std::string::npos) << text;
}

}  // namespace
}  // namespace warpfold
