// Regions under calls that wait, are refused or go away: the memory goes when its last use ends.
#include "tests/contract/values_of.h"
#include "tests/server/frontend_fixture.h"
#include "tests/shm_segment.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

using grpc::StatusCode;

class RegionTest : public FrontendTest {
 protected:
  void SetUp() override {
    options_.limits.regions.shared_prefix = ShmSegment::kPrefix;
    FrontendTest::SetUp();
    tensor_stub_ = v1::TensorService::NewStub(channel_);
  }
  void TearDown() override {
    FrontendTest::TearDown();
    AwaitClosed();
    EXPECT_EQ(open().count, 0);
    EXPECT_EQ(open().bytes, 0);
  }
  // Until what nobody uses any more is closed.
  void AwaitClosed() {
    absl::Notification done;
    regions_->UnregisterAll(RegionKind::kSystem, {"", "no such name"},
                            [&done](const absl::Status& /*status*/) { done.Notify(); });
    done.WaitForNotification();
  }

  Holding open() const { return regions_->state().of(RegionKind::kSystem); }
  void Begin(Call& call) {
    call.request = Request();
    call.request.clear_data();
    ValuesOf(call.request).mutable_memory()->set_name("r");
    ValuesOf(call.request).mutable_memory()->set_size_bytes(8);
    stub_->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
  }
  StatusCode Unregister() {
    grpc::ClientContext context;
    v1::UnregisterMemoryRequest request;
    request.set_name("r");
    v1::UnregisterMemoryResponse response;
    return tensor_stub_->UnregisterMemory(&context, request, &response).error_code();
  }
  v1::RegisterSharedMemoryRequest Registration() {
    v1::RegisterSharedMemoryRequest request;
    request.set_name("r");
    request.set_key(segment_.key());
    request.set_size_bytes(8);
    return request;
  }

  const ShmSegment segment_{"12345678"};
  std::unique_ptr<v1::TensorService::Stub> tensor_stub_;
};

TEST_F(RegionTest, OneThatIsUnregisteredWhileItIsReducedGoesWithTheAnswer) {
  ASSERT_TRUE(regions_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
  Call running;
  Begin(running);
  device_->AwaitBegun();
  EXPECT_EQ(Unregister(), StatusCode::OK);
  EXPECT_EQ(Unregister(), StatusCode::NOT_FOUND);
  EXPECT_EQ(open().bytes, 8);
  EXPECT_TRUE(regions_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok()) << "the name is free";
  EXPECT_EQ(open().count, 2);
  device_->Open();
  running.done.WaitForNotification();
  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
  AwaitClosed();
  EXPECT_EQ(open().count, 1) << "let go of before the answer left";
  EXPECT_EQ(Unregister(), StatusCode::OK);
}

TEST_F(RegionTest, QueuedReductionsThatAreCancelledOrRefusedLetGo) {
  ASSERT_TRUE(regions_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>());
    Begin(*calls.back());
    AwaitInFlight(i + 1);
    if (i == 0) device_->AwaitBegun();
  }
  Call refused;
  Begin(refused);
  refused.done.WaitForNotification();
  EXPECT_EQ(refused.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  calls[1]->context.TryCancel();
  calls[2]->context.TryCancel();
  AwaitInFlight(1);
  EXPECT_EQ(regions_->List(Everyone())[0].uses, 1);
  EXPECT_EQ(Unregister(), StatusCode::OK);
  device_->Open();
  for (const auto& call : calls) call->done.WaitForNotification();
  EXPECT_TRUE(calls[0]->status.ok()) << calls[0]->status.error_message();
}

TEST_F(RegionTest, ARegistrationThatIsCancelledInTheQueueRegistersNothing) {
  Call running;
  running.request = Request();
  stub_->async()->Reduce(&running.context, &running.request, &running.response, running.Ending());
  device_->AwaitBegun();
  grpc::ClientContext context;
  const v1::RegisterSharedMemoryRequest request = Registration();
  v1::RegisterSharedMemoryResponse response;
  absl::Notification done;
  tensor_stub_->async()->RegisterSharedMemory(
      &context, &request, &response, [&done](const grpc::Status& status) {
        EXPECT_EQ(status.error_code(), StatusCode::CANCELLED);
        done.Notify();
      });
  AwaitInFlight(2);
  context.TryCancel();
  done.WaitForNotification();
  AwaitInFlight(1);
  device_->Open();
  running.done.WaitForNotification();
  EXPECT_TRUE(regions_->List(Everyone()).empty());
}

TEST_F(RegionTest, ADrainingServerTakesNoRegionAndLetsGoOfThoseItHas) {
  ASSERT_TRUE(regions_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
  admission_.Close();
  grpc::ClientContext context;
  v1::RegisterSharedMemoryResponse response;
  EXPECT_EQ(tensor_stub_->RegisterSharedMemory(&context, Registration(), &response).error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(Unregister(), StatusCode::OK);
}

}  // namespace
}  // namespace warpfold
