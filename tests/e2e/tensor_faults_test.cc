// Writes of resident tensors that go wrong, and calls that meet: each ends with the status that
// tensor.proto names, and leaves nothing held.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/tensor_fixture.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

class TensorFaultsTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() { StartServer({"--workers-per-device=4"}); }

  // A write that has sent `header` and the first `sent` bytes, and is being served.
  struct OpenWrite {
    grpc::ClientContext context;
    v1::WriteTensorResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::WriteTensorRequest>> writer;

    grpc::Status Finish() {
      writer->WritesDone();
      return writer->Finish();
    }
  };
  std::unique_ptr<OpenWrite> BeginWrite(const std::string& id, std::int64_t offset,
                                        std::int64_t size, std::size_t sent) {
    auto write = std::make_unique<OpenWrite>();
    write->writer = tensors().WriteTensor(&write->context, &write->response);
    EXPECT_TRUE(write->writer->Write(WriteHeader(id, offset, size)));
    EXPECT_TRUE(write->writer->Write(WriteChunk(std::string(sent, '\0'))));
    ExpectMetric("warpfold_resident_leases{use=\"write\"}", static_cast<double>(++writes_));
    return write;
  }
  int writes_ = 0;
};

TEST_F(TensorFaultsTest, TwoWritersOnOneByteRange) {
  const std::string id = Create({100});
  const auto first = BeginWrite(id, 0, 200, 10);
  v1::WriteTensorResponse response;
  ExpectStatus(WriteTensor(tensors(), id, 199, Ones(1), &response), StatusCode::ABORTED,
               "offset_bytes: ");
  EXPECT_TRUE(WriteTensor(tensors(), id, 200, Ones(50), &response).ok());
  ASSERT_TRUE(first->writer->Write(WriteChunk(std::string(190, '\0'))));
  EXPECT_TRUE(first->Finish().ok());
  EXPECT_EQ(first->response.missing_bytes(), 0);
  EXPECT_TRUE(WriteTensor(tensors(), id, 0, Ones(100), &response).ok());
  EXPECT_EQ(Sum(id), 100.0F);
}

