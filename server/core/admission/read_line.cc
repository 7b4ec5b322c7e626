#include "server/core/admission/read_line.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/admission/room.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

// By then some have been read.
constexpr std::chrono::milliseconds kRetryDelay{1000};
constexpr std::int64_t kNoEra = -1;

std::int64_t Processors() { return std::max<std::int64_t>(std::thread::hardware_concurrency(), 1); }

}  // namespace

std::int64_t ReadLine::Turns::Count(std::int64_t now) {
  Forget(now);
  return counts_[0] + counts_[1];
}

void ReadLine::Turns::Begin(std::int64_t now) {
  Forget(now);
  ++Of(now);
}

void ReadLine::Turns::End(std::int64_t begun, std::int64_t now) {
  Forget(now);
  if (begun >= now - 1) --Of(begun);
}

void ReadLine::Turns::Forget(std::int64_t now) {
  if (now > last_) Of(now) = 0;
  if (now > last_ + 1) Of(now - 1) = 0;
  last_ = now;
}

absl::Status ReadLine::Enter(Client& client, const std::shared_ptr<Member>& member) {
  member->client_ = &client;
  bool begins = false;
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    Age();
    See(client);
    const std::int64_t own = std::ssize(client.line_);
    if (waiting_ == 0 && turns_.Count(era_) < TurnsMax()) {
      BeginTurn(*member);
      begins = true;
    } else if (const std::int64_t limit = LimitFor(own, waiting_max_); waiting_ < limit) {
      client.line_.push_back(member);
      ++waiting_;
      if (own == 0) Wait(client);
      NextTurns(turns);
    } else {
      ++refused_;
      return RefusalStatus(RetryLater{kRetryDelay},
                           absl::StrCat("the limit of ", limit,
                                        " calls that wait to be read is reached "
                                        "(--max-bytes-in-flight)"));
    }
  }
  if (!begins) {
    Begin(turns);
  } else if (!member->OnTurn()) {
    absl::MutexLock lock(&mutex_);
    EndTurn(*member);  // who waits by now is next at the next change
  }
  return absl::OkStatus();
}

bool ReadLine::IsSharedBy(Client& client) {
  if (client.seen_.load(std::memory_order_relaxed) != seen_era_.load(std::memory_order_relaxed)) {
    absl::MutexLock lock(&mutex_);
    See(client);
  }
  return is_shared_.load(std::memory_order_relaxed);
}

void ReadLine::NoticeCallers() { is_shared_ = std::max(callers_[0], callers_[1]) > 1; }

void ReadLine::See(Client& client) {
  if (!client.is_caller_ || client.seen_ == seen_era_) return;
  client.seen_ = seen_era_.load();
  ++callers_[static_cast<std::size_t>(seen_era_ % 2)];
  NoticeCallers();
}

ReadLine::Rules ReadLine::OfCalls() {
  return {.shared_turns = (3 * Processors() + 1) / 2, .turn_max = std::nullopt};
}

ReadLine::Rules ReadLine::OfItems() {
  return {.shared_turns = Processors(), .turn_max = kItemTurnMax};
}

std::int64_t ReadLine::TurnsMax() const { return is_shared_ ? rules_.shared_turns : kTurns; }

void ReadLine::Wait(Client& client) {
  if (client.among_ != nullptr) client.among_->erase(client.position_);
  client.among_ = nullptr;
  if (client.line_.empty()) return;
  client.among_ = client.turns_.Count(era_) == 0 ? &without_turn_ : &with_turns_;
  client.position_ = client.among_->insert(client.among_->end(), &client);
}

bool ReadLine::Renew(Member& member) {
  absl::MutexLock lock(&mutex_);
  Age();
  if (member.era_ == era_) return true;
  if (member.era_ == kNoEra || member.era_ < era_ - 1) return false;
  turns_.End(member.era_, era_);
  member.client_->turns_.End(member.era_, era_);
  BeginTurn(member);
  return true;
}

void ReadLine::Leave(Member& member) {
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    Age();
    EndTurn(member);
    NextTurns(turns);
  }
  Begin(turns);
}

void ReadLine::BeginTurn(Member& member) {
  member.era_ = era_;
  turns_.Begin(era_);
  member.client_->turns_.Begin(era_);
}

void ReadLine::EndTurn(Member& member) {
  const std::int64_t era = std::exchange(member.era_, kNoEra);
  if (era == kNoEra) return;
  Client& client = *member.client_;
  turns_.End(era, era_);
  client.turns_.End(era, era_);
  if (client.among_ == &with_turns_ && client.turns_.Count(era_) == 0) Wait(client);
}

void ReadLine::Pass(std::chrono::milliseconds passed, std::chrono::milliseconds lag) {
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    era_age_ += passed;
    if (era_age_ >= kTurnMax + 2 * std::min(lag, kLagMax)) {
      era_age_ = std::chrono::milliseconds(0);
      ++seen_era_;
      callers_[static_cast<std::size_t>(seen_era_ % 2)] = 0;
      NoticeCallers();
      if (!rules_.turn_max.has_value()) NextEra();
    }
    Age();
    NextTurns(turns);
  }
  Begin(turns);
}

void ReadLine::Age() {
  if (!rules_.turn_max.has_value()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - era_began_ < *rules_.turn_max) return;
  era_began_ = now;
  NextEra();
}

void ReadLine::NextEra() {
  ++era_;
  for (auto next = with_turns_.begin(); next != with_turns_.end();) {
    Client& client = **next++;
    if (client.turns_.Count(era_) == 0) Wait(client);
  }
}

ReadLine::Client* ReadLine::NextClient() {
  const std::int64_t turns = turns_.Count(era_);
  if (!without_turn_.empty() && turns < kTurns + kOnlyTurns) return without_turn_.front();
  if (!with_turns_.empty() && turns < TurnsMax()) return with_turns_.front();
  return nullptr;
}

void ReadLine::NextTurns(Members& members) {
  while (Client* const client = NextClient()) {
    BeginTurn(*client->line_.front());
    members.push_back(std::move(client->line_.front()));
    client->line_.pop_front();
    --waiting_;
    Wait(*client);
  }
}

void ReadLine::Begin(Members& members) {
  for (std::int64_t begun = 0; !members.empty() && begun < kBegunMax;) {
    begun += std::ssize(members);
    Members unused;
    for (std::shared_ptr<Member>& member : members) {
      if (!member->OnTurn()) unused.push_back(std::move(member));
    }
    members.clear();
    if (unused.empty()) return;
    absl::MutexLock lock(&mutex_);
    for (const std::shared_ptr<Member>& member : unused) EndTurn(*member);
    if (begun < kBegunMax) NextTurns(members);
  }
}

void ReadLine::SetBytesMax(std::int64_t bytes_max) {
  absl::MutexLock lock(&mutex_);
  waiting_max_ = std::max(kWaitingMaxMin, bytes_max / kWaitingCallBytes);
}

std::int64_t ReadLine::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

std::uint64_t ReadLine::refused() const {
  absl::MutexLock lock(&mutex_);
  return refused_;
}

}  // namespace warpfold
