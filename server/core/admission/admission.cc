#include "server/core/admission/admission.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

// Of the stays that the retry delay is made of: the clock is read for no more.
constexpr std::uint64_t kSampleOf = 16;

// What counts against the large answers' half.
std::int64_t LargeAnswerBytes(std::int64_t bytes) { return bytes > kSmallAnswerBytes ? bytes : 0; }

absl::Status CheckFits(const HeldBytes& held, std::int64_t bytes_max) {
  if (held.payload > bytes_max) {
    return RefusalStatus(
        NeverFits{},
        absl::StrCat("the payload of ", held.payload, " bytes is above the ", bytes_max,
                     " bytes this server holds at a time: use ReduceStream"));
  }
  if (held.results > bytes_max - held.payload) {
    return RefusalStatus(
        NeverFits{},
        absl::StrCat("the payload of ", held.payload, " bytes and the results of ", held.results,
                     " are above the ", bytes_max, " bytes this server holds at a time"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdmissionTicket> AdmissionController::Admit(const HeldBytes& held, CallerUse* use) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<AdmissionTicket> ticket = ExpectLocked(held, use);
  if (ticket.ok()) Take(held, &*ticket);
  return ticket;
}

absl::StatusOr<AdmissionTicket> AdmissionController::Expect(const HeldBytes& held, CallerUse* use) {
  absl::MutexLock lock(&mutex_);
  return ExpectLocked(held, use);
}

absl::StatusOr<AdmissionTicket> AdmissionController::ExpectLocked(const HeldBytes& held,
                                                                  CallerUse* use) {
  absl::Status room = CheckOpen();
  if (room.ok()) room = CheckRoom(held, use);
  if (!room.ok()) return room;
  ++state_.requests_expected;
  return AdmissionTicket(this, use);
}

absl::Status AdmissionController::Admit(const HeldBytes& held, AdmissionTicket* expected) {
  absl::MutexLock lock(&mutex_);
  absl::Status room = CheckRoom(held, expected->has_.use);
  if (room.ok()) Take(held, expected);
  return room;
}

absl::StatusOr<AdmissionTicket> AdmissionController::AdmitCall(std::int64_t call_bytes) {
  absl::MutexLock lock(&mutex_);
  const std::int64_t above =
      call_bytes + std::max(state_.bytes_in_flight - options_.max_bytes_in_flight,
                            state_.answer_bytes - AllAnswersMax());
  if (above > 0 && state_.calls_without_tensor >= kCallsWithoutRoomMax) {
    ++state_.refused_bytes;
    missing_bytes_ = std::max(missing_bytes_, above);
    return NoRoomForAnswer();
  }
  AdmissionTicket ticket = HoldUnwritten(call_bytes);
  ticket.has_.is_without_tensor = true;
  ++state_.calls_without_tensor;
  return ticket;
}

AdmissionTicket AdmissionController::HoldUnwritten(std::int64_t bytes) {
  AdmissionTicket ticket(this);
  ticket.has_.stage = AdmissionTicket::Stage::kAnswered;
  ++state_.answers_unwritten;
  Hold({.results = bytes}, &ticket);
  return ticket;
}

AdmissionTicket AdmissionController::ChargeRefusal(std::int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  return HoldUnwritten(bytes);
}

bool AdmissionController::IsFull() const {
  absl::MutexLock lock(&mutex_);
  return state_.bytes_in_flight >= options_.max_bytes_in_flight;
}

absl::Status AdmissionController::CheckOpen() {
  if (closed_) {
    ++state_.refused_closed;
    return absl::UnavailableError("the server is shutting down");
  }
  if (starting_.has_value()) {
    ++state_.refused_starting;
    return StartingError();
  }
  return absl::OkStatus();
}

absl::Status AdmissionController::CheckRoom(const HeldBytes& held, const CallerUse* use) {
  if (absl::Status fits = CheckFits(held, options_.max_bytes_in_flight); !fits.ok()) {
    ++state_.refused_too_large;
    return fits;
  }
  if (use != nullptr) {
    if (absl::Status fits = CheckFitsQuota(held, *use); !fits.ok()) return fits;
  }
  if (absl::Status room = CheckPressure(held); !room.ok()) return room;
  if (state_.requests_in_flight >= options_.max_requests_in_flight) {
    ++state_.refused_requests;
    return RefusalStatus(Later(), absl::StrCat("the limit of ", options_.max_requests_in_flight,
                                               " requests in flight is reached"));
  }
  absl::Status room = CheckBytes(held);
  return room.ok() && use != nullptr ? CheckShare(held, *use) : room;
}

absl::Status AdmissionController::CheckPressure(const HeldBytes& held) {
  const bool is_refused = pressure_ == Pressure::kCritical ||
                          (pressure_ == Pressure::kHigh &&
                           held.payload + held.results > options_.high_pressure_bytes_max);
  if (!is_refused) return absl::OkStatus();
  ++state_.refused_pressure;
  return RefusalStatus(RetryLater{options_.pressure_retry_delay}, "the server is short of memory");
}

absl::Status AdmissionController::CheckAnswer(std::int64_t call_bytes, std::int64_t answer_bytes) {
  const HeldBytes held{.results = answer_bytes};
  if (call_bytes + answer_bytes > AllAnswersMax()) {
    ++state_.refused_too_large;
    return RefusalStatus(
        NeverFits{}, absl::StrCat("the answer is above the ", AllAnswersMax(),
                                  " bytes that answers hold at a time (--max-bytes-in-flight)"));
  }
  if (absl::Status room = CheckPressure(held); !room.ok()) return room;
  return CheckBytes(held).ok() ? absl::OkStatus() : NoRoomForAnswer();
}

absl::Status AdmissionController::NoRoomForAnswer() const {
  return RefusalStatus(Later(), "the answer has no room now (--max-bytes-in-flight)");
}

absl::Status AdmissionController::CheckShares(std::int64_t answer_bytes) {
  const std::int64_t large_bytes = LargeAnswerBytes(answer_bytes);
  // One that is alone may be larger.
  const bool is_alone = (large_bytes > 0 ? state_.large_answer_bytes : state_.answer_bytes) == 0;
  if (answer_bytes <= kTinyAnswerBytes || is_alone) return absl::OkStatus();
  const std::int64_t large_above =
      large_bytes > 0 ? state_.large_answer_bytes + large_bytes - LargeAnswersMax() : 0;
  const std::int64_t above =
      std::max(large_above, state_.answer_bytes + answer_bytes - AllAnswersMax());
  if (above <= 0) return absl::OkStatus();
  ++state_.refused_answers;
  missing_bytes_ = std::max(missing_bytes_, above);
  if (large_above > 0) {
    return RefusalStatus(Later(), absl::StrCat("the limit of ", LargeAnswersMax(),
                                               " bytes of answers in flight is reached"));
  }
  return RefusalStatus(Later(), absl::StrCat("the limit of ", AllAnswersMax(),
                                             " bytes of all answers in flight is reached "
                                             "(--max-bytes-in-flight)"));
}

absl::Status AdmissionController::CheckBytes(const HeldBytes& held) {
  const std::int64_t above =
      state_.bytes_in_flight + held.payload + held.results - options_.max_bytes_in_flight;
  if (absl::Status room = CheckShares(held.results); !room.ok()) {
    missing_bytes_ = std::max(missing_bytes_, above);
    return room;
  }
  if (above <= 0) return absl::OkStatus();
  ++state_.refused_bytes;
  missing_bytes_ = std::max(missing_bytes_, above);
  return RefusalStatus(Later(), absl::StrCat("the limit of ", options_.max_bytes_in_flight,
                                             " payload bytes in flight is reached"));
}

absl::Status AdmissionController::CheckWorkers(const CallerUse* use) {
  absl::MutexLock lock(&mutex_);
  return CheckWorkersLocked(use);
}

absl::Status AdmissionController::CheckWorkersLocked(const CallerUse* use) {
  const std::int64_t requests_max = options_.max_requests_in_flight;
  const std::int64_t worker_requests_max = requests_max - requests_max / 4;
  if (state_.worker_requests < worker_requests_max) {
    // A quota of requests bounds them, too.
    if (use == nullptr || use->QuotaOfRequests().has_value()) return absl::OkStatus();
    return ShareOf(kSharedWorkers,
                   {use->worker_requests, state_.worker_requests, worker_requests_max}, 1);
  }
  ++state_.refused_workers;
  return RefusalStatus(Later(),
                       absl::StrCat("the limit of ", worker_requests_max,
                                    " requests in flight that need a worker is reached (three "
                                    "quarters of --max-requests-in-flight)"));
}

RetryLater AdmissionController::Later() const {
  return {sojourn_.RetryDelay(options_.retry_delay)};
}

absl::Status AdmissionController::RefuseQueued(std::chrono::milliseconds limit) {
  absl::MutexLock lock(&mutex_);
  ++state_.refused_queue_timeout;
  return RefusalStatus(Later(), absl::StrCat("the request waited its turn for longer than ",
                                             limit.count(), " ms (--queue-timeout-ms)"));
}

absl::Status AdmissionController::RefuseBeyond(std::int64_t bytes_max) {
  absl::MutexLock lock(&mutex_);
  ++state_.refused_bytes;
  return RefusalStatus(Later(), absl::StrCat("the limit of ", bytes_max,
                                             " bytes of streams that wait for their clients is "
                                             "reached"));
}

void AdmissionController::Hold(const HeldBytes& held, AdmissionTicket* ticket) {
  const std::int64_t bytes = held.payload + held.results;
  const std::int64_t large_bytes = LargeAnswerBytes(held.results);
  state_.answer_bytes += held.results;
  state_.large_answer_bytes += large_bytes;
  HoldMore(bytes, ticket);
  ticket->has_.answer_bytes += held.results;
  ticket->has_.large_answer_bytes += large_bytes;
}

void AdmissionController::HoldMore(std::int64_t bytes, AdmissionTicket* ticket) {
  state_.bytes_in_flight += bytes;
  ticket->has_.bytes += bytes;
  if (ticket->has_.use != nullptr) ticket->has_.use->bytes += bytes;
}

void AdmissionController::Take(const HeldBytes& held, AdmissionTicket* ticket) {
  --state_.requests_expected;
  ++state_.requests_in_flight;
  if (ticket->has_.use != nullptr) ++ticket->has_.use->requests;
  ticket->has_.stage = AdmissionTicket::Stage::kAdmitted;
  if (admitted_++ % kSampleOf == 0) ticket->has_.admitted_at = std::chrono::steady_clock::now();
  Hold(held, ticket);
}

void AdmissionController::SetLimits(std::int64_t max_requests_in_flight,
                                    std::int64_t max_bytes_in_flight) {
  absl::MutexLock lock(&mutex_);
  options_.max_requests_in_flight = max_requests_in_flight;
  options_.max_bytes_in_flight = max_bytes_in_flight;
  open_calls_.SetBytesMax(max_bytes_in_flight);
  read_line_.SetBytesMax(max_bytes_in_flight);
  item_line_.SetBytesMax(max_bytes_in_flight);
}

void AdmissionController::SetPressure(Pressure pressure) {
  absl::MutexLock lock(&mutex_);
  pressure_ = pressure;
}

std::int64_t AdmissionController::TakeMissingBytes() {
  absl::MutexLock lock(&mutex_);
  // One large answer alone may hold more than the half.
  const std::int64_t allowed_above =
      std::max(std::int64_t{0}, state_.large_answer_bytes - LargeAnswersMax());
  return std::max(std::exchange(missing_bytes_, 0),
                  state_.answer_bytes - allowed_above - AllAnswersMax());
}

absl::Status AdmissionController::StartingError() const {
  return StartingStatus(RetryLater{options_.starting_retry_delay},
                        absl::StrCat("starting: ", *starting_));
}

void AdmissionController::HoldBack(std::string stage) {
  absl::MutexLock lock(&mutex_);
  starting_ = std::move(stage);
}

void AdmissionController::Open() {
  absl::MutexLock lock(&mutex_);
  starting_.reset();
}

absl::Status AdmissionController::CheckStarted() const {
  absl::MutexLock lock(&mutex_);
  return starting_.has_value() ? StartingError() : absl::OkStatus();
}

void AdmissionController::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

AdmissionState AdmissionController::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

void AdmissionController::LeavePlace(AdmissionTicket* ticket) {
  CallerUse* const use = ticket->has_.use;
  if (std::exchange(ticket->has_.needs_worker, false)) {
    --state_.worker_requests;
    if (use != nullptr) --use->worker_requests;
  }
  switch (ticket->has_.stage) {
    case AdmissionTicket::Stage::kExpected:
      --state_.requests_expected;
      break;
    case AdmissionTicket::Stage::kAdmitted:
      --state_.requests_in_flight;
      if (use != nullptr) --use->requests;
      break;
    case AdmissionTicket::Stage::kAnswered:
      --state_.answers_unwritten;
      break;
  }
}

void AdmissionController::NoteStay(AdmissionTicket* ticket) {
  if (!ticket->has_.admitted_at.has_value()) return;
  sojourn_.Note(std::chrono::steady_clock::now() - *ticket->has_.admitted_at);
  ticket->has_.admitted_at.reset();
}

void AdmissionController::Answered(AdmissionTicket* ticket, std::int64_t answer_bytes,
                                   std::int64_t call_bytes) {
  NoteStay(ticket);
  AdmissionTicket::Holding& has = ticket->has_;
  const std::int64_t bytes = answer_bytes + call_bytes;
  const std::int64_t large_bytes = LargeAnswerBytes(answer_bytes);
  absl::MutexLock lock(&mutex_);
  LeavePlace(ticket);
  has.stage = AdmissionTicket::Stage::kAnswered;
  ++state_.answers_unwritten;
  state_.answer_bytes += bytes - has.answer_bytes;
  state_.large_answer_bytes += large_bytes - has.large_answer_bytes;
  HoldMore(bytes - has.bytes, ticket);
  has.answer_bytes = bytes;
  has.large_answer_bytes = large_bytes;
}

void AdmissionController::Return(AdmissionTicket* ticket) {
  NoteStay(ticket);
  absl::MutexLock lock(&mutex_);
  LeavePlace(ticket);
  if (ticket->has_.is_without_tensor) --state_.calls_without_tensor;
  HoldMore(-ticket->has_.bytes, ticket);
  state_.answer_bytes -= ticket->has_.answer_bytes;
  state_.large_answer_bytes -= ticket->has_.large_answer_bytes;
}

}  // namespace warpfold
