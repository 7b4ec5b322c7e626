// Who may come in: requests in flight, and the bytes of payload and results that they hold, counted
// and bounded. A request's place ends when its answer is made; its bytes stay held until that is
// written.
//
// A client that does not read leaves room for those that ask for little, and for payload: answers
// above kSmallAnswerBytes hold half of the bytes at most, and one above kTinyAnswerBytes comes in
// while all answers hold three quarters at most; one large answer alone may hold more if it has to.
// Tiny ones are refused only when all bytes are held: beyond three quarters those that nobody reads
// are missed (TakeMissingBytes) as if others had been refused.
//
// Requests that need a worker hold three quarters of the places at most, so that however many wait
// for one there is room for small ones, which do not.
//
// Step of a request: 2, decide, before any memory is taken for it. The contract is that of
// TensorFlow's batch scheduler: a decision comes at once and never waits; a ticket is handed out
// only on OK; "full" and "too large" are different refusals (see refusal.h): the first may be
// retried after the delay it names, the second never fits.
//
// Where callers are told apart, each holds no more places, workers and bytes than are left, or than
// its quota (caller_share.h). CallerUse counts what it holds, and outlives the tickets.
//
// Safe from any thread. Tickets give back what they hold in their destructor and must not outlive
// the controller.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_ADMISSION_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_ADMISSION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/admission/connections.h"
#include "server/core/base/caller.h"
#include "server/core/base/caller_share.h"
#include "server/core/base/refusal.h"
#include "server/core/base/sojourn.h"

namespace warpfold {

class AdmissionController;

// What a stream's window takes, whether its client reads or not.
inline constexpr std::int64_t kSmallAnswerBytes = std::int64_t{64} << 10;

// What is no more than the call that it answers holds itself.
inline constexpr std::int64_t kTinyAnswerBytes = std::int64_t{4} << 10;

// Calls without a tensor that come in although there is no room: an operator asks a full server.
// What bounds them: each holds its call_bytes and a tiny answer.
inline constexpr std::int64_t kCallsWithoutRoomMax = 1024;

// What one request holds.
struct HeldBytes {
  std::int64_t payload = 0;
  std::int64_t results = 0;  // from before they are made until they are written
};

// The right of one request to be in the server. Move-only; a moved-from or default ticket holds
// nothing. One that is expected (Expect) holds bytes before it is a request in flight.
class AdmissionTicket {
 public:
  AdmissionTicket() = default;
  AdmissionTicket(AdmissionTicket&& other) noexcept : has_(std::exchange(other.has_, {})) {}
  AdmissionTicket& operator=(AdmissionTicket&& other) noexcept;
  ~AdmissionTicket();

  // Counts `bytes` more as held, refused as Admit refuses, or fewer.
  absl::Status TryHold(std::int64_t bytes) { return TryHold(HeldBytes{.payload = bytes}); }
  absl::Status TryHold(const HeldBytes& held);
  // The same for the answer of a call without a tensor, which always has room if it is tiny, and
  // never if it is above what all answers may hold.
  absl::Status TryHoldAnswer(std::int64_t answer_bytes);
  void Drop(std::int64_t bytes);
  // As AdmissionController::RefuseBeyond.
  absl::Status RefuseBeyond(std::int64_t bytes_max);
  // The request, which is admitted, needs a worker: refused as AdmissionController::CheckWorkers.
  absl::Status TakeWorker();

  // The request has its answer of `answer_bytes`, which is about to be written: gives its place
  // back. From now on, and instead of what it held, it holds them and `call_bytes` beside them,
  // even above the limit.
  void Answered(std::int64_t answer_bytes, std::int64_t call_bytes);

  // Gives everything back now.
  void Release();

  bool is_empty() const { return has_.controller == nullptr; }
  std::int64_t bytes() const { return has_.bytes; }  // that it holds
  // From Expect on, until it is admitted.
  bool is_expected() const { return !is_empty() && has_.stage == Stage::kExpected; }

 private:
  friend class AdmissionController;
  enum class Stage { kExpected, kAdmitted, kAnswered };
  struct Holding {
    AdmissionController* controller = nullptr;
    CallerUse* use = nullptr;  // null: everyone's
    Stage stage = Stage::kExpected;
    // Of one in kSampleOf, whose stay is measured.
    std::optional<std::chrono::steady_clock::time_point> admitted_at = {};
    bool is_without_tensor = false;
    std::int64_t bytes = 0;
    std::int64_t answer_bytes = 0;        // of them
    std::int64_t large_answer_bytes = 0;  // of these
    bool needs_worker = false;
  };

