// The whole server in this process with three devices: tensors that lie split over them, from the
// upload to the answer.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"
#include "tests/server/faulty_device.h"
#include "warpfold/v1/reduction.grpc.pb.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

class SplitServerTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRows = 96;
  static constexpr std::int64_t kColumns = 1024;
  static constexpr std::int64_t kBytes = kRows * kColumns * 4;

  void SetUp() override {
    Config config;
    config.listen_address = "127.0.0.1:0";
    config.metrics_address = "none";
    config.workers_per_device = 2;
    config.split_bytes_min = kBytes;
    Devices devices;
    for (const char* name : {"cuda:0", "cuda:1", "cuda:2"}) {
      auto device = std::make_unique<FaultyDevice>(name);
      faulty_.push_back(device.get());
      devices.executors.push_back(std::move(device));
    }
    auto server = Server::Start(
        config, log_, [] {}, std::move(devices));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->MakeReady().ok());
    const auto channel = ConnectTo(server_->grpc_port());
    reductions_ = v1::ReductionService::NewStub(channel);
    tensors_ = v1::TensorService::NewStub(channel);
    std::vector<float> elements;
    for (int i = 0; i < kRows * kColumns; ++i) {
      elements.push_back(1.0F / static_cast<float>(1 + i % 4099));
    }
    data_.assign(reinterpret_cast<const char*>(elements.data()), kBytes);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Drain();
  }

  static void Describe(v1::TensorSpec* tensor) {
    tensor->set_dtype(v1::DTYPE_F32);
    tensor->add_shape(kRows);
    tensor->add_shape(kColumns);
  }
  std::string Create() {
    grpc::ClientContext context;
    v1::CreateTensorRequest request;
    Describe(request.mutable_tensor());
    v1::CreateTensorResponse response;
    const grpc::Status status = tensors_->CreateTensor(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.tensor_id();
  }
  grpc::Status Write(const std::string& id, std::int64_t offset, std::int64_t size) {
    grpc::ClientContext context;
    v1::WriteTensorResponse response;
    const auto writer = tensors_->WriteTensor(&context, &response);
    v1::WriteTensorRequest message;
    message.mutable_header()->set_tensor_id(id);
    message.mutable_header()->set_offset_bytes(offset);
    message.mutable_header()->set_size_bytes(size);
    writer->Write(message);
    constexpr std::int64_t kChunk = 50'001;  // no chunk ends where a shard does
    for (std::int64_t at = 0; at < size; at += kChunk) {
      message.set_chunk(data_.substr(static_cast<std::size_t>(offset + at),
                                     static_cast<std::size_t>(std::min(kChunk, size - at))));
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  // By `id`, or, when that is empty, with the bytes.
  grpc::Status Reduce(const std::string& id, const std::vector<int>& axes,
                      v1::ReduceResponse* response, bool consume = false) {
    grpc::ClientContext context;
    v1::ReduceRequest request;
    for (const v1::Op op : {v1::OP_SUM, v1::OP_VAR, v1::OP_ARGMAX}) request.add_ops()->set_op(op);
    for (const int axis : axes) request.add_axes(axis);
    if (id.empty()) {
      Describe(ValuesOf(request).mutable_tensor());
      request.set_data(data_);
    } else {
      ValuesOf(request).set_tensor_id(id);
      request.set_consume(consume);
    }
    return reductions_->Reduce(&context, request, response);
  }
  int TensorCount() {
    grpc::ClientContext context;
    v1::ListTensorsResponse response;
    EXPECT_TRUE(tensors_->ListTensors(&context, {}, &response).ok());
    for (const v1::ResidentTensor& tensor : response.tensors()) {
      EXPECT_EQ(tensor.device(), "cuda:0,cuda:1,cuda:2");
    }
    return response.tensors_size();
  }

  Log log_{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  std::vector<FaultyDevice*> faulty_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::ReductionService::Stub> reductions_;
  std::unique_ptr<v1::TensorService::Stub> tensors_;
  std::string data_;
};

TEST_F(SplitServerTest, ATensorOnAllDevicesAnswersAsItsBytesDo) {
  const std::string id = Create();
  // The second range begins before the first cut and ends behind the second.
  for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {kBytes - 70'000, kBytes}, {100'000, kBytes - 70'000}, {0, 100'000}}) {
    const grpc::Status written = Write(id, begin, end - begin);
    ASSERT_TRUE(written.ok()) << written.error_message();
  }
  EXPECT_EQ(TensorCount(), 1);
  for (const std::vector<int>& axes : std::vector<std::vector<int>>{{}, {0}, {1}}) {
    v1::ReduceResponse resident, sent;
    const grpc::Status status = Reduce(id, axes, &resident);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(Reduce("", axes, &sent).ok());
    EXPECT_EQ(resident.device(), "cuda:0,cuda:1,cuda:2");
    ASSERT_EQ(resident.results_size(), 3);
    for (int op = 0; op < 3; ++op) {
      EXPECT_EQ(resident.results(op).SerializeAsString(), sent.results(op).SerializeAsString());
    }
  }
  v1::ReduceResponse last;
  EXPECT_TRUE(Reduce(id, {}, &last, /*consume=*/true).ok());
  EXPECT_EQ(TensorCount(), 0);
}

TEST_F(SplitServerTest, ALostDeviceEndsTheTensorAndTheOthersTakeTheNext) {
  const std::string id = Create();
  ASSERT_TRUE(Write(id, 0, kBytes).ok());
  faulty_[1]->Lose();
  v1::ReduceResponse response;
  EXPECT_EQ(Reduce(id, {}, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reduce(id, {}, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  const std::string next = Create();
  ASSERT_TRUE(Write(next, 0, kBytes).ok());
  ASSERT_TRUE(Reduce(next, {}, &response).ok());
  EXPECT_EQ(response.device(), "cuda:0,cuda:2");
}

}  // namespace
}  // namespace warpfold
