// Health over a real gRPC server in this process: who asks, who watches, and how a watch ends.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

using grpc::StatusCode;
using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// A call of Watch.
class Watching {
 public:
  Watching(Health::Stub& health, const std::string& name) {
    HealthCheckRequest request;
    request.set_service(name);
    reader_ = health.Watch(&context_, request);
  }
  ~Watching() { context_.TryCancel(); }

  // The next state that it is told; UNKNOWN: the call has ended.
  HealthCheckResponse::ServingStatus Next() {
    HealthCheckResponse told;
    return reader_->Read(&told) ? told.status() : HealthCheckResponse::UNKNOWN;
  }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
};

constexpr int kWatchesMax = 3;  // of one address

class HealthServiceTest : public FrontendTest {
 protected:
  void SetUp() override {
    options_.health_watches_max = 4 * kWatchesMax;
    FrontendTest::SetUp();
    health_ = Health::NewStub(channel_);
  }

  grpc::Status Check(const std::string& name, HealthCheckResponse* response) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(name);
    return health_->Check(&context, request, response);
  }

  std::unique_ptr<Health::Stub> health_;
};

TEST_F(HealthServiceTest, AWatchIsToldTheStateAndEachChange) {
  Watching watching(*health_, "readiness");
  EXPECT_EQ(watching.Next(), HealthCheckResponse::SERVING);
  for (int i = 0; i < 3; ++i) {
    server_->StopServing();
    EXPECT_EQ(watching.Next(), HealthCheckResponse::NOT_SERVING);
    server_->StopServing();  // no change: nothing is told
    server_->StartServing();
    EXPECT_EQ(watching.Next(), HealthCheckResponse::SERVING);
  }
}

TEST_F(HealthServiceTest, LivenessAndUnknownNamesDoNotChange) {
  Watching alive(*health_, "liveness");
  Watching unknown(*health_, "other");
  EXPECT_EQ(alive.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  server_->StopServing();
  server_->Shutdown(std::chrono::hours(1));  // the next that either is told is its end
  EXPECT_EQ(alive.Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::UNKNOWN);
}

TEST_F(HealthServiceTest, ADrainEndsWatchesBehindTheLastState) {
  std::vector<std::unique_ptr<Watching>> watches;
  for (const char* name : {"", "readiness", kReductionService}) {
    watches.push_back(std::make_unique<Watching>(*health_, name));
    EXPECT_EQ(watches.back()->Next(), HealthCheckResponse::SERVING);
  }
  server_->StopServing();
  server_->Shutdown(std::chrono::hours(1));
  for (const auto& watching : watches) {
    EXPECT_EQ(watching->Next(), HealthCheckResponse::NOT_SERVING);
    EXPECT_EQ(watching->Next(), HealthCheckResponse::UNKNOWN);
    EXPECT_EQ(watching->Finish().error_code(), StatusCode::UNAVAILABLE);
  }
}

TEST_F(HealthServiceTest, AWatchThatEndsGivesItsPlaceBack) {
  std::vector<std::unique_ptr<Watching>> watches;
  for (int i = 0; i < kWatchesMax; ++i) {
    watches.push_back(std::make_unique<Watching>(*health_, ""));
    EXPECT_EQ(watches.back()->Next(), HealthCheckResponse::SERVING);
  }
  Watching refused(*health_, "");
  EXPECT_EQ(refused.Next(), HealthCheckResponse::UNKNOWN);
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "the limit of 3 calls of Watch is reached (a quarter of --max-health-watches, for one "
            "address)");
  HealthCheckResponse checked;
  EXPECT_TRUE(Check("", &checked).ok());
  EXPECT_EQ(checked.status(), HealthCheckResponse::SERVING);

  watches[1]->Cancel();
  while (Watching(*health_, "").Next() != HealthCheckResponse::SERVING) std::this_thread::yield();
}

TEST_F(HealthServiceTest, AStateThatChangesWhileManyWatchIsToldToAll) {
  // Changes race with the calls' beginnings and ends.
  std::jthread changes([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      server_->StopServing();
      server_->StartServing();
    }
  });
  for (int i = 0; i < 200; ++i) {
    Watching watching(*health_, "");
    const auto told = watching.Next();
    if (told == HealthCheckResponse::UNKNOWN) continue;  // the last ones have not all ended yet
    EXPECT_NE(watching.Next(), told);
  }
  changes.request_stop();
  changes.join();
  HealthCheckResponse checked;
  EXPECT_TRUE(Check("readiness", &checked).ok());
  EXPECT_EQ(checked.status(), HealthCheckResponse::SERVING);
}

}  // namespace
}  // namespace warpfold