  explicit AdmissionTicket(AdmissionController* controller, CallerUse* use = nullptr)
      : has_{.controller = controller, .use = use} {}

  Holding has_;
};

// How short the server is of memory.
enum class Pressure { kNone, kHigh, kCritical };

struct AdmissionOptions {
  std::int64_t max_requests_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{1} << 30;
  // What a refused client is told to wait at least: a few times a typical small request, so that
  // the queue has moved on by then. Longer while those in flight take longer (Sojourn).
  std::chrono::milliseconds retry_delay{100};
  // While memory is short: until it may have been freed.
  std::chrono::milliseconds pressure_retry_delay{1000};
  std::int64_t high_pressure_bytes_max = std::int64_t{1} << 20;  // of a payload, at kHigh
  // The same while the server starts, which takes seconds or minutes.
  std::chrono::milliseconds starting_retry_delay{1000};
  ReadLine::Rules item_turns = ReadLine::OfItems();
};

struct AdmissionState {
  std::int64_t requests_in_flight = 0;
  std::int64_t worker_requests = 0;    // of them, those that need a worker
  std::int64_t requests_expected = 0;  // streams that have not brought their first segment
  std::int64_t answers_unwritten = 0;
  std::int64_t calls_without_tensor = 0;  // of them
  std::int64_t bytes_in_flight = 0;
  std::int64_t answer_bytes = 0;        // of them: results, and answers with their calls
  std::int64_t large_answer_bytes = 0;  // of these, of answers above kSmallAnswerBytes
  std::uint64_t refused_requests = 0;   // too many requests in flight
  std::uint64_t refused_workers = 0;    // too many of them need a worker
  std::uint64_t refused_bytes = 0;      // too many bytes in flight
  std::uint64_t refused_answers = 0;    // too many of them of answers
  std::uint64_t refused_share = 0;      // a caller's share of any of these
  std::uint64_t refused_too_large = 0;  // one request above max_bytes_in_flight
  std::uint64_t refused_closed = 0;     // draining
  std::uint64_t refused_starting = 0;
  std::uint64_t refused_pressure = 0;       // memory is short
  std::uint64_t refused_queue_timeout = 0;  // waited too long for its turn
};

class AdmissionController {
 public:
  explicit AdmissionController(const AdmissionOptions& options)
      : options_(options),
        open_calls_(options.max_bytes_in_flight),
        read_line_(options.max_bytes_in_flight),
        item_line_(options.max_bytes_in_flight, options.item_turns) {}
  AdmissionController(const AdmissionController&) = delete;
  AdmissionController& operator=(const AdmissionController&) = delete;

