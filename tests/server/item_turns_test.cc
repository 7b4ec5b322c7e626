// Small items of streams take turns where callers are told apart. Turns end by no clock here: the
// test holds all that there are, and lets them go.
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/admission/caller_table.h"
#include "server/frontend/calls/item_turn.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

constexpr char kItemsToken[] = "token-of-the-caller";
constexpr std::int64_t kTurns = 2;

class Holder final : public ReadLine::Member {
  bool OnTurn() override { return true; }
};

// A stream of ReduceMany, whose items the test names.
class Stream {
 public:
  explicit Stream(v1::ReductionService::Stub& stub) {
    context_.AddMetadata("authorization", absl::StrCat("Bearer ", kItemsToken));
    stream_ = stub.ReduceMany(&context_);
  }

  bool Send(v1::ReduceRequest request, const std::string& id) {
    request.set_request_id(id);
    return stream_->Write(request);
  }
  v1::ReduceManyResponse Read() {
    v1::ReduceManyResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }
  std::string ReadId() { return Read().request_id(); }
  void Cancel() { context_.TryCancel(); }
  void WritesDone() { stream_->WritesDone(); }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ReduceRequest, v1::ReduceManyResponse>> stream_;
};

class ItemTurnsTest : public FrontendFixture {
 protected:
  ItemTurnsTest()
      : FrontendFixture(
            {.item_turns = {.shared_turns = kTurns, .turn_max = std::chrono::hours(1)}}) {}

  void SetUp() override {
    callers_ = *CallerTable::Parse(
        absl::StrCat("caller=caller token-sha256=", ToHex(HashOf(kItemsToken)), " scopes=reduce\n"),
        {});
    auto device = std::make_unique<GatedDevice>();
    device->Open();
    Serve(std::move(device), {.workers = 1, .queue_depth_max = 8});
    HoldTurns();
    others_stay_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        for (ReadLine::Client& other : others_) admission_.item_line().IsSharedBy(other);
        std::this_thread::yield();
      }
    });
  }
  void TearDown() override {
    others_stay_ = {};
    EXPECT_EQ(admission_.item_line().waiting(), 0);
    FrontendFixture::TearDown();
  }

  // Two other callers have all turns.
  void HoldTurns() {
    for (ReadLine::Client& other : others_) {
      held_.push_back(std::make_shared<Holder>());
      ASSERT_TRUE(admission_.item_line().Enter(other, held_.back()).ok());
    }
  }
  // Both: of one alone the caller, which has a turn of its own, gets none.
  void LetTurnsGo() {
    ASSERT_EQ(held_.size(), kTurns);
    for (const auto& holder : held_) admission_.item_line().Leave(*holder);
    held_.clear();
  }
  // The first stream of the caller gets one beside all others, and goes on.
  void HaveTheTurn(Stream& first) {
    ASSERT_TRUE(first.Send(Request(), "a"));
    EXPECT_EQ(first.ReadId(), "a");
  }
  // Sends an item, which is the last of so many in line.
  void WaitInLine(Stream& stream, const std::string& id, std::int64_t waiting) {
    ASSERT_TRUE(stream.Send(Request(), id));
    AwaitWaiting(waiting);
  }
  void AwaitWaiting(std::int64_t count) {
    while (admission_.item_line().waiting() != count) std::this_thread::yield();
  }

  ReadLine::Client others_[kTurns] = {ReadLine::Client(/*is_caller=*/true),
                                      ReadLine::Client(/*is_caller=*/true)};
  std::vector<std::shared_ptr<Holder>> held_;
  // Keeps them in sight: of a caller who is alone no item waits, and whoever waits is served then.
  std::jthread others_stay_;
};

