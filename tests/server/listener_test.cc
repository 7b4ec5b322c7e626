// Several listeners of one server: who a call is by where it came, and what they share.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inference/grpc_service.grpc.pb.h"
#include "server/system/owned_descriptor.h"
#include "server/system/socket_file.h"
#include "tests/server/frontend_fixture.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

constexpr char kToken[] = "token-of-the-trainer";

class ListenerTest : public FrontendFixture {
 protected:
  void Serve(const std::string& callers) {
    options_.listen =
        *ParseListenAddresses(absl::StrCat("127.0.0.1:0,", edge_, ",", local_, " mode=0600"));
    if (!callers.empty()) callers_ = *CallerTable::Parse(callers, NamesOf(options_.listen));
    auto device = std::make_unique<GatedDevice>();
    device_ = device.get();
    FrontendFixture::Serve(std::move(device), {.workers = 1, .queue_depth_max = 3});
  }
  void TearDown() override {
    device_->Open();
    FrontendFixture::TearDown();
  }

  static std::shared_ptr<grpc::Channel> To(const std::string& target) {
    return grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  }
  std::string Tcp() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  static grpc::StatusCode Reduce(const std::string& target, const std::string& token = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::ReduceResponse response;
    return v1::ReductionService::NewStub(To(target))
        ->Reduce(&context, Request(), &response)
        .error_code();
  }

  const UniqueTempFolder folder_;
  const std::string edge_ = "unix:" + folder_.Path("edge");
  const std::string local_ = "unix:" + folder_.Path("local");
  GatedDevice* device_ = nullptr;
};

TEST_F(ListenerTest, EachServesAll) {
  Serve("");
  device_->Open();
  EXPECT_EQ(server_->addresses().size(), 3U);
  for (const std::string& target : {Tcp(), edge_, local_}) {
    EXPECT_EQ(Reduce(target), grpc::StatusCode::OK) << target;
  }
}

TEST_F(ListenerTest, ACallerIsWhoComesByIts) {
  Serve(absl::StrCat("caller=edge listener=", edge_, " scopes=reduce\n",
                     "caller=operator listener=", local_, " scopes=resident\n",
                     "caller=trainer token-sha256=", ToHex(HashOf(kToken)), " scopes=reduce\n"));
  device_->Open();
  EXPECT_EQ(Reduce(edge_), grpc::StatusCode::OK);
  EXPECT_EQ(Reduce(local_), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Reduce(Tcp()), grpc::StatusCode::UNAUTHENTICATED);
  // A token says more.
  EXPECT_EQ(Reduce(local_, kToken), grpc::StatusCode::OK);
  EXPECT_EQ(Reduce(edge_, "token-of-a-stranger"), grpc::StatusCode::UNAUTHENTICATED);
}

// Of three places a caller alone has one, as one is then left for others.
TEST_F(ListenerTest, AnonymousCallersAreOneForEachAddress) {
  Serve("caller=anonymous scopes=reduce\n");
  const auto tcp = v1::ReductionService::NewStub(To(Tcp()));
  const auto local = v1::ReductionService::NewStub(To(local_));
  Call of_tcp;
  of_tcp.request = Request();
  tcp->async()->Reduce(&of_tcp.context, &of_tcp.request, &of_tcp.response, of_tcp.Ending());
  AwaitInFlight(1);
  for (const std::shared_ptr<grpc::Channel>& same : {To(Tcp()), ConnectTo(server_->port())}) {
    grpc::ClientContext context;
    v1::ReduceResponse response;
    const grpc::Status refused =
        v1::ReductionService::NewStub(same)->Reduce(&context, Request(), &response);
    EXPECT_EQ(refused.error_message(),
              "the caller holds its share of requests in flight (--max-requests-in-flight): it has "
              "1, all callers 1 of 3, and asks for 1 more; answers free some");
  }
  Call of_local;
  of_local.request = Request();
  local->async()->Reduce(&of_local.context, &of_local.request, &of_local.response,
                         of_local.Ending());
  AwaitInFlight(2);
  device_->Open();
  for (Call* call : {&of_tcp, &of_local}) {
    call->done.WaitForNotification();
    EXPECT_TRUE(call->status.ok()) << call->status.error_message();
  }
}

TEST_F(ListenerTest, TheyShareOneAdmission) {
  Serve("");
  grpc::ClientContext context;
  v1::ReduceResponse response;
  auto held = std::thread([&] {
    EXPECT_TRUE(
        v1::ReductionService::NewStub(To(edge_))->Reduce(&context, Request(), &response).ok());
  });
  AwaitInFlight(1);
  auto other = std::thread([&] { EXPECT_EQ(Reduce(local_), grpc::StatusCode::OK); });
  AwaitInFlight(2);
  device_->Open();
  held.join();
  other.join();
}

