// Clients that go, or whose deadline passes, while a device works for them: they hear of it at
// once, the worker and all that is held come back when the device lets go, and the next is served.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "tests/contract/values_of.h"
#include "tests/server/frontend_fixture.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

using grpc::StatusCode;

// How a client goes.
enum class Way { kCancels, kDeadline };

class GoneClientTest : public FrontendTest, public testing::WithParamInterface<Way> {
 protected:
  // Prepares `call` to end in the way of the test.
  static void Prepare(grpc::ClientContext& context) {
    if (GetParam() == Way::kCancels) return;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(1000));
  }
  static StatusCode Go(grpc::ClientContext& context) {
    if (GetParam() == Way::kDeadline) return StatusCode::DEADLINE_EXCEEDED;
    context.TryCancel();
    return StatusCode::CANCELLED;
  }

  // A Reduce that goes once its worker has begun.
  void ExpectGoes(const v1::ReduceRequest& request) {
    Call call;
    call.request = request;
    Prepare(call.context);
    stub_->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
    device_->AwaitBegun();
    const StatusCode code = Go(call.context);
    call.done.WaitForNotification();
    EXPECT_EQ(call.status.error_code(), code);
    ExpectNextIsServed();
  }

  // REQUIRES: one call is with the device, whose client has gone.
  void ExpectNextIsServed() {
    EXPECT_EQ(admission_.state().requests_in_flight, 1);
    device_->Open();
    AwaitInFlight(0);
    grpc::ClientContext context;
    v1::ReduceResponse response;
    EXPECT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  }

  std::string CreateWhole() {
    const std::string id = tensors_->Create({}, {DType::kI64, {1}, 8}, {})->id;
    EXPECT_EQ(*tensors_->Write(Everyone(), id, 0, 8)->Commit(), 0);
    return id;
  }
};

TEST_P(GoneClientTest, InMidKernelOfAMessage) { ExpectGoes(Request()); }

TEST_P(GoneClientTest, InMidKernelOfAResidentTensor) {
  v1::ReduceRequest request;
  request.add_ops()->set_op(v1::OP_SUM);
  ValuesOf(request).set_tensor_id(CreateWhole());
  request.set_consume(true);
  ExpectGoes(request);
  EXPECT_EQ(tensors_->state().reductions, 0);
  EXPECT_EQ(tensors_->state().ending.count, 0);
}

TEST_P(GoneClientTest, InMidKernelOfAStream) {
  grpc::ClientContext context;
  Prepare(context);
  v1::ReduceResponse response;
  const auto writer = stub_->ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header()));
  ASSERT_TRUE(writer->Write(Chunk(Request().data())));
  ASSERT_TRUE(writer->WritesDone());
  device_->AwaitBegun();
  const StatusCode code = Go(context);
  EXPECT_EQ(writer->Finish().error_code(), code);
  ExpectNextIsServed();
}

TEST_P(GoneClientTest, InMidKernelOfAnItemOfMany) {
  grpc::ClientContext context;
  Prepare(context);
  const auto stream = stub_->ReduceMany(&context);
  ASSERT_TRUE(stream->Write(Request()));
  device_->AwaitBegun();
  const StatusCode code = Go(context);
  EXPECT_EQ(stream->Finish().error_code(), code);
  ExpectNextIsServed();
}

INSTANTIATE_TEST_SUITE_P(, GoneClientTest, ::testing::Values(Way::kCancels, Way::kDeadline),
                         [](const testing::TestParamInfo<Way>& info) {
                           return info.param == Way::kCancels ? "Cancels" : "DeadlinePasses";
                         });

}  // namespace
}  // namespace warpfold
