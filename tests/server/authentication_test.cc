// Who is served what: by each method of each service, over a real server.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/core/admission/caller_table.h"
#include "server/observe/metrics/method.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

// 16 characters and more each.
constexpr char kReducer[] = "token-of-the-reducer";
constexpr char kUploader[] = "token-of-the-uploader";
constexpr char kSharer[] = "token-of-the-sharer";
constexpr char kStranger[] = "token-of-a-stranger";

std::string Line(const char* name, const char* token, const char* scopes) {
  return absl::StrCat("caller=", name, " token-sha256=", ToHex(HashOf(token)), " scopes=", scopes,
                      "\n");
}

class AuthenticationTest : public FrontendFixture {
 protected:
  void Serve(const std::string& callers) {
    callers_ = *CallerTable::Parse(callers, {});
    ServeEveryone();
  }
  void ServeEveryone() {
    auto device = std::make_unique<GatedDevice>();
    device->Open();
    FrontendFixture::Serve(std::move(device), {.workers = 2});
  }

  // What `method` answers to an empty message, sent with these headers.
  grpc::Status Call(Method method, const std::vector<std::string>& authorizations) {
    const MethodFacts& facts = FactsOf(method);
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    for (const std::string& value : authorizations) context.AddMetadata("authorization", value);
    grpc::CompletionQueue queue;
    const auto call =
        stub.PrepareCall(&context, absl::StrCat("/", facts.service, "/", facts.name), &queue);
    const auto step = [&queue](auto start) {
      start(nullptr);
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    step([&](void* tag) { call->StartCall(tag); });
    const grpc::Slice nothing;
    const grpc::ByteBuffer message(&nothing, 1);
    step([&](void* tag) { call->Write(message, tag); });
    step([&](void* tag) { call->WritesDone(tag); });
    grpc::ByteBuffer answer;
    if (method == Method::kHealthWatch) {
      step([&](void* tag) { call->Read(&answer, tag); });
      context.TryCancel();
    }
    while (step([&](void* tag) { call->Read(&answer, tag); })) {
    }
    grpc::Status status;
    step([&](void* tag) { call->Finish(&status, tag); });
    return status;
  }
  grpc::Status CallAs(Method method, const char* token) {
    return Call(method, {absl::StrCat("Bearer ", token)});
  }
};

bool IsRefused(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
}

// The scope that each method asks for; "-": a caller, ".": nothing.
const char* AskedBy(Method method) {
  const MethodFacts& facts = FactsOf(method);
  const std::string name = facts.name;
  if (facts.service == std::string(kHealthService) || name == "ServerLive" ||
      name == "ServerReady") {
    return ".";
  }
  for (const char* memory : {"Register", "Unregister", "ListMemory", "SharedMemory"}) {
    if (name.find(memory) != std::string::npos) return "memory";
  }
  if (facts.service == std::string(kTensorService)) return "resident";
  for (const char* reduces : {"Reduce", "Merge", "Infer"}) {
    if (name.find(reduces) != std::string::npos) return "reduce";
  }
  return "-";
}

TEST_F(AuthenticationTest, EachMethodAsksForItsScope) {
  Serve(Line("reducer", kReducer, "reduce") + Line("uploader", kUploader, "resident") +
        Line("sharer", kSharer, "memory"));
  const std::pair<const char*, const char*> callers[] = {
      {kReducer, "reduce"}, {kUploader, "resident"}, {kSharer, "memory"}};
  for (const MethodFacts& facts : kMethods) {
    const std::string asked = AskedBy(facts.method);
    for (const auto& [token, scope] : callers) {
      const grpc::Status status = CallAs(facts.method, token);
      const bool may = asked == scope || asked == "-" || asked == ".";
      EXPECT_EQ(IsRefused(status), !may)
          << facts.name << " with " << scope << ": " << status.error_message();
      if (!may) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << facts.name;
        EXPECT_NE(status.error_message().find(absl::StrCat("the scope ", asked)), std::string::npos)
            << status.error_message();
      }
    }
    for (const auto& stranger : {Call(facts.method, {}), CallAs(facts.method, kStranger)}) {
      EXPECT_EQ(stranger.error_code() == grpc::StatusCode::UNAUTHENTICATED, asked != ".")
          << facts.name << ": " << stranger.error_message();
    }
  }
}

TEST_F(AuthenticationTest, NobodyIsAskedWithoutAFile) {
  ServeEveryone();
  for (const MethodFacts& facts : kMethods) {
    EXPECT_FALSE(IsRefused(Call(facts.method, {}))) << facts.name;
    EXPECT_FALSE(IsRefused(CallAs(facts.method, kStranger))) << facts.name;
  }
}

TEST_F(AuthenticationTest, AnAnonymousCallerShowsNothing) {
  Serve(Line("uploader", kUploader, "resident") + "caller=anonymous scopes=reduce\n");
  EXPECT_FALSE(IsRefused(Call(Method::kReduce, {})));
  EXPECT_EQ(Call(Method::kListTensors, {}).error_message(),
            "caller 'anonymous' may not ListTensors: it lacks the scope resident");
  EXPECT_EQ(CallAs(Method::kReduce, "").error_message(), "authorization: the token is unknown");
  // Who shows a token is its caller, or nobody.
  EXPECT_EQ(CallAs(Method::kReduce, kStranger).error_message(),
            "authorization: the token is unknown");
  EXPECT_EQ(CallAs(Method::kReduce, kUploader).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AuthenticationTest, OnlyOneBearerTokenIsTaken) {
  Serve(Line("reducer", kReducer, "reduce"));
  const std::string good = absl::StrCat("Bearer ", kReducer);
  EXPECT_TRUE(Call(Method::kGetServerInfo, {good}).ok());
  EXPECT_TRUE(Call(Method::kGetServerInfo, {absl::StrCat("bearer ", kReducer)}).ok());
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{good, good},
                                             {""},
                                             {"Bearer"},
                                             {"Bearer "},
                                             {kReducer},
                                             {absl::StrCat(good, " ")},
                                             {absl::StrCat("Basic ", kReducer)}}) {
    EXPECT_EQ(Call(Method::kGetServerInfo, bad).error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << (bad.empty() ? "" : bad.front());
  }
}

TEST_F(AuthenticationTest, CallersChangeWhileItServes) {
  Serve(Line("reducer", kReducer, "reduce"));
  EXPECT_TRUE(CallAs(Method::kGetServerInfo, kReducer).ok());
  server_->SetAdmitted({*CallerTable::Parse(Line("uploader", kUploader, "resident"), {}), {}});
  EXPECT_TRUE(IsRefused(CallAs(Method::kGetServerInfo, kReducer)));
  EXPECT_TRUE(CallAs(Method::kGetServerInfo, kUploader).ok());
  server_->SetAdmitted({});
  EXPECT_TRUE(Call(Method::kGetServerInfo, {}).ok());
}

TEST_F(AuthenticationTest, RefusedCallsAreCounted) {
  Serve(Line("reducer", kReducer, "reduce"));
  EXPECT_TRUE(IsRefused(Call(Method::kReduce, {})));
  EXPECT_TRUE(IsRefused(Call(Method::kReduceMany, {})));
  server_ = nullptr;  // all calls are done
  double refused = 0;
  for (const prometheus::MetricFamily& family : metrics_.registry()->Collect()) {
    if (family.name != "grpc_server_handled_total") continue;
    for (const prometheus::ClientMetric& series : family.metric) {
      for (const prometheus::ClientMetric::Label& label : series.label) {
        if (label.value == "Unauthenticated") refused += series.counter.value;
      }
    }
  }
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace warpfold
