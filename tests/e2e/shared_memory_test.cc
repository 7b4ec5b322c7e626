// Reductions of POSIX shared memory: the same bits as bytes that were sent give, and every way in
// which a client and its segment can go wrong.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/contract/values_of.h"
#include "tests/e2e/region_fixture.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

std::string Ones(std::int64_t count) { return F32Ones(count).data(); }

class SharedMemoryTest : public RegionFixture {
 protected:
  static void SetUpTestSuite() {
    StartServer({std::string("--shared-memory-prefix=") + ShmSegment::kPrefix,
                 "--workers-per-device=4", "--max-memory-regions=4",
                 "--max-shared-memory-bytes=64MiB"});
  }

  // The same question with the bytes in the message and in `region`, which holds them.
  void ExpectSameAnswer(v1::ReduceRequest request, const std::string& region) {
    v1::ReduceResponse sent;
    ASSERT_TRUE(client().Reduce(request, &sent).ok());
    const std::size_t size = request.data().size();
    ValuesOf(request).mutable_memory()->set_name(region);
    ValuesOf(request).mutable_memory()->set_size_bytes(static_cast<std::int64_t>(size));
    request.clear_data();
    v1::ReduceResponse shared;
    const grpc::Status status = client().Reduce(request, &shared);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(shared.state(), sent.state());
    ASSERT_EQ(shared.results_size(), sent.results_size());
    for (int i = 0; i < sent.results_size(); ++i) {
      EXPECT_EQ(shared.results(i).data(), sent.results(i).data());
    }
  }
};

TEST_F(SharedMemoryTest, GivesTheBitsOfBytesThatWereSent) {
  constexpr std::int64_t kRows = 3000;
  constexpr std::int64_t kColumns = 1001;
  v1::ReduceRequest request = F32Request({kRows, kColumns});
  std::mt19937 random(20261121);
  std::string bytes(kRows * kColumns * 4, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i % 4 == 3 ? 0x3f : random());
  }
  request.set_data(bytes);
  const ShmSegment segment(bytes);
  Register("r", segment, static_cast<std::int64_t>(bytes.size()));
  segment.Unlink();
  ExpectSameAnswer(request, "r");
  for (const std::int64_t axis : {0, 1}) {
    request.clear_axes();
    request.add_axes(axis);
    request.clear_ops();
    for (const v1::Op op : {v1::OP_MEAN, v1::OP_MIN, v1::OP_ARGMAX, v1::OP_STD}) {
      request.add_ops()->set_op(op);
    }
    ExpectSameAnswer(request, "r");
  }
  request.set_return_state(true);
  request.mutable_part()->add_whole_shape(2 * kRows);
  request.mutable_part()->add_whole_shape(kColumns);
  for (int d = 0; d < 2; ++d) request.mutable_part()->add_offset(0);
  request.clear_axes();
  request.add_axes(0);
  ExpectSameAnswer(request, "r");
}

TEST_F(SharedMemoryTest, ReadsWhatIsThereWhenItReduces) {
  const ShmSegment segment(Ones(1000) + Ones(1000));
  Register("r", segment, 8000);
  EXPECT_EQ(Sum("r", 2000), 2000.0F);
  EXPECT_EQ(Sum("r", 10, 36), 10.0F);
  segment.Write(std::string(400, '\0'), 3800);
  EXPECT_EQ(Sum("r", 2000), 1900.0F);
  EXPECT_EQ(Sum("r", 3, 3796), 1.0F);
  EXPECT_EQ(Sum("r", 0, 8000), 0.0F);
}

TEST_F(SharedMemoryTest, ItemsOfAStreamTakeRegionsToo) {
  const ShmSegment segment(Ones(100));
  Register("r", segment, 400);
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  stream->Write(RegionRequest("r", 100));
  stream->Write(RegionRequest("none", 100));
  stream->WritesDone();
  std::array<int, 2> codes{};
  v1::ReduceManyResponse answer;
  for (int& code : codes) {
    ASSERT_TRUE(stream->Read(&answer));
    code = answer.status().code();
  }
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(codes[0], StatusCode::OK);
  EXPECT_EQ(codes[1], StatusCode::NOT_FOUND);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(SharedMemoryTest, ListsWhatIsRegisteredAndSaysWhatMayBe) {
  const ShmSegment segment(Ones(2000));
  ASSERT_TRUE(RegisterSegment(regions(), "r", segment.key().substr(1), 4096, 400).ok());
  const std::vector<v1::MemoryRegion> listed = ListRegions(regions());
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name(), "r");
  EXPECT_EQ(listed[0].key(), segment.key());
  EXPECT_EQ(listed[0].offset_bytes(), 4096);
  EXPECT_EQ(listed[0].size_bytes(), 400);
  EXPECT_EQ(listed[0].uses(), 0);
  ExpectMetric("warpfold_shared_memory_regions{kind=\"system\"}", 1);
  ExpectMetric("warpfold_shared_memory_bytes{kind=\"system\"}", 400);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(client().stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.shared_memory_prefix(), ShmSegment::kPrefix);
  EXPECT_EQ(info.limits().max_memory_regions(), 4);
  EXPECT_EQ(info.limits().max_shared_memory_bytes(), 64 << 20);
}

