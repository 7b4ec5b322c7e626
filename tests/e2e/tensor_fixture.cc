#include "tests/e2e/tensor_fixture.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "tests/contract/values_of.h"

namespace warpfold::e2e {
namespace {

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

}  // namespace

v1::TensorSpec F32Spec(const std::vector<std::int64_t>& shape) {
  return F32Request(shape).sources(0).tensor();
}

grpc::Status CreateTensor(TensorStub& stub, const v1::TensorSpec& spec, std::string* id,
                          std::int64_t ttl_ms) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CreateTensorRequest request;
  *request.mutable_tensor() = spec;
  request.set_ttl_ms(ttl_ms);
  v1::CreateTensorResponse response;
  grpc::Status status = stub.CreateTensor(&context, request, &response);
  *id = response.tensor_id();
  return status;
}

v1::WriteTensorRequest WriteHeader(const std::string& id, std::int64_t offset, std::int64_t size) {
  v1::WriteTensorRequest message;
  message.mutable_header()->set_tensor_id(id);
  message.mutable_header()->set_offset_bytes(offset);
  message.mutable_header()->set_size_bytes(size);
  return message;
}

v1::WriteTensorRequest WriteChunk(std::string bytes) {
  v1::WriteTensorRequest message;
  message.set_chunk(std::move(bytes));
  return message;
}

grpc::Status WriteMessages(TensorStub& stub, const std::vector<v1::WriteTensorRequest>& messages,
                           v1::WriteTensorResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto writer = stub.WriteTensor(&context, response);
  for (const v1::WriteTensorRequest& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status WriteTensor(TensorStub& stub, const std::string& id, std::int64_t offset,
                         const std::string& bytes, v1::WriteTensorResponse* response) {
  constexpr std::size_t kChunkBytes = 256 << 10;
  std::vector<v1::WriteTensorRequest> messages{
      WriteHeader(id, offset, static_cast<std::int64_t>(bytes.size()))};
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    messages.push_back(WriteChunk(bytes.substr(at, kChunkBytes)));
  }
  return WriteMessages(stub, messages, response);
}

grpc::Status DeleteTensor(TensorStub& stub, const std::string& id) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::DeleteTensorRequest request;
  request.set_tensor_id(id);
  v1::DeleteTensorResponse response;
  return stub.DeleteTensor(&context, request, &response);
}

std::vector<v1::ResidentTensor> ListTensors(TensorStub& stub) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListTensorsResponse response;
  const grpc::Status status = stub.ListTensors(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.tensors().begin(), response.tensors().end()};
}

v1::ReduceRequest ResidentRequest(const std::string& id, v1::Op op) {
  v1::ReduceRequest request;
  request.add_ops()->set_op(op);
  ValuesOf(request).set_tensor_id(id);
  return request;
}

void TensorFixture::SetUp() {
  ServedTest::SetUp();
  tensors_ = MakeStub(client());
}

void TensorFixture::TearDown() {
  for (const v1::ResidentTensor& tensor : ListTensors(*tensors_)) {
    EXPECT_TRUE(DeleteTensor(*tensors_, tensor.tensor_id()).ok());
  }
  for (const char* state : {"incomplete", "complete", "ending"}) {
    ExpectMetric(std::string("warpfold_resident_bytes{state=\"") + state + "\"}", 0);
    ExpectMetric(std::string("warpfold_resident_tensors{state=\"") + state + "\"}", 0);
  }
  ExpectMetric("warpfold_resident_leases{use=\"reduction\"}", 0);
  ExpectMetric("warpfold_resident_leases{use=\"write\"}", 0);
  ServedTest::TearDown();
}

std::unique_ptr<TensorStub> TensorFixture::MakeStub(Client& client) {
  return v1::TensorService::NewStub(
      std::shared_ptr<grpc::Channel>(&client.channel(), [](grpc::Channel*) {}));
}

void TensorFixture::ExpectMetric(const std::string& series, double value) {
  EXPECT_EQ(AwaitMetric(server().metrics_port(), series, value), value) << series;
}

void TensorFixture::ExpectStatus(const grpc::Status& status, grpc::StatusCode code,
                                 const std::string& field) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(status.error_message().rfind(field, 0), 0U) << status.error_message();
}

std::string TensorFixture::Create(const std::vector<std::int64_t>& shape, std::int64_t ttl_ms) {
  std::string id;
  const grpc::Status status = CreateTensor(*tensors_, F32Spec(shape), &id, ttl_ms);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return id;
}

std::string TensorFixture::CreateOnes(std::int64_t count) {
  std::string id = Create({count});
  v1::WriteTensorResponse response;
  const grpc::Status status = WriteTensor(*tensors_, id, 0, Ones(count), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.missing_bytes(), 0);
  return id;
}

float TensorFixture::Sum(const std::string& id) {
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(ResidentRequest(id), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  float sum = std::nanf("");
  if (status.ok()) std::memcpy(&sum, response.results(0).data().data(), sizeof(sum));
  return sum;
}

grpc::StatusCode TensorFixture::ReduceCode(const std::string& id) {
  v1::ReduceResponse response;
  return client().Reduce(ResidentRequest(id), &response).error_code();
}

}  // namespace warpfold::e2e
