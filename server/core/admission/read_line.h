// Unary calls in line to be read, and streams of small items in line for the next to be served: so
// many have their turn at a time, and the others wait. Turns go round the connections, and one that
// has none is before those that have: a client that sends more than the server can read keeps its
// own calls waiting, and not those of others.
//
// A call whose message is asked for costs every other: gRPC as distributions build it searches a
// list of all operations under way whenever one ends, under one lock. One that waits here has none
// under way, and costs its memory alone; so a server that is sent more than it can answer answers
// as many as ever, and clients wait for as long as the line is.
//
// A call has its turn until its message is whole, a stream until some items are served or nothing
// of it is on its way. Either keeps others waiting for kTurnMax beside the server's own lag at
// most: a client that sends half a message, or does not read, has not more. A call whose client has
// reset it stays in line, as gRPC tells that by an operation alone, and is over in its turn.
//
// Step of a request: 1. Safe from any thread; OnTurn is called with no lock held.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_READ_LINE_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_READ_LINE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/core/admission/open_calls.h"

namespace warpfold {

class ReadLine {
 public:
  // Turns at a time. Of 4 KiB calls an answer takes as long beside 1,024 as alone.
  static constexpr std::int64_t kTurns = 1024;
  // And so many beside them that are the only ones of their connections.
  static constexpr std::int64_t kOnlyTurns = 1024;
  static constexpr std::chrono::milliseconds kTurnMax{100};
  // Clients can make the server seem to lag.
  static constexpr std::chrono::milliseconds kLagMax{250};
  static constexpr std::int64_t kSmallMessageBytes = std::int64_t{16} << 10;
  // That gRPC and the call hold, and a small message. Of a larger one gRPC takes 64 KiB before
  // anybody asks for it, within what it may receive in all (ReceivedBytesMax).
  static constexpr std::int64_t kWaitingCallBytes = kOpenCallBytes + kSmallMessageBytes;
  static constexpr std::int64_t kBegunMax = 64;
  // Members, however few bytes may be in flight.
  static constexpr std::int64_t kWaitingMaxMin = 1024;

  struct Rules {
    // Turns while several callers who show their names have members: so few that most of these are
    // in line, where turns go round.
    std::int64_t shared_turns;
    // None: kTurnMax, beside the server's lag. Of the clock, as turns that are renewed are short.
    std::optional<std::chrono::microseconds> turn_max;
  };
  // Three turns for two processors: of calls of 1 MiB beside 512 clients of another caller four
  // left 0.43, three 0.53, two as much and less of both callers' together.
  static Rules OfCalls();
  // As many as processors. A client that sends its items one by one, and no more than one in
  // kItemTurnMax, has no more than shared_turns of them served in that.
  static Rules OfItems();
  // Longer than a client that has sent more takes to be seen, or turns bound nobody: of the answers
  // of one caller beside 512 streams of another 500 us left 0.37, 1 ms 0.46.
  static constexpr std::chrono::microseconds kItemTurnMax{2000};

  class Client;

  // In line once, from Enter on.
  class Member {
   public:
    virtual ~Member() = default;

   protected:
    // It is its turn. Never waits. False: it has no use for it, and leaves.
    virtual bool OnTurn() = 0;

   private:
    friend class ReadLine;
    Client* client_ = nullptr;  // from Enter on
    std::int64_t era_ = -1;     // of its turn; before and after: none
  };

 private:
  using Clients = std::list<Client*>;
  // Turns by the era in which they began: they count in that and in the next.
  class Turns {
   public:
    std::int64_t Count(std::int64_t now);
    void Begin(std::int64_t now);
    void End(std::int64_t begun, std::int64_t now);

   private:
    std::int64_t& Of(std::int64_t era) { return counts_[static_cast<std::size_t>(era % 2)]; }
    void Forget(std::int64_t now);

    std::array<std::int64_t, 2> counts_ = {};
    std::int64_t last_ = 0;
  };

 public:
  // The calls of one connection, or of a caller who shows a name. It outlives its members.
  class Client {
   public:
    explicit Client(bool is_caller = false) : is_caller_(is_caller) {}

   private:
    friend class ReadLine;
    const bool is_caller_;
    std::atomic<std::int64_t> seen_{-1};  // the seen_era_ of its last call
    std::list<std::shared_ptr<Member>> line_;
    Turns turns_;
    Clients* among_ = nullptr;  // of those that wait; none: nobody of it is in line
    Clients::iterator position_;
  };

  explicit ReadLine(std::int64_t bytes_max, const Rules& rules = OfCalls()) : rules_(rules) {
    SetBytesMax(bytes_max);
  }
  ReadLine(const ReadLine&) = delete;
  ReadLine& operator=(const ReadLine&) = delete;

  // OnTurn comes before it returns, or later. RESOURCE_EXHAUSTED with RetryLater: too many wait.
  // The last quarter of the places is for clients that have few.
  absl::Status Enter(Client& client, const std::shared_ptr<Member>& member)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether several callers who show their names, of whom the client is one now, have members, or
  // had some of late: while they have not, those of items need not enter. Takes no lock but once a
  // while.
  bool IsSharedBy(Client& client) ABSL_LOCKS_EXCLUDED(mutex_);

  // The member's turn lasts as long as one that begins now. False: it is over.
  bool Renew(Member& member) ABSL_LOCKS_EXCLUDED(mutex_);

  // The member's turn is over. Once or more.
  void Leave(Member& member) ABSL_LOCKS_EXCLUDED(mutex_);

  // `passed` since it was last told, some 50 ms, while the server was `lag` behind: turns that last
  // for too long keep nobody waiting any longer.
  void Pass(std::chrono::milliseconds passed, std::chrono::milliseconds lag)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // As many may wait as fill `bytes_max`.
  void SetBytesMax(std::int64_t bytes_max) ABSL_LOCKS_EXCLUDED(mutex_);

  std::int64_t waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::uint64_t refused() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Members = std::vector<std::shared_ptr<Member>>;

  // Begins the next era, if the clock says so.
  void Age() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NextEra() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Several callers were seen in this era, or in the last.
  void NoticeCallers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts its caller, once an era.
  void See(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::int64_t TurnsMax() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next client that is due, out of those that wait; null: none.
  Client* NextClient() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Behind those that wait like it, if any of it are in line.
  void Wait(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds those whose turn it is now.
  void NextTurns(Members& members) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginTurn(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndTurn(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those that have no use for their turns leave them to whoever is next, but to kBegunMax at a
  // change: nobody who brings one about refuses the whole line.
  void Begin(Members& members) ABSL_LOCKS_EXCLUDED(mutex_);

  const Rules rules_;
  mutable absl::Mutex mutex_;
  std::chrono::steady_clock::time_point era_began_ ABSL_GUARDED_BY(mutex_);
  Clients without_turn_ ABSL_GUARDED_BY(mutex_);  // that have some in line
  Clients with_turns_ ABSL_GUARDED_BY(mutex_);    // the same
  std::int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t era_ ABSL_GUARDED_BY(mutex_) = 0;
  // Both are written under the lock. The era is of kTurnMax and the lag, whatever the rules.
  std::atomic<std::int64_t> seen_era_{0};
  std::atomic<bool> is_shared_{false};
  std::chrono::milliseconds era_age_ ABSL_GUARDED_BY(mutex_){0};
  Turns turns_ ABSL_GUARDED_BY(mutex_);
  std::array<std::int64_t, 2> callers_ ABSL_GUARDED_BY(mutex_) = {};  // seen in even, in odd eras
  std::int64_t waiting_max_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_READ_LINE_H_
