#include "tests/e2e/region_fixture.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "tests/contract/values_of.h"

namespace warpfold::e2e {
namespace {

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

}  // namespace

grpc::Status RegisterSegment(v1::TensorService::Stub& stub, const std::string& name,
                             const std::string& key, std::int64_t offset, std::int64_t size) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::RegisterSharedMemoryRequest request;
  request.set_name(name);
  request.set_key(key);
  request.set_offset_bytes(offset);
  request.set_size_bytes(size);
  v1::RegisterSharedMemoryResponse response;
  return stub.RegisterSharedMemory(&context, request, &response);
}

grpc::Status RegisterCuda(v1::TensorService::Stub& stub, const std::string& name,
                          const std::string& handle, std::int64_t ordinal, std::int64_t size) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::RegisterCudaMemoryRequest request;
  request.set_name(name);
  request.set_handle(handle);
  request.set_device_ordinal(ordinal);
  request.set_size_bytes(size);
  v1::RegisterCudaMemoryResponse response;
  return stub.RegisterCudaMemory(&context, request, &response);
}

grpc::Status UnregisterRegion(v1::TensorService::Stub& stub, const std::string& name) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::UnregisterMemoryRequest request;
  request.set_name(name);
  v1::UnregisterMemoryResponse response;
  return stub.UnregisterMemory(&context, request, &response);
}

std::vector<v1::MemoryRegion> ListRegions(v1::TensorService::Stub& stub) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListMemoryResponse response;
  const grpc::Status status = stub.ListMemory(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.regions().begin(), response.regions().end()};
}

v1::ReduceRequest RegionRequest(const std::string& region, std::int64_t count,
                                std::int64_t offset) {
  v1::ReduceRequest request = F32Request({count});
  ValuesOf(request).mutable_memory()->set_name(region);
  ValuesOf(request).mutable_memory()->set_offset_bytes(offset);
  ValuesOf(request).mutable_memory()->set_size_bytes(count * 4);
  return request;
}

void RegionFixture::SetUp() {
  ServedTest::SetUp();
  regions_ = MakeStub(client());
}

void RegionFixture::TearDown() {
  for (const v1::MemoryRegion& region : ListRegions(*regions_)) {
    EXPECT_TRUE(UnregisterRegion(*regions_, region.name()).ok());
  }
  for (const char* kind : {"system", "cuda"}) {
    ExpectMetric(std::string("warpfold_shared_memory_regions{kind=\"") + kind + "\"}", 0);
    ExpectMetric(std::string("warpfold_shared_memory_bytes{kind=\"") + kind + "\"}", 0);
  }
  ServedTest::TearDown();
}

std::unique_ptr<v1::TensorService::Stub> RegionFixture::MakeStub(Client& client) {
  return v1::TensorService::NewStub(
      std::shared_ptr<grpc::Channel>(&client.channel(), [](grpc::Channel*) {}));
}

void RegionFixture::ExpectStatus(const grpc::Status& status, grpc::StatusCode code,
                                 const std::string& field) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(status.error_message().rfind(field, 0), 0U) << status.error_message();
}

void RegionFixture::ExpectMetric(const std::string& series, double value) {
  EXPECT_EQ(AwaitMetric(server().metrics_port(), series, value), value) << series;
}

void RegionFixture::Register(const std::string& name, const ShmSegment& segment,
                             std::int64_t size) {
  const grpc::Status status = RegisterSegment(*regions_, name, segment.key(), 0, size);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

grpc::Status RegionFixture::Reduce(const v1::ReduceRequest& request) {
  v1::ReduceResponse response;
  return client().Reduce(request, &response);
}

float RegionFixture::Sum(const std::string& region, std::int64_t count, std::int64_t offset) {
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(RegionRequest(region, count, offset), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  float sum = std::nanf("");
  if (status.ok()) std::memcpy(&sum, response.results(0).data().data(), sizeof(sum));
  return sum;
}

}  // namespace warpfold::e2e