  // Admits a request of the caller's whose `use` is, null: everyone's, that holds `held`, whose
  // numbers are not negative. RESOURCE_EXHAUSTED with
  // RetryLater: full, or short of memory; with NeverFits: larger than the whole budget.
  // UNAVAILABLE: closed, or as CheckStarted.
  absl::StatusOr<AdmissionTicket> Admit(const HeldBytes& held, CallerUse* use = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For a request whose bytes are still to come: a ticket that holds nothing, so that a client that
  // sends nothing takes no other's place. Refused as Admit(held) would be.
  absl::StatusOr<AdmissionTicket> Expect(const HeldBytes& held, CallerUse* use = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes an expected request one in flight that holds `held` beside what its ticket holds. Refused
  // as above, but not for Close.
  absl::Status Admit(const HeldBytes& held, AdmissionTicket* expected) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a call without a tensor, which is no request in flight: from now on its answer is
  // unwritten, and holds `call_bytes`. RESOURCE_EXHAUSTED with RetryLater: neither is there room
  // nor are such calls fewer than kCallsWithoutRoomMax.
  absl::StatusOr<AdmissionTicket> AdmitCall(std::int64_t call_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // For an answer that refuses a request, which is sent whatever is held: it is unwritten from now
  // on, and holds `bytes`.
  AdmissionTicket ChargeRefusal(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether all bytes are held.
  bool IsFull() const ABSL_LOCKS_EXCLUDED(mutex_);

  Connections& connections() { return connections_; }
  OpenCalls& open_calls() { return open_calls_; }
  const OpenCalls& open_calls() const { return open_calls_; }
  ReadLine& read_line() { return read_line_; }
  const ReadLine& read_line() const { return read_line_; }
  // Of streams whose next item has come.
  ReadLine& item_line() { return item_line_; }
  const ReadLine& item_line() const { return item_line_; }

  // What TakeWorker would say now. RESOURCE_EXHAUSTED with RetryLater: those that need a worker are
  // as many as may be.
  absl::Status CheckWorkers(const CallerUse* use = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a request that waited `limit` for its turn, in vain: RESOURCE_EXHAUSTED with RetryLater.
  absl::Status RefuseQueued(std::chrono::milliseconds limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // For a stream that waits for its client where all such hold `bytes_max` already: the same.
  absl::Status RefuseBeyond(std::int64_t bytes_max) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on. What is admitted stays, even above the new limits.
  void SetLimits(std::int64_t max_requests_in_flight, std::int64_t max_bytes_in_flight)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on: at kHigh large payloads are refused, at kCritical all. What is admitted stays.
  void SetPressure(Pressure pressure) ABSL_LOCKS_EXCLUDED(mutex_);

  // How many bytes were missing, since it was last asked, to whoever was refused for want of them:
  // of several requests those of the one that missed most. Or, if that is more, what answers hold
  // beyond their three quarters.
  std::int64_t TakeMissingBytes() ABSL_LOCKS_EXCLUDED(mutex_);

  // Admits nothing until Open: the server is starting, and now at `stage`.
  void HoldBack(std::string stage) ABSL_LOCKS_EXCLUDED(mutex_);
  void Open() ABSL_LOCKS_EXCLUDED(mutex_);
  // UNAVAILABLE with RetryLater between HoldBack and Open, for calls that need no admission.
  absl::Status CheckStarted() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Admits nothing from now on: the server drains.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  AdmissionState state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class AdmissionTicket;
  absl::StatusOr<AdmissionTicket> ExpectLocked(const HeldBytes& held, CallerUse* use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a request that holds `held` more has room; counts it if it is refused.
  absl::Status CheckRoom(const HeldBytes& held, const CallerUse* use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a caller stays within its share with another request that holds `held`.
  absl::Status CheckShare(const HeldBytes& held, const CallerUse& use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BytesShare(const HeldBytes& held, const CallerUse& use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same of one of these; counts it if it is refused.
  absl::Status ShareOf(const Shared& of, const SharedUse& use, std::int64_t more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one request may be within its caller's quota.
  absl::Status CheckFitsQuota(const HeldBytes& held, const CallerUse& use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a request in the server may hold `held` more: within the limits and the quota. A share
  // is asked for as it comes in alone.
  absl::Status CheckMore(const HeldBytes& held, const CallerUse* use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckPressure(const HeldBytes& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckOpen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckBytes(const HeldBytes& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckAnswer(std::int64_t call_bytes, std::int64_t answer_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoRoomForAnswer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether answers stay within their shares with another of `answer_bytes`; counts it if not.
  absl::Status CheckShares(std::int64_t answer_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::int64_t LargeAnswersMax() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return options_.max_bytes_in_flight / 2;
  }
  std::int64_t AllAnswersMax() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return options_.max_bytes_in_flight - options_.max_bytes_in_flight / 4;
  }
  absl::Status CheckWorkersLocked(const CallerUse* use) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  AdmissionTicket HoldUnwritten(std::int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Hold(const HeldBytes& held, AdmissionTicket* ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fewer, if `bytes` is negative.
  void HoldMore(std::int64_t bytes, AdmissionTicket* ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const HeldBytes& held, AdmissionTicket* ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place in the counts that it has, which ends or becomes another.
  void LeavePlace(AdmissionTicket* ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteStay(AdmissionTicket* ticket);
  RetryLater Later() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartingError() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answered(AdmissionTicket* ticket, std::int64_t answer_bytes, std::int64_t call_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Return(AdmissionTicket* ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  AdmissionOptions options_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::string> starting_ ABSL_GUARDED_BY(mutex_);  // the stage
  Pressure pressure_ ABSL_GUARDED_BY(mutex_) = Pressure::kNone;
  AdmissionState state_ ABSL_GUARDED_BY(mutex_);
  std::int64_t missing_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Connections connections_;
  OpenCalls open_calls_;
  ReadLine read_line_;
  ReadLine item_line_;
  Sojourn sojourn_;
  std::uint64_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_ADMISSION_H_
