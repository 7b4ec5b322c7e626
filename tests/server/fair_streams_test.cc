// Streams of callers who are told apart: they are read in turns, and all of them are answered.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/admission/caller_table.h"
#include "server/core/admission/read_line.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

class FairStreamsTest : public FrontendFixture {
 protected:
  // A stream of ReduceMany, and its client.
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::ReduceRequest, v1::ReduceManyResponse>> call;

    void ExpectAnswer() {
      v1::ReduceManyResponse answer;
      ASSERT_TRUE(call->Read(&answer));
      EXPECT_FALSE(answer.has_status()) << answer.status().message();
    }
    grpc::Status End() {
      call->WritesDone();
      return call->Finish();
    }
  };

  void SetUp() override {
    callers_ = *CallerTable::Parse(Line("greedy") + Line("modest"), {});
    admission_.SetLimits(1 << 16, std::int64_t{1} << 30);
    auto device = std::make_unique<GatedDevice>();
    device->Open();
    Serve(std::move(device), {.lanes = 2, .queue_depth_max = 1 << 16});
  }
  static std::string Token(const std::string& name) { return "the-token-of-" + name; }
  static std::string Line(const std::string& name) {
    return absl::StrCat("caller=", name, " token-sha256=", ToHex(HashOf(Token(name))),
                        " scopes=reduce\n");
  }
  std::unique_ptr<Stream> Open(const std::string& name) {
    auto stream = std::make_unique<Stream>();
    stream->context.AddMetadata("authorization", "Bearer " + Token(name));
    stream->call = stub_->ReduceMany(&stream->context);
    return stream;
  }
};

TEST_F(FairStreamsTest, MoreThanHaveTurnsWaitInLineAndAreAnswered) {
  const auto modest = Open("modest");
  std::vector<std::unique_ptr<Stream>> greedy;
  for (std::int64_t i = 0; i < 2 * ReadLine::SharedTurns() + 8; ++i) {
    greedy.push_back(Open("greedy"));
  }
  // While both have asked lately a caller has few turns: idle streams leave theirs after a moment.
  bool have_waited = false;
  while (!have_waited) {
    modest->call->Write(Request());
    modest->ExpectAnswer();
    for (const auto& stream : greedy) stream->call->Write(Request());
    have_waited = admission_.read_line().waiting() > 0;
    for (const auto& stream : greedy) stream->ExpectAnswer();
  }
  for (const auto& stream : greedy) EXPECT_TRUE(stream->End().ok());
  EXPECT_TRUE(modest->End().ok());
  EXPECT_EQ(admission_.read_line().waiting(), 0);
}

TEST_F(FairStreamsTest, OneThatIsCancelledInLineIsOver) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::int64_t i = 0; i < 2 * ReadLine::SharedTurns() + 8; ++i) {
    streams.push_back(Open(i % 2 == 0 ? "greedy" : "modest"));
  }
  while (admission_.read_line().waiting() == 0) {
    for (const auto& stream : streams) stream->call->Write(Request());
    for (const auto& stream : streams) stream->ExpectAnswer();
  }
  for (const auto& stream : streams) stream->context.TryCancel();
  for (const auto& stream : streams) {
    EXPECT_EQ(stream->call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  while (admission_.read_line().waiting() != 0) std::this_thread::yield();
}

}  // namespace
}  // namespace warpfold
