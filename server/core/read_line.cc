#include "server/core/read_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

// By then some have been read.
constexpr std::chrono::milliseconds kRetryDelay{1000};
constexpr std::int64_t kNoEra = -1;

}  // namespace

absl::Status ReadLine::Enter(const std::shared_ptr<Member>& member) {
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    if (std::ssize(line_) >= waiting_max_) {
      ++refused_;
      return RefusalStatus(RetryLater{kRetryDelay},
                           absl::StrCat("the limit of ", waiting_max_,
                                        " calls that wait to be read is reached "
                                        "(--max-bytes-in-flight)"));
    }
    line_.push_back(member);
    turns = NextTurns();
  }
  Begin(turns);
  return absl::OkStatus();
}

void ReadLine::Leave(Member& member) {
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    EndTurn(member);
    turns = NextTurns();
  }
  Begin(turns);
}

void ReadLine::EndTurn(Member& member) {
  const std::int64_t era = std::exchange(member.era_, kNoEra);
  if (era >= era_ - 1 && era != kNoEra) --TurnsOf(era);  // others keep nobody waiting
}

void ReadLine::Pass(std::chrono::milliseconds passed, std::chrono::milliseconds lag) {
  Members turns;
  {
    absl::MutexLock lock(&mutex_);
    era_age_ += passed;
    if (era_age_ >= kTurnMax + 2 * std::min(lag, kLagMax)) {
      era_age_ = std::chrono::milliseconds(0);
      ++era_;
      TurnsOf(era_) = 0;  // those of two eras ago
    }
    turns = NextTurns();
  }
  Begin(turns);
}

ReadLine::Members ReadLine::NextTurns() {
  Members members;
  while (!line_.empty() && turns_[0] + turns_[1] < kTurns) {
    line_.front()->era_ = era_;
    ++TurnsOf(era_);
    members.push_back(std::move(line_.front()));
    line_.pop_front();
  }
  return members;
}

void ReadLine::Begin(const Members& members) {
  for (const std::shared_ptr<Member>& member : members) {
    if (member->OnTurn()) continue;
    absl::MutexLock lock(&mutex_);
    EndTurn(*member);
  }
}

void ReadLine::SetBytesMax(std::int64_t bytes_max) {
  absl::MutexLock lock(&mutex_);
  waiting_max_ = std::max(kWaitingMaxMin, bytes_max / kWaitingCallBytes);
}

std::int64_t ReadLine::waiting() const {
  absl::MutexLock lock(&mutex_);
  return std::ssize(line_);
}

std::uint64_t ReadLine::refused() const {
  absl::MutexLock lock(&mutex_);
  return refused_;
}

}  // namespace warpfold