TEST_F(TensorFaultsTest, WritesPastTheEndAndOutOfRange) {
  const std::string id = Create({4});
  v1::WriteTensorResponse response;
  ExpectStatus(WriteTensor(tensors(), id, 12, Ones(2), &response), StatusCode::INVALID_ARGUMENT,
               "size_bytes: ");
  ExpectStatus(WriteTensor(tensors(), id, -4, Ones(1), &response), StatusCode::INVALID_ARGUMENT,
               "offset_bytes: ");
  ExpectStatus(WriteMessages(tensors(), {WriteHeader(id, 0, 0)}, &response),
               StatusCode::INVALID_ARGUMENT, "size_bytes: ");
  ExpectStatus(WriteMessages(tensors(), {WriteHeader(id, 0, 16), WriteChunk(Ones(5))}, &response),
               StatusCode::INVALID_ARGUMENT, "chunk: ");
  ExpectStatus(WriteMessages(tensors(), {WriteHeader(id, 0, 16), WriteChunk(Ones(3))}, &response),
               StatusCode::INVALID_ARGUMENT, "chunk: ");
  EXPECT_EQ(ReduceCode(id), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(WriteTensor(tensors(), id, 0, Ones(4), &response).ok());
  EXPECT_EQ(Sum(id), 4.0F);
}

TEST_F(TensorFaultsTest, StreamsThatAreNoWrites) {
  const std::string id = Create({4});
  const v1::WriteTensorRequest header = WriteHeader(id, 0, 16);
  v1::WriteTensorResponse response;
  ExpectStatus(WriteMessages(tensors(), {}, &response), StatusCode::INVALID_ARGUMENT, "header: ");
  ExpectStatus(WriteMessages(tensors(), {WriteChunk(Ones(4))}, &response),
               StatusCode::INVALID_ARGUMENT, "header: ");
  ExpectStatus(WriteMessages(tensors(), {header, WriteChunk(Ones(2)), header}, &response),
               StatusCode::INVALID_ARGUMENT, "header: ");
  ExpectStatus(WriteMessages(tensors(), {header, {}}, &response), StatusCode::INVALID_ARGUMENT,
               "chunk: ");
  const RawReply reply =
      RawCall(client().channel(), "/warpfold.v1.TensorService/WriteTensor", "\xff\xff");
  ExpectStatus(reply.status, StatusCode::INVALID_ARGUMENT, "message: ");
}

TEST_F(TensorFaultsTest, AReductionWhileItIsWritten) {
  const std::string id = CreateOnes(100);
  const auto write = BeginWrite(id, 40, 40, 10);
  EXPECT_EQ(ReduceCode(id), StatusCode::FAILED_PRECONDITION);
  ASSERT_TRUE(write->writer->Write(WriteChunk(std::string(30, '\0'))));
  EXPECT_TRUE(write->Finish().ok());
  EXPECT_EQ(Sum(id), 90.0F);
}

TEST_F(TensorFaultsTest, AClientThatGoesInMidUploadLeavesItsRangeNotWritten) {
  const std::string id = CreateOnes(100);
  const auto write = BeginWrite(id, 0, 400, 100);
  write->context.TryCancel();
  EXPECT_EQ(write->writer->Finish().error_code(), StatusCode::CANCELLED);
  ExpectMetric("warpfold_resident_leases{use=\"write\"}", 0);
  ASSERT_EQ(ListTensors(tensors()).size(), 1U);
  EXPECT_EQ(ListTensors(tensors())[0].missing_bytes(), 400);
  v1::WriteTensorResponse response;
  EXPECT_TRUE(WriteTensor(tensors(), id, 0, Ones(100), &response).ok());
  EXPECT_EQ(Sum(id), 100.0F);
}

TEST_F(TensorFaultsTest, ADeadlineInMidUpload) {
  const std::string id = Create({100});
  auto write = std::make_unique<OpenWrite>();
  write->context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  write->writer = tensors().WriteTensor(&write->context, &write->response);
  ASSERT_TRUE(write->writer->Write(WriteHeader(id, 0, 400)));
  EXPECT_EQ(write->writer->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  ExpectMetric("warpfold_resident_leases{use=\"write\"}", 0);
}

TEST_F(TensorFaultsTest, ADeleteInMidUploadEndsTheWriteAndThenTheTensor) {
  const std::string id = Create({100});
  const auto write = BeginWrite(id, 0, 400, 100);
  EXPECT_TRUE(DeleteTensor(tensors(), id).ok());
  EXPECT_TRUE(ListTensors(tensors()).empty());
  ExpectMetric("warpfold_resident_bytes{state=\"ending\"}", 400);
  write->writer->Write(WriteChunk(std::string(300, '\0')));
  ExpectStatus(write->Finish(), StatusCode::NOT_FOUND, "tensor_id: ");
  ExpectMetric("warpfold_resident_bytes{state=\"ending\"}", 0);
}

TEST_F(TensorFaultsTest, ReductionsWritesAndDeletesAtTheSameTimeEndAsDocumented) {
  const std::string shared = CreateOnes(1 << 20);
  std::atomic<int> reduced{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Client own(server());
      const auto stub = MakeStub(own);
      for (int i = 0; i < 20; ++i) {
        v1::ReduceResponse answer;
        const grpc::Status status = own.Reduce(ResidentRequest(shared), &answer);
        if (status.ok()) {
          ++reduced;
          EXPECT_EQ(FirstFloat(answer), static_cast<float>(1 << 20));
        }
        EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::FAILED_PRECONDITION)
            << status.error_message();
        v1::WriteTensorResponse written;
        const grpc::Status write = WriteTensor(*stub, shared, t * 4096, Ones(1024), &written);
        EXPECT_TRUE(write.ok() || write.error_code() == StatusCode::ABORTED)
            << write.error_message();
        std::string id;
        ASSERT_TRUE(CreateTensor(*stub, F32Spec({1024}), &id).ok());
        ASSERT_TRUE(WriteTensor(*stub, id, 0, Ones(1024), &written).ok());
        std::jthread deleter([&] { EXPECT_TRUE(DeleteTensor(*stub, id).ok()); });
        const StatusCode code = own.Reduce(ResidentRequest(id), &answer).error_code();
        EXPECT_TRUE(code == StatusCode::OK || code == StatusCode::NOT_FOUND) << code;
        if (code == StatusCode::OK) {
          EXPECT_EQ(FirstFloat(answer), 1024.0F);
        }
      }
    });
  }
  threads.clear();
  EXPECT_GT(reduced, 0);
  EXPECT_EQ(Sum(shared), static_cast<float>(1 << 20));
}

class TensorIdleTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() { StartServer({"--stream-idle-timeout-ms=100"}); }
};

TEST_F(TensorIdleTest, AWriteThatFallsSilentIsEnded) {
  const std::string id = Create({100});
  grpc::ClientContext context;
  v1::WriteTensorResponse response;
  const auto writer = tensors().WriteTensor(&context, &response);
  ASSERT_TRUE(writer->Write(WriteHeader(id, 0, 400)));
  ExpectStatus(writer->Finish(), StatusCode::DEADLINE_EXCEEDED, "chunk: ");
}

class TensorOffTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() { StartServer({"--max-resident-bytes=0"}); }
};

TEST_F(TensorOffTest, AServerWithoutResidentMemoryNeverFitsATensor) {
  std::string id;
  const grpc::Status status = CreateTensor(tensors(), F32Spec({1}), &id);
  ExpectStatus(status, StatusCode::RESOURCE_EXHAUSTED, "tensor: ");
  EXPECT_TRUE(status.error_details().empty());
}

}  // namespace
}  // namespace warpfold::e2e