TEST_F(SharedMemoryTest, RegistrationsThatAreRefused) {
  const ShmSegment segment(Ones(100));
  const ShmSegment other(Ones(100), "/other-warpfold-test-");
  const auto offered = [this](const std::string& key, std::int64_t offset, std::int64_t size) {
    return RegisterSegment(regions(), "r", key, offset, size);
  };
  ExpectStatus(offered(other.key(), 0, 400), StatusCode::PERMISSION_DENIED, "key: ");
  ExpectStatus(offered(segment.key() + "/../x", 0, 400), StatusCode::INVALID_ARGUMENT, "key: ");
  ExpectStatus(offered(segment.key() + "-none", 0, 400), StatusCode::NOT_FOUND, "key: ");
  ExpectStatus(offered(segment.key(), 1, 400), StatusCode::INVALID_ARGUMENT, "size_bytes: ");
  ExpectStatus(offered(segment.key(), std::numeric_limits<std::int64_t>::max(), 400),
               StatusCode::INVALID_ARGUMENT, "offset_bytes: ");
  ExpectStatus(RegisterSegment(regions(), "", segment.key(), 0, 400), StatusCode::INVALID_ARGUMENT,
               "name: ");
  for (const char* name : {"r", "s", "t", "u"}) Register(name, segment, 400);
  ExpectStatus(offered(segment.key(), 0, 400), StatusCode::ALREADY_EXISTS, "name: ");
  ExpectStatus(RegisterSegment(regions(), "v", segment.key(), 0, 400),
               StatusCode::RESOURCE_EXHAUSTED, "no room");
  EXPECT_EQ(Sum("u", 100), 100.0F);
  ExpectStatus(UnregisterRegion(regions(), "v"), StatusCode::NOT_FOUND, "name: ");
  EXPECT_TRUE(UnregisterRegion(regions(), "u").ok());
  segment.Truncate(65 << 20);
  const grpc::Status never = RegisterSegment(regions(), "v", segment.key(), 0, 65 << 20);
  ExpectStatus(never, StatusCode::RESOURCE_EXHAUSTED, "size_bytes: ");
  EXPECT_TRUE(never.error_details().empty()) << "it never fits";
}

TEST_F(SharedMemoryTest, ReductionsThatAreRefused) {
  const ShmSegment segment(Ones(100));
  Register("r", segment, 400);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  ExpectStatus(Reduce(RegionRequest("none", 100)), StatusCode::NOT_FOUND, "memory.name: ");
  ExpectStatus(Reduce(RegionRequest("r", 100, 4)), StatusCode::INVALID_ARGUMENT,
               "memory.size_bytes: ");
  ExpectStatus(Reduce(RegionRequest("r", 100, 401)), StatusCode::INVALID_ARGUMENT,
               "memory.offset_bytes: ");
  ExpectStatus(Reduce(RegionRequest("r", 100, -4)), StatusCode::INVALID_ARGUMENT,
               "memory.offset_bytes: ");
  ExpectStatus(Reduce(RegionRequest("r", 100, kMax)), StatusCode::INVALID_ARGUMENT,
               "memory.offset_bytes: ");
  v1::ReduceRequest request = RegionRequest("r", 100);
  ValuesOf(request).mutable_memory()->set_size_bytes(kMax);
  ExpectStatus(Reduce(request), StatusCode::INVALID_ARGUMENT, "memory.size_bytes: ");
  ValuesOf(request).mutable_memory()->set_size_bytes(396);
  ExpectStatus(Reduce(request), StatusCode::INVALID_ARGUMENT, "memory.size_bytes: ");
  request = RegionRequest("r", 100);
  ValuesOf(request).clear_tensor();
  ExpectStatus(Reduce(request), StatusCode::INVALID_ARGUMENT, "tensor: ");
  request = RegionRequest("r", 100);
  request.set_consume(true);
  ExpectStatus(Reduce(request), StatusCode::INVALID_ARGUMENT, "consume: ");
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({Header(RegionRequest("r", 100))}, &response),
               StatusCode::INVALID_ARGUMENT, "header: ");
  EXPECT_EQ(Sum("r", 100), 100.0F);
}

TEST_F(SharedMemoryTest, ATruncatedSegmentIsRefused) {
  const ShmSegment segment(Ones(1 << 20));
  Register("r", segment, 4 << 20);
  EXPECT_EQ(Sum("r", 1 << 20), 1048576.0F);
  segment.Truncate(2 << 20);
  ExpectStatus(Reduce(RegionRequest("r", 1 << 20)), StatusCode::FAILED_PRECONDITION,
               "memory.name: ");
  segment.Truncate(0);
  ExpectStatus(Reduce(RegionRequest("r", 100)), StatusCode::FAILED_PRECONDITION, "memory.name: ");
  EXPECT_TRUE(UnregisterRegion(regions(), "r").ok());
  segment.Write(Ones(1 << 20), 0);
  Register("r", segment, 4 << 20);
  EXPECT_EQ(Sum("r", 1 << 20), 1048576.0F);
}

