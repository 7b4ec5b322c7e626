// Resident tensors: upload in parts, reduce often, and everything that can go wrong in between.
// After every test nothing is resident and nothing is held.
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/contract/values_of.h"
#include "tests/e2e/tensor_fixture.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

constexpr std::int64_t kQuota = 64 << 20;

class TensorTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--workers-per-device=4", "--max-resident-bytes=64MiB",
                 "--max-resident-tensor-bytes=48MiB", "--max-resident-tensors=4"});
  }
};

TEST_F(TensorTest, ATensorIsUploadedOnceAndReducedOftenWithTheSameBits) {
  const std::int64_t count = 3'000'000;
  const std::string id = Create({3, 1'000'000});
  std::vector<float> elements(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = std::sin(static_cast<float>(i)) * 1e3F;
  }
  const std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * 4);
  // Two halves over two connections at the same time, cut in the middle of an element.
  const std::size_t cut = bytes.size() / 2 + 1;
  Client other(server());
  const auto other_tensors = MakeStub(other);
  grpc::Status first;
  grpc::Status second;
  {
    std::jthread sender([&] {
      v1::WriteTensorResponse response;
      first = WriteTensor(tensors(), id, 0, bytes.substr(0, cut), &response);
    });
    v1::WriteTensorResponse response;
    second = WriteTensor(*other_tensors, id, static_cast<std::int64_t>(cut), bytes.substr(cut),
                         &response);
  }
  ASSERT_TRUE(first.ok()) << first.error_message();
  ASSERT_TRUE(second.ok()) << second.error_message();

  v1::ReduceRequest request = ResidentRequest(id);
  request.add_ops()->set_op(v1::OP_VAR);
  request.add_axes(1);
  v1::ReduceRequest sent = request;
  ValuesOf(sent).clear_tensor_id();
  *ValuesOf(sent).mutable_tensor() = F32Spec({3, 1'000'000});
  sent.set_data(bytes);
  v1::ReduceResponse expected;
  ASSERT_TRUE(client().Reduce(sent, &expected).ok());
  for (int i = 0; i < 3; ++i) {
    v1::ReduceResponse response;
    const grpc::Status status = other.Reduce(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.results_size(), 2);
    for (int op = 0; op < 2; ++op) {
      EXPECT_EQ(response.results(op).data(), expected.results(op).data());
      EXPECT_EQ(response.results(op).tensor().shape(0), 3);
    }
    EXPECT_EQ(response.timing().receive_ns(), 0);
    EXPECT_EQ(response.timing().host_to_device_ns(), 0);
  }
  const std::vector<v1::ResidentTensor> list = ListTensors(tensors());
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].tensor_id(), id);
  EXPECT_EQ(list[0].size_bytes(), count * 4);
  EXPECT_EQ(list[0].missing_bytes(), 0);
  EXPECT_EQ(list[0].reductions() + list[0].writes(), 0);
  EXPECT_EQ(list[0].ttl_ms(), 600'000);
  ExpectMetric("warpfold_resident_bytes{state=\"complete\"}", static_cast<double>(count * 4));
}

TEST_F(TensorTest, ReduceManyTakesTensorsBesideData) {
  const std::string id = CreateOnes(1000);
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  for (const char* name : {"resident", "sent", "unknown", "resident too"}) {
    v1::ReduceRequest request = std::string(name) == "sent" ? F32Ones(1000) : ResidentRequest(id);
    if (std::string(name) == "unknown") ValuesOf(request).set_tensor_id("unknown");
    request.set_request_id(name);
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::ReduceManyResponse response;
  int answers = 0;
  while (stream->Read(&response)) {
    ++answers;
    if (response.request_id() == "unknown") {
      EXPECT_EQ(response.status().code(), StatusCode::NOT_FOUND);
      continue;
    }
    float sum = 0;
    ASSERT_EQ(response.response().results_size(), 1) << response.status().message();
    std::memcpy(&sum, response.response().results(0).data().data(), sizeof(sum));
    EXPECT_EQ(sum, 1000.0F) << response.request_id();
  }
  EXPECT_EQ(answers, 4);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TensorTest, TheRequestsTensorMayBeAbsentOrMustAgree) {
  const std::string id = CreateOnes(6);
  v1::ReduceRequest request = ResidentRequest(id);
  v1::ReduceResponse response;
  *ValuesOf(request).mutable_tensor() = F32Spec({6});
  EXPECT_TRUE(client().Reduce(request, &response).ok());
  *ValuesOf(request).mutable_tensor() = F32Spec({2, 3});
  ExpectStatus(client().Reduce(request, &response), StatusCode::INVALID_ARGUMENT, "tensor: ");
  *ValuesOf(request).mutable_tensor() = F32Spec({6});
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I32);
  ExpectStatus(client().Reduce(request, &response), StatusCode::INVALID_ARGUMENT, "tensor: ");
}

TEST_F(TensorTest, ATensorWithoutElementsNeedsNoUpload) {
  const std::string id = Create({0});
  EXPECT_EQ(Sum(id), 0.0F);
}

TEST_F(TensorTest, AnUploadThatIsIncompleteIsNotReduced) {
  const std::string id = Create({4});
  v1::WriteTensorResponse response;
  ASSERT_TRUE(WriteTensor(tensors(), id, 4, Ones(2), &response).ok());
  EXPECT_EQ(response.missing_bytes(), 8);
  v1::ReduceResponse answer;
  ExpectStatus(client().Reduce(ResidentRequest(id), &answer), StatusCode::FAILED_PRECONDITION,
               "tensor_id: 8 of the tensor's 16 bytes");
  ASSERT_TRUE(WriteTensor(tensors(), id, 0, Ones(1), &response).ok());
  ASSERT_TRUE(WriteTensor(tensors(), id, 12, Ones(1), &response).ok());
  EXPECT_EQ(Sum(id), 4.0F);
}