TEST_F(ListenerTest, TheyCountInOneModelsStatistics) {
  Serve("");
  device_->Open();
  for (const std::string& target : {edge_, local_}) {
    inference::ModelInferRequest request;
    request.set_model_name("sum");
    auto* input = request.add_inputs();
    input->set_name("INPUT");
    input->set_datatype("INT64");
    input->add_shape(1);
    input->mutable_contents()->add_int64_contents(7);
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    const grpc::Status status = inference::GRPCInferenceService::NewStub(To(target))
                                    ->ModelInfer(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  grpc::ClientContext context;
  inference::ModelStatisticsRequest request;
  request.set_name("sum");
  inference::ModelStatisticsResponse response;
  ASSERT_TRUE(inference::GRPCInferenceService::NewStub(To(Tcp()))
                  ->ModelStatistics(&context, request, &response)
                  .ok());
  EXPECT_EQ(response.model_stats(0).inference_stats().success().count(), 2U);
}

TEST_F(ListenerTest, AllEndTogetherAndTheirFilesGo) {
  Serve("");
  device_->Open();
  EXPECT_EQ(access(folder_.Path("edge").c_str(), F_OK), 0);
  server_->Shutdown(std::chrono::milliseconds(0));
  server_ = nullptr;
  EXPECT_NE(access(folder_.Path("edge").c_str(), F_OK), 0);
  EXPECT_NE(access(folder_.Path("local").c_str(), F_OK), 0);
  EXPECT_EQ(Reduce(edge_), grpc::StatusCode::UNAVAILABLE);
}

// Somebody removes the server's file, and listens there.
TEST_F(ListenerTest, ItsEndLeavesAnothersSocketAlone) {
  Serve("");
  device_->Open();
  const UnixSocket socket{.path = folder_.Path("edge")};
  const sockaddr_un at = AddressOf(socket);
  ASSERT_EQ(unlink(socket.path.c_str()), 0);
  const OwnedDescriptor other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  server_->Shutdown(std::chrono::milliseconds(0));
  server_ = nullptr;
  EXPECT_EQ(access(socket.path.c_str(), F_OK), 0);
  EXPECT_NE(access(folder_.Path("local").c_str(), F_OK), 0);
}

TEST_F(ListenerTest, ItsConnectionsAreCountedUntilTheirEnd) {
  Serve("");
  device_->Open();
  const ConnectionCounts before = server_->acceptor().counts();  // the fixture's own client
  EXPECT_EQ(Reduce(Tcp()), grpc::StatusCode::OK);
  EXPECT_GT(server_->acceptor().counts().accepted, before.accepted);
  EXPECT_EQ(Reduce(edge_), grpc::StatusCode::OK);  // of this process: no client's
  while (server_->acceptor().counts().open > before.open) std::this_thread::yield();
}

TEST_F(ListenerTest, AConnectionThatIsEndedEndsItsCalls) {
  Serve("");
  Call call;
  call.request = Request();
  const auto stub = v1::ReductionService::NewStub(To(Tcp()));
  stub->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
  AwaitInFlight(1);
  EXPECT_GE(server_->acceptor().EndAll(), 1);
  call.done.WaitForNotification();
  EXPECT_EQ(call.status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ListenerTest, OneThatCannotBeEndsTheStartOfAll) {
  Serve("");
  device_->Open();
  GrpcServerOptions options = options_;
  options.listen = *ParseListenAddresses("127.0.0.1:0,unix:/no/such/folder/a");
  const auto server = GrpcServer::Start(options, {}, admission_, *scheduler_, *tensors_, *regions_,
                                        metrics_, access_log_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      server.status().message(),
      "listen-address: cannot listen on unix:/no/such/folder/a: /no/such/folder: No such file "
      "or directory");
}

TEST_F(ListenerTest, WarningsAreSaidToWhoAsks) {
  Serve("");
  device_->Open();
  const auto warnings = [this] {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
    return std::vector<std::string>(info.security_warnings().begin(),
                                    info.security_warnings().end());
  };
  EXPECT_TRUE(warnings().empty());
  server_->SetAdmitted({CallerTable(), {"everyone may call"}});
  EXPECT_EQ(warnings(), std::vector<std::string>{"everyone may call"});
}

}  // namespace
}  // namespace warpfold