// What would be a SIGBUS for whoever reads a mapping: the pages go while workers are at work on
// them.
TEST_F(SharedMemoryTest, ASegmentThatIsTruncatedUnderReductionsKillsNobody) {
  constexpr std::int64_t kCount = 4 << 20;
  const std::string ones = Ones(kCount);
  const ShmSegment segment(ones);
  Register("r", segment, kCount * 4);
  std::atomic<int> left{3};
  std::vector<std::jthread> reducers;
  for (int t = 0; t < 3; ++t) {
    reducers.emplace_back([&] {
      Client own(server());
      for (int i = 0; i < 100; ++i) {
        v1::ReduceResponse answer;
        const grpc::Status status = own.Reduce(RegionRequest("r", kCount), &answer);
        EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::FAILED_PRECONDITION)
            << status.error_code() << ": " << status.error_message();
      }
      --left;
    });
  }
  while (left > 0) {
    segment.Truncate(kCount);
    segment.Truncate(kCount * 4);
  }
  reducers.clear();
  EXPECT_TRUE(UnregisterRegion(regions(), "r").ok());
  segment.Write(ones, 0);
  Register("r", segment, kCount * 4);
  EXPECT_EQ(Sum("r", kCount), static_cast<float>(kCount));
}

TEST_F(SharedMemoryTest, RegistrationsReductionsAndEndsAtTheSameTimeEndAsDocumented) {
  const ShmSegment segment(Ones(1 << 18));
  std::atomic<int> reduced{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Client own(server());
      const auto stub = MakeStub(own);
      for (int i = 0; i < 30; ++i) {
        const std::string name = std::to_string((t + i) % 2);
        const StatusCode registered =
            RegisterSegment(*stub, name, segment.key(), 0, 1 << 20).error_code();
        EXPECT_TRUE(registered == StatusCode::OK || registered == StatusCode::ALREADY_EXISTS ||
                    registered == StatusCode::RESOURCE_EXHAUSTED)
            << registered;
        v1::ReduceResponse answer;
        const grpc::Status status = own.Reduce(RegionRequest(name, 1 << 18), &answer);
        if (status.ok()) {
          ++reduced;
          EXPECT_EQ(FirstFloat(answer), static_cast<float>(1 << 18));
        }
        EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::NOT_FOUND)
            << status.error_message();
        const StatusCode ended = UnregisterRegion(*stub, name).error_code();
        EXPECT_TRUE(ended == StatusCode::OK || ended == StatusCode::NOT_FOUND) << ended;
      }
    });
  }
  threads.clear();
  EXPECT_GT(reduced, 0);
}

class SharedMemoryOffTest : public RegionFixture {};

TEST_F(SharedMemoryOffTest, AServerThatWasNotToldToTakesNone) {
  const ShmSegment segment(Ones(100));
  ExpectStatus(RegisterSegment(regions(), "r", segment.key(), 0, 400), StatusCode::UNIMPLEMENTED,
               "key: ");
  ExpectStatus(RegisterCuda(regions(), "r", std::string(64, '\1'), 0, 400),
               StatusCode::UNIMPLEMENTED, "handle: ");
  ExpectStatus(Reduce(RegionRequest("r", 100)), StatusCode::NOT_FOUND, "memory.name: ");
  ExpectStatus(UnregisterRegion(regions(), "r"), StatusCode::NOT_FOUND, "name: ");
  EXPECT_TRUE(ListRegions(regions()).empty());
}

class CudaMemoryTest : public RegionFixture {
 protected:
  static void SetUpTestSuite() { StartServer({"--max-cuda-memory-bytes=1GiB"}); }
};

// Whatever a client sends as a handle, on a server with a GPU or without.
TEST_F(CudaMemoryTest, HandlesThatAreNoneAreErrorsAndNoMore) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(client().stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.limits().max_cuda_memory_bytes(), 1 << 30);
  const bool has_gpu = info.backend() == "cuda";
  std::mt19937 random(20261121);
  for (int i = 0; i < 20; ++i) {
    std::string handle(i < 2 ? 63 + 2 * static_cast<std::size_t>(i) : 64, '\0');
    if (i > 2)
      std::generate(handle.begin(), handle.end(), [&] { return static_cast<char>(random()); });
    ExpectStatus(RegisterCuda(regions(), "r", handle, 0, 400),
                 has_gpu ? StatusCode::INVALID_ARGUMENT : StatusCode::UNIMPLEMENTED,
                 has_gpu ? "handle: " : "device_ordinal: ");
  }
  ExpectStatus(RegisterCuda(regions(), "r", std::string(64, '\0'), 99, 400),
               StatusCode::INVALID_ARGUMENT, "device_ordinal: ");
  EXPECT_TRUE(ListRegions(regions()).empty());
}

}  // namespace
}  // namespace warpfold::e2e