TEST_F(TensorTest, ConsumeFreesTheTensorAfterTheAnswerAndKeepsItAfterAFailure) {
  const std::string id = CreateOnes(10);
  v1::ReduceRequest request = ResidentRequest(id);
  request.set_consume(true);
  request.add_axes(7);
  v1::ReduceResponse response;
  ExpectStatus(client().Reduce(request, &response), StatusCode::INVALID_ARGUMENT, "axes: ");
  request.clear_axes();
  ASSERT_TRUE(client().Reduce(request, &response).ok());
  ExpectMetric("warpfold_resident_bytes{state=\"complete\"}", 0);
  ExpectStatus(client().Reduce(request, &response), StatusCode::NOT_FOUND, "tensor_id: ");
  v1::ReduceRequest sent = F32Ones(10);
  sent.set_consume(true);
  ExpectStatus(client().Reduce(sent, &response), StatusCode::INVALID_ARGUMENT, "consume: ");
}

TEST_F(TensorTest, ASumThatDoesNotFitKeepsAConsumedTensor) {
  v1::TensorSpec spec = F32Spec({2});
  spec.set_dtype(v1::DTYPE_I64);
  std::string id;
  ASSERT_TRUE(CreateTensor(tensors(), spec, &id).ok());
  v1::WriteTensorResponse response;
  ASSERT_TRUE(WriteTensor(tensors(), id, 0,
                          std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) +
                              std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
                          &response)
                  .ok());
  v1::ReduceRequest request = ResidentRequest(id);
  request.set_consume(true);
  v1::ReduceResponse answer;
  EXPECT_EQ(client().Reduce(request, &answer).error_code(), StatusCode::OUT_OF_RANGE);
  request.mutable_ops(0)->set_op(v1::OP_MAX);
  EXPECT_TRUE(client().Reduce(request, &answer).ok());
  EXPECT_EQ(ReduceCode(id), StatusCode::NOT_FOUND);
}

TEST_F(TensorTest, ADeletedTensorIsNotFoundByAnyCall) {
  const std::string id = CreateOnes(10);
  EXPECT_TRUE(DeleteTensor(tensors(), id).ok());
  ExpectStatus(DeleteTensor(tensors(), id), StatusCode::NOT_FOUND, "tensor_id: ");
  EXPECT_EQ(ReduceCode(id), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReduceCode(""), StatusCode::NOT_FOUND);
  v1::WriteTensorResponse response;
  ExpectStatus(WriteTensor(tensors(), id, 0, Ones(1), &response), StatusCode::NOT_FOUND,
               "tensor_id: ");
}

TEST_F(TensorTest, ATensorThatNobodyUsesExpires) {
  const std::string id = Create({1}, /*ttl_ms=*/1);
  // Not even asked for: the sweep alone gives it back.
  ExpectMetric("warpfold_resident_tensors{state=\"incomplete\"}", 0);
  EXPECT_EQ(ReduceCode(id), StatusCode::NOT_FOUND);
}

TEST_F(TensorTest, CreateTensorSaysWhatIsWrong) {
  std::string id;
  ExpectStatus(CreateTensor(tensors(), F32Spec({-1}), &id), StatusCode::INVALID_ARGUMENT,
               "tensor.shape: ");
  ExpectStatus(CreateTensor(tensors(), {}, &id), StatusCode::INVALID_ARGUMENT, "tensor.dtype: ");
  ExpectStatus(CreateTensor(tensors(), F32Spec({1}), &id, -1), StatusCode::INVALID_ARGUMENT,
               "ttl_ms: ");
  ExpectStatus(CreateTensor(tensors(), F32Spec({1}), &id, 86'400'001), StatusCode::INVALID_ARGUMENT,
               "ttl_ms: ");
  grpc::ClientContext context;
  v1::CreateTensorResponse response;
  ExpectStatus(tensors().CreateTensor(&context, {}, &response), StatusCode::INVALID_ARGUMENT,
               "tensor: ");
}

TEST_F(TensorTest, AFullQuotaSaysWhenToTryAgainAndATooLargeTensorThatItNeverFits) {
  const std::string held = Create({40 << 18});  // 40 MiB of 64
  std::string id;
  grpc::Status status = CreateTensor(tensors(), F32Spec({40 << 18}), &id);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_FALSE(status.error_details().empty()) << "no delay";
  status = CreateTensor(tensors(), F32Spec({49 << 18}), &id);
  ExpectStatus(status, StatusCode::RESOURCE_EXHAUSTED, "tensor: ");
  EXPECT_TRUE(status.error_details().empty()) << "a delay, but it never fits";
  for (int i = 0; i < 3; ++i) Create({1});
  status = CreateTensor(tensors(), F32Spec({1}), &id);  // the fifth
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(DeleteTensor(tensors(), held).ok());
  Create({40 << 18});
}

TEST_F(TensorTest, LimitsTellOfResidentTensors) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(client().stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.limits().max_resident_bytes(), kQuota);
  EXPECT_EQ(info.limits().max_resident_tensor_bytes(), 48 << 20);
  EXPECT_EQ(info.limits().max_resident_tensors(), 4);
  EXPECT_EQ(info.limits().resident_ttl_ms(), 600'000);
  EXPECT_EQ(info.limits().max_resident_ttl_ms(), 86'400'000);
  EXPECT_EQ(info.limits().max_tensor_pieces(), 4096);
}

}  // namespace
}  // namespace warpfold::e2e
