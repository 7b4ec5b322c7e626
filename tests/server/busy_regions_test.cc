// Memory on a device that waits, to be written or closed, holds no thread of gRPC, of which there
// are few.
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inference/grpc_service.grpc.pb.h"
#include "tests/server/fake_device.h"
#include "tests/server/frontend_fixture.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

constexpr int kCalls = 16;  // gRPC has as many threads at most

class BusyRegionsTest : public FrontendFixture {
 protected:
  // Tasks of a tensor of one element are done by whoever brings them, batched or not.
  void Serve(bool batches) {
    auto device = std::make_unique<FakeDevice>();
    device_ = device.get();
    device->RunInlineUpTo(64);
    if (batches) device->fake_batches().BatchUpTo(64, {.tensors = 2, .bytes = 64});
    options_.limits.regions.regions_max = kCalls;
    options_.limits.regions.cuda_bytes_max = 1024;
    options_.limits.regions.cuda_takes_results = true;
    admission_.SetLimits(2 * kCalls, 1 << 20);
    FrontendFixture::Serve(std::move(device), {.workers = kCalls, .queue_depth_max = kCalls});
    inference_ = inference::GRPCInferenceService::NewStub(channel_);
    for (int i = 0; i < kCalls; ++i) {
      ASSERT_TRUE(regions_->RegisterCuda({"", Name(i)}, "8 bytes.", 0, 8).ok());
    }
    device_->HoldPeers(gate_);
  }
  void TearDown() override {
    OpenGate();
    FrontendFixture::TearDown();
  }

  static std::string Name(int i) { return absl::StrCat("r", i); }
  void OpenGate() {
    if (!gate_->HasBeenNotified()) gate_->Notify();
  }
  void OthersAreAnswered() {
    for (int i = 0; i < 50; ++i) {
      const grpc::Status info = GetServerInfo();
      ASSERT_TRUE(info.ok()) << info.error_message();
    }
  }
  // Sums of one element, each into a region of its own.
  void PlacesThatWaitHoldNobody() {
    using Inference = CallOf<inference::ModelInferRequest, inference::ModelInferResponse>;
    std::deque<Inference> calls;
    for (int i = 0; i < kCalls; ++i) {
      Inference& call = calls.emplace_back();
      call.request.set_model_name("sum");
      auto* input = call.request.add_inputs();
      input->set_name("INPUT");
      input->set_datatype("INT64");
      input->add_shape(1);
      call.request.add_raw_input_contents(std::string(8, '\1'));
      auto* output = call.request.add_outputs();
      output->set_name("SUM");
      (*output->mutable_parameters())["shared_memory_region"].set_string_param(Name(i));
      (*output->mutable_parameters())["shared_memory_byte_size"].set_int64_param(8);
      inference_->async()->ModelInfer(&call.context, &call.request, &call.response, call.Ending());
    }
    while (admission_.state().requests_in_flight < kCalls) {
      for (const Inference& call : calls) {
        ASSERT_FALSE(call.done.HasBeenNotified()) << call.status.error_message();
      }
    }
    OthersAreAnswered();
    for (const Inference& call : calls) EXPECT_FALSE(call.done.HasBeenNotified());
    OpenGate();
    for (Inference& call : calls) {
      call.done.WaitForNotification();
      EXPECT_TRUE(call.status.ok()) << call.status.error_message();
    }
  }

  FakeDevice* device_ = nullptr;
  const std::shared_ptr<absl::Notification> gate_ = std::make_shared<absl::Notification>();
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference_;
};

TEST_F(BusyRegionsTest, OthersAreAnsweredWhileResultsWaitForADevice) {
  Serve(/*batches=*/false);
  PlacesThatWaitHoldNobody();
}

TEST_F(BusyRegionsTest, OthersAreAnsweredWhileResultsOfABatchWaitForADevice) {
  Serve(/*batches=*/true);
  PlacesThatWaitHoldNobody();
}

TEST_F(BusyRegionsTest, OthersAreAnsweredWhileRegionsClose) {
  Serve(/*batches=*/false);
  using Unregistration = CallOf<v1::UnregisterMemoryRequest, v1::UnregisterMemoryResponse>;
  const auto tensors = v1::TensorService::NewStub(channel_);
  std::deque<Unregistration> calls;
  for (int i = 0; i < kCalls; ++i) {
    Unregistration& call = calls.emplace_back();
    call.request.set_name(Name(i));
    tensors->async()->UnregisterMemory(&call.context, &call.request, &call.response, call.Ending());
  }
  while (!regions_->List(Everyone()).empty()) std::this_thread::yield();
  OthersAreAnswered();
  for (const Unregistration& call : calls) EXPECT_FALSE(call.done.HasBeenNotified());
  EXPECT_EQ(regions_->state().of(RegionKind::kCuda).count, kCalls) << "still open";
  OpenGate();
  for (Unregistration& call : calls) {
    call.done.WaitForNotification();
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
  }
  EXPECT_EQ(regions_->state().of(RegionKind::kCuda).count, 0) << "answered before it was closed";
  EXPECT_EQ(device_->peer_bytes(), 0);
}

}  // namespace
}  // namespace warpfold
