// Resident tensors under calls that wait, are refused or go away: every lease comes back, and each
// tensor ends when its last use does.
#include "tests/contract/values_of.h"
#include "tests/server/frontend_fixture.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

using grpc::StatusCode;

class ResidentTest : public FrontendTest {
 protected:
  void SetUp() override {
    FrontendTest::SetUp();
    tensor_stub_ = v1::TensorService::NewStub(channel_);
  }
  void TearDown() override {
    FrontendTest::TearDown();
    const TensorTableState state = tensors_->state();
    EXPECT_EQ(state.reductions, 0);
    EXPECT_EQ(state.writes, 0);
    EXPECT_EQ(state.ending.count, 0);
  }

  // A complete tensor of one i64. The gated worker lets writes through.
  std::string CreateWhole() {
    const std::string id = tensors_->Create({}, {DType::kI64, {1}, 8}, {})->id;
    EXPECT_EQ(*tensors_->Write(Everyone(), id, 0, 8)->Commit(), 0);
    return id;
  }
  static v1::ReduceRequest Resident(const std::string& id, bool consume = false) {
    v1::ReduceRequest request;
    request.add_ops()->set_op(v1::OP_SUM);
    ValuesOf(request).set_tensor_id(id);
    request.set_consume(consume);
    return request;
  }
  void Begin(Call& call) {
    stub_->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
  }
  StatusCode Delete(const std::string& id) {
    grpc::ClientContext context;
    v1::DeleteTensorRequest request;
    request.set_tensor_id(id);
    v1::DeleteTensorResponse response;
    return tensor_stub_->DeleteTensor(&context, request, &response).error_code();
  }

  std::unique_ptr<v1::TensorService::Stub> tensor_stub_;
};

TEST_F(ResidentTest, ADeleteWhileReducingLetsTheReductionEnd) {
  Call running;
  running.request = Resident(CreateWhole());
  Begin(running);
  device_->AwaitBegun();
  EXPECT_EQ(Delete(running.request.sources(0).tensor_id()), StatusCode::OK);
  EXPECT_EQ(Delete(running.request.sources(0).tensor_id()), StatusCode::NOT_FOUND);
  EXPECT_EQ(tensors_->state().ending.bytes, 8);
  device_->Open();
  running.done.WaitForNotification();
  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
  EXPECT_EQ(tensors_->state().ending.bytes, 0) << "freed before the answer left";
}

TEST_F(ResidentTest, ATensorThatIsReducedIsNotWritten) {
  Call running;
  running.request = Resident(CreateWhole());
  Begin(running);
  device_->AwaitBegun();
  grpc::ClientContext context;
  v1::WriteTensorResponse response;
  const auto writer = tensor_stub_->WriteTensor(&context, &response);
  v1::WriteTensorRequest message;
  message.mutable_header()->set_tensor_id(running.request.sources(0).tensor_id());
  message.mutable_header()->set_size_bytes(8);
  writer->Write(message);
  const grpc::Status status = writer->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::ABORTED) << status.error_message();
  device_->Open();
  running.done.WaitForNotification();
  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
}

TEST_F(ResidentTest, AQueuedWriteWhoseTensorEndsNeverBegins) {
  Call running;
  running.request = Request();
  Begin(running);
  device_->AwaitBegun();
  const std::string id = tensors_->Create({}, {DType::kI64, {1}, 8}, {})->id;
  grpc::ClientContext context;
  v1::WriteTensorResponse response;
  const auto writer = tensor_stub_->WriteTensor(&context, &response);
  v1::WriteTensorRequest message;
  message.mutable_header()->set_tensor_id(id);
  message.mutable_header()->set_size_bytes(8);
  writer->Write(message);
  message.set_chunk(std::string(8, '\1'));
  writer->Write(message);
  writer->WritesDone();
  AwaitInFlight(2);
  EXPECT_EQ(Delete(id), StatusCode::OK);
  device_->Open();
  const grpc::Status status = writer->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND) << status.error_message();
  EXPECT_EQ(status.error_message(), "tensor_id: the tensor has ended");
  EXPECT_EQ(device_->writes(), 0);
  running.done.WaitForNotification();
  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
}

TEST_F(ResidentTest, QueuedReductionsThatAreCancelledOrRefusedGiveTheirLeasesBack) {
  const std::string id = CreateWhole();
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>());
    calls.back()->request = Resident(id, /*consume=*/true);
    Begin(*calls.back());
    AwaitInFlight(i + 1);
    if (i == 0) device_->AwaitBegun();
  }
  Call refused;
  refused.request = Resident(id, /*consume=*/true);
  refused.status = stub_->Reduce(&refused.context, refused.request, &refused.response);
  EXPECT_EQ(refused.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(tensors_->state().reductions, 3);
  calls[1]->context.TryCancel();
  calls[2]->context.TryCancel();
  AwaitInFlight(1);
  EXPECT_EQ(tensors_->state().reductions, 1);
  EXPECT_EQ(tensors_->state().complete.count, 1) << "none of them has consumed it";
  device_->Open();
  for (const auto& call : calls) call->done.WaitForNotification();
  EXPECT_TRUE(calls[0]->status.ok()) << calls[0]->status.error_message();
  EXPECT_EQ(tensors_->state().complete.count, 0);
}

// The device's memory is taken on a worker's thread: for that a CreateTensor waits as all work
// does.
TEST_F(ResidentTest, ATensorIsMadeWhenAWorkerIsFreeAndNotForAClientThatHasGone) {
  Call running;
  running.request = Request();
  Begin(running);
  device_->AwaitBegun();
  struct Creation {
    grpc::ClientContext context;
    v1::CreateTensorResponse response;
    grpc::Status status;
    absl::Notification done;
  };
  v1::CreateTensorRequest request;
  request.mutable_tensor()->set_dtype(v1::DTYPE_U8);
  request.mutable_tensor()->add_shape(100);
  Creation creations[2];
  for (Creation& creation : creations) {
    tensor_stub_->async()->CreateTensor(&creation.context, &request, &creation.response,
                                        [&creation](grpc::Status status) {
                                          creation.status = std::move(status);
                                          creation.done.Notify();
                                        });
  }
  AwaitInFlight(3);
  creations[1].context.TryCancel();
  creations[1].done.WaitForNotification();
  EXPECT_EQ(creations[1].status.error_code(), StatusCode::CANCELLED);
  AwaitInFlight(2);
  EXPECT_EQ(tensors_->state().incomplete.count, 0);
  device_->Open();
  creations[0].done.WaitForNotification();
  EXPECT_TRUE(creations[0].status.ok()) << creations[0].status.error_message();
  EXPECT_EQ(tensors_->state().incomplete.count, 1);
  EXPECT_EQ(Delete(creations[0].response.tensor_id()), StatusCode::OK);
  running.done.WaitForNotification();
}

TEST_F(ResidentTest, ADrainingServerTakesNoTensorIn) {
  admission_.Close();
  grpc::ClientContext context;
  v1::CreateTensorRequest request;
  request.mutable_tensor()->set_dtype(v1::DTYPE_U8);
  v1::CreateTensorResponse response;
  EXPECT_EQ(tensor_stub_->CreateTensor(&context, request, &response).error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(tensors_->state().incomplete.count, 0);
}

}  // namespace
}  // namespace warpfold
