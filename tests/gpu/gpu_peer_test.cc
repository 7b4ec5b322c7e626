// Reductions in a client's own GPU memory: this process allocates and shares, the real server
// reduces. Skips, and says so, where no GPU answers.
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/client.h"
#include "tests/contract/values_of.h"
#include "tests/e2e/region_fixture.h"

extern char** environ;

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

constexpr std::int64_t kCount = 1 << 20;
// Set for the process that this test starts: the descriptor to which it writes its handle.
constexpr char kExportTo[] = "WARPFOLD_TEST_EXPORT_TO";

// f32 on GPU 0, and what cudaIpcGetMemHandle says of them.
class Exported {
 public:
  explicit Exported(const std::vector<float>& numbers) {
    const std::size_t bytes = numbers.size() * sizeof(float);
    EXPECT_EQ(cudaMalloc(&d_data_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(d_data_, numbers.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudaIpcMemHandle_t handle;
    EXPECT_EQ(cudaIpcGetMemHandle(&handle, d_data_), cudaSuccess);
    handle_.assign(reinterpret_cast<const char*>(&handle), sizeof(handle));
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() { EXPECT_EQ(cudaFree(d_data_), cudaSuccess); }

  const std::string& handle() const { return handle_; }
  void Set(std::int64_t index, float number) const {
    EXPECT_EQ(cudaMemcpy(static_cast<float*>(d_data_) + index, &number, sizeof(number),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

 private:
  void* d_data_ = nullptr;
  std::string handle_;
};

// Another process that exports ones, until End.
class Exporter {
 public:
  Exporter() {
    std::array<int, 2> from{};
    std::array<int, 2> to{};
    EXPECT_EQ(pipe(from.data()), 0);
    EXPECT_EQ(pipe(to.data()), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, to[1]);
    posix_spawn_file_actions_addclose(&actions, from[0]);
    setenv(kExportTo, std::to_string(from[1]).c_str(), 1);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=ExporterProcess.*";
    std::array<char*, 3> arguments{program.data(), filter.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
    unsetenv(kExportTo);
    posix_spawn_file_actions_destroy(&actions);
    close(from[1]);
    close(to[0]);
    end_ = to[1];
    handle_.resize(sizeof(cudaIpcMemHandle_t));
    EXPECT_EQ(read(from[0], handle_.data(), handle_.size()), std::ssize(handle_));
    close(from[0]);
  }
  ~Exporter() { End(); }
  void End() {
    if (pid_ < 0) return;
    close(end_);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
    pid_ = -1;
  }
  const std::string& handle() const { return handle_; }

 private:
  pid_t pid_ = -1;
  int end_ = -1;
  std::string handle_;
};

// Not a test: what the process of an Exporter runs.
TEST(ExporterProcess, ExportsUntilItsInputEnds) {
  const char* to = std::getenv(kExportTo);
  if (to == nullptr) return;
  const Exported ones(std::vector<float>(kCount, 1.0F));
  ASSERT_EQ(write(std::atoi(to), ones.handle().data(), ones.handle().size()),
            std::ssize(ones.handle()));
  char byte = 0;
  EXPECT_EQ(read(STDIN_FILENO, &byte, 1), 0);
}

class GpuPeerTest : public RegionFixture {
 protected:
  static void SetUpTestSuite() {
    if (HasGpu()) StartServer({"--max-cuda-memory-bytes=1GiB", "--workers-per-device=4"});
  }
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no GPU answers";
    RegionFixture::SetUp();
  }
  void TearDown() override {
    if (HasGpu()) RegionFixture::TearDown();
  }
  static bool HasGpu() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  }
  grpc::Status Register(const std::string& handle, std::int64_t size = kCount * 4) {
    return RegisterCuda(regions(), "r", handle, 0, size);
  }
};

TEST_F(GpuPeerTest, ReducesTheClientsMemoryWhereItLies) {
  const Exported ones(std::vector<float>(kCount, 1.0F));
  const grpc::Status status = Register(ones.handle());
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::vector<v1::MemoryRegion> listed = ListRegions(regions());
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].device(), "cuda:0");
  EXPECT_TRUE(listed[0].in_place());
  EXPECT_EQ(Sum("r", kCount), static_cast<float>(kCount));
  ones.Set(7, 100.0F);
  EXPECT_EQ(Sum("r", kCount), static_cast<float>(kCount + 99));
  for (const std::int64_t offset : {4, 28, 32, 36}) {
    EXPECT_EQ(Sum("r", 1000, offset), offset <= 28 ? 1099.0F : 1000.0F) << offset;
  }
  v1::ReduceRequest request = RegionRequest("r", 1000, 2);
  ExpectStatus(Reduce(request), StatusCode::INVALID_ARGUMENT, "memory.offset_bytes: ");
  request = RegionRequest("r", 1000);
  request.set_return_state(true);
  ExpectStatus(Reduce(request), StatusCode::UNIMPLEMENTED, "return_state: ");
}

TEST_F(GpuPeerTest, TheClientLibrarysHandleRegistersReducesAndEnds) {
  const Exporter exporter;
  auto client = client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
  ASSERT_TRUE(client.ok()) << client.status();
  {
    auto shared = (*client)->ShareCuda({exporter.handle(), 0}, v1::DTYPE_F32, {1024, 1024}, {});
    ASSERT_TRUE(shared.ok()) << shared.status();
    EXPECT_TRUE(shared->data().empty());
    const auto answer = (*client)->Reduce(*shared, {.ops = {v1::OP_SUM}});
    ASSERT_TRUE(answer.ok()) << answer.status();
    float sum = 0;
    std::memcpy(&sum, answer->results.at(0).tensor.data.data(), sizeof(sum));
    EXPECT_EQ(sum, static_cast<float>(kCount));
  }
  EXPECT_TRUE(ListRegions(regions()).empty());
}

TEST_F(GpuPeerTest, GivesTheBitsOfBytesThatWereSent) {
  std::vector<float> numbers(kCount);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 1.0F / static_cast<float>(i + 1);
  }
  const Exported exported(numbers);
  ASSERT_TRUE(Register(exported.handle()).ok());
  v1::ReduceRequest request = F32Request({1024, 1024}, v1::OP_MEAN);
  request.add_ops()->set_op(v1::OP_ARGMIN);
  for (const std::int64_t axis : {0, 1}) {
    request.clear_axes();
    request.add_axes(axis);
    ValuesOf(request).clear_memory();
    request.set_data(std::string(reinterpret_cast<const char*>(numbers.data()), kCount * 4));
    v1::ReduceResponse sent;
    ASSERT_TRUE(client().Reduce(request, &sent).ok());
    ValuesOf(request).mutable_memory()->set_name("r");
    ValuesOf(request).mutable_memory()->set_size_bytes(kCount * 4);
    request.clear_data();
    v1::ReduceResponse shared;
    const grpc::Status status = client().Reduce(request, &shared);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(shared.results(i).data(), sent.results(i).data());
  }
}

TEST_F(GpuPeerTest, SizesPastTheAllocationAndHandlesThatAreNoneAreRefused) {
  const Exported ones(std::vector<float>(kCount, 1.0F));
  ExpectStatus(Register(ones.handle(), std::int64_t{1} << 30), StatusCode::INVALID_ARGUMENT,
               "size_bytes: ");
  std::string garbage = ones.handle();
  for (char& byte : garbage) byte = static_cast<char>(byte ^ 0x5a);
  ExpectStatus(Register(garbage), StatusCode::INVALID_ARGUMENT, "handle: ");
  ExpectStatus(Register(ones.handle().substr(1)), StatusCode::INVALID_ARGUMENT, "handle: ");
  ASSERT_TRUE(Register(ones.handle()).ok());
  ExpectStatus(Register(ones.handle()), StatusCode::ALREADY_EXISTS, "name: ");
  EXPECT_EQ(Sum("r", kCount), static_cast<float>(kCount));
}

TEST_F(GpuPeerTest, OneAllocationMayHaveTwoNames) {
  const Exported ones(std::vector<float>(kCount, 1.0F));
  ASSERT_TRUE(Register(ones.handle()).ok());
  ASSERT_TRUE(RegisterCuda(regions(), "s", ones.handle(), 0, 4000).ok());
  EXPECT_TRUE(UnregisterRegion(regions(), "r").ok());
  EXPECT_EQ(Sum("s", 1000), 1000.0F);
}

TEST_F(GpuPeerTest, AStaleHandleIsRefused) {
  Exporter exporter;
  exporter.End();
  ExpectStatus(Register(exporter.handle()), StatusCode::INVALID_ARGUMENT, "handle: ");
}

// The contract leaves the answer open; the server and its device are to live.
TEST_F(GpuPeerTest, AClientThatDiesWithItsMemoryRegisteredEndsNobodyElse) {
  Exporter exporter;
  ASSERT_TRUE(Register(exporter.handle()).ok());
  EXPECT_EQ(Sum("r", kCount), static_cast<float>(kCount));
  exporter.End();
  const grpc::Status status = Reduce(RegionRequest("r", kCount));
  RecordProperty("after_its_process_ended", status.ok() ? "OK" : status.error_message());
  EXPECT_TRUE(UnregisterRegion(regions(), "r").ok());
  EXPECT_TRUE(Reduce(F32Ones(1000)).ok());
}

TEST_F(GpuPeerTest, RegistrationsReductionsAndEndsAtTheSameTimeEndAsDocumented) {
  const Exported ones(std::vector<float>(kCount, 1.0F));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Client own(server());
      const auto stub = MakeStub(own);
      for (int i = 0; i < 30; ++i) {
        const StatusCode registered =
            RegisterCuda(*stub, "r", ones.handle(), 0, kCount * 4).error_code();
        EXPECT_TRUE(registered == StatusCode::OK || registered == StatusCode::ALREADY_EXISTS)
            << registered;
        v1::ReduceResponse answer;
        const grpc::Status status = own.Reduce(RegionRequest("r", kCount), &answer);
        EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::NOT_FOUND)
            << status.error_message();
        const StatusCode ended = UnregisterRegion(*stub, "r").error_code();
        EXPECT_TRUE(ended == StatusCode::OK || ended == StatusCode::NOT_FOUND) << ended;
      }
    });
  }
}

}  // namespace
}  // namespace warpfold::e2e