TEST_F(ItemTurnsTest, AStreamWaitsUntilAnotherTurnEnds) {
  Stream first(*stub_);
  HaveTheTurn(first);
  Stream second(*stub_);
  WaitInLine(second, "b", 1);
  ASSERT_TRUE(first.Send(Request(), "c"));
  EXPECT_EQ(first.ReadId(), "c") << "it has its turn";
  LetTurnsGo();
  EXPECT_EQ(second.ReadId(), "b");
  for (Stream* stream : {&first, &second}) {
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(ItemTurnsTest, ATurnIsForSoManyItems) {
  Stream first(*stub_);
  for (int i = 0; i < kItemsInTurn; ++i) {
    ASSERT_TRUE(first.Send(Request(), absl::StrCat(i)));
    EXPECT_EQ(first.ReadId(), absl::StrCat(i));
  }
  Stream second(*stub_);
  ASSERT_TRUE(second.Send(Request(), "second"));
  AwaitWaiting(1);
  // It leaves its turn to the other stream of its caller, and waits behind it.
  ASSERT_TRUE(first.Send(Request(), "next"));
  EXPECT_EQ(second.ReadId(), "second");
  AwaitWaiting(1);
  LetTurnsGo();
  EXPECT_EQ(first.ReadId(), "next");
}

TEST_F(ItemTurnsTest, LargeItemsTakeNone) {
  Stream first(*stub_);
  HaveTheTurn(first);
  Stream second(*stub_);
  ASSERT_TRUE(second.Send(Request(ReadLine::kSmallMessageBytes / 8), "large"));
  EXPECT_EQ(second.ReadId(), "large");
}

TEST_F(ItemTurnsTest, OneThatIsCancelledInLineLeavesItsTurnToTheNext) {
  Stream first(*stub_);
  HaveTheTurn(first);
  Stream gone(*stub_);
  WaitInLine(gone, "b", 1);
  Stream last(*stub_);
  WaitInLine(last, "c", 2);
  gone.Cancel();
  EXPECT_EQ(gone.Finish().error_code(), grpc::StatusCode::CANCELLED);
  LetTurnsGo();
  EXPECT_EQ(last.ReadId(), "c");
}

TEST_F(ItemTurnsTest, AStreamThatIsCancelledInItsTurnEndsIt) {
  Stream first(*stub_);
  HaveTheTurn(first);
  Stream second(*stub_);
  WaitInLine(second, "b", 1);
  first.Cancel();  // its caller has no turn any more, and so the next
  EXPECT_EQ(second.ReadId(), "b");
}

TEST_F(ItemTurnsTest, AnItemInLineIsAnsweredThoughItsClientSendsNoMore) {
  Stream first(*stub_);
  HaveTheTurn(first);
  Stream second(*stub_);
  ASSERT_TRUE(second.Send(Request(), "b"));
  second.WritesDone();
  AwaitWaiting(1);
  LetTurnsGo();
  EXPECT_EQ(second.ReadId(), "b");
  EXPECT_TRUE(second.Finish().ok());
}

TEST_F(ItemTurnsTest, OneThatWaitsTooLongIsRefusedByItsId) {
  options_.limits.queue_timeout = std::chrono::milliseconds(1);
  server_->SetLimits(options_.limits);
  Stream first(*stub_);
  ASSERT_TRUE(first.Send(Request(), "a"));
  first.Read();
  Stream second(*stub_);
  WaitInLine(second, "b", 1);
  const auto since = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - since <= options_.limits.queue_timeout) {
    std::this_thread::yield();
  }
  LetTurnsGo();
  const v1::ReduceManyResponse refused = second.Read();
  EXPECT_EQ(refused.request_id(), "b");
  EXPECT_EQ(refused.status().code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
}

// What it asks for is done by a worker: its stream keeps no other from the processors meanwhile.
TEST_F(ItemTurnsTest, AnItemOfAResidentTensorEndsTheTurn) {
  const auto created = tensors_->Create(Access{.owner = "caller"}, {DType::kI64, {1}, 8}, {});
  ASSERT_TRUE(created.ok()) << created.status();
  {
    auto write = tensors_->Write({.name = "caller"}, created->id, 0, 8);
    ASSERT_TRUE(write.ok()) << write.status();
    EXPECT_TRUE(write->Commit().ok());
  }
  v1::ReduceRequest request;
  ValuesOf(request).set_tensor_id(created->id);
  request.add_ops()->set_op(v1::OP_SUM);
  Stream first(*stub_);
  ASSERT_TRUE(first.Send(request, "resident"));
  EXPECT_EQ(first.ReadId(), "resident");
  // Else it would wait: both turns are taken, and the caller would have one.
  Stream second(*stub_);
  ASSERT_TRUE(second.Send(Request(), "b"));
  EXPECT_EQ(second.ReadId(), "b");
}

}  // namespace
}  // namespace warpfold
