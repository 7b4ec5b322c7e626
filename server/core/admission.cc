#include "server/core/admission.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

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

AdmissionTicket::AdmissionTicket(AdmissionTicket&& other) noexcept
    : controller_(std::exchange(other.controller_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

AdmissionTicket& AdmissionTicket::operator=(AdmissionTicket&& other) noexcept {
  if (this != &other) {
    Release();
    controller_ = std::exchange(other.controller_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

AdmissionTicket::~AdmissionTicket() { Release(); }

void AdmissionTicket::Hold(std::int64_t bytes) {
  if (controller_ == nullptr) return;
  bytes_ += bytes;
  controller_->Return(0, -bytes);
}

absl::Status AdmissionTicket::TryHold(std::int64_t bytes) {
  if (controller_ == nullptr) return absl::OkStatus();
  absl::MutexLock lock(&controller_->mutex_);
  absl::Status taken = controller_->TakeBytes(bytes);
  if (taken.ok()) bytes_ += bytes;
  return taken;
}

void AdmissionTicket::Release() {
  if (controller_ == nullptr) return;
  std::exchange(controller_, nullptr)->Return(1, std::exchange(bytes_, 0));
}

absl::StatusOr<AdmissionTicket> AdmissionController::Admit(const HeldBytes& held) {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    ++state_.refused_closed;
    return absl::UnavailableError("the server is shutting down");
  }
  if (starting_.has_value()) {
    ++state_.refused_starting;
    return StartingError();
  }
  if (absl::Status fits = CheckFits(held, options_.max_bytes_in_flight); !fits.ok()) {
    ++state_.refused_too_large;
    return fits;
  }
  if (pressure_ == Pressure::kCritical ||
      (pressure_ == Pressure::kHigh &&
       held.payload + held.results > options_.high_pressure_bytes_max)) {
    ++state_.refused_pressure;
    return RefusalStatus(RetryLater{options_.pressure_retry_delay},
                         "the server is short of memory");
  }
  if (state_.requests_in_flight >= options_.max_requests_in_flight) {
    ++state_.refused_requests;
    return RefusalStatus(RetryLater{options_.retry_delay},
                         absl::StrCat("the limit of ", options_.max_requests_in_flight,
                                      " requests in flight is reached"));
  }
  const std::int64_t bytes = held.payload + held.results;
  if (absl::Status taken = TakeBytes(bytes); !taken.ok()) return taken;
  ++state_.requests_in_flight;
  return AdmissionTicket(this, bytes);
}

absl::Status AdmissionController::TakeBytes(std::int64_t bytes) {
  if (state_.bytes_in_flight + bytes > options_.max_bytes_in_flight) {
    ++state_.refused_bytes;
    return RefusalStatus(RetryLater{options_.retry_delay},
                         absl::StrCat("the limit of ", options_.max_bytes_in_flight,
                                      " payload bytes in flight is reached"));
  }
  state_.bytes_in_flight += bytes;
  return absl::OkStatus();
}

void AdmissionController::SetLimits(std::int64_t max_requests_in_flight,
                                    std::int64_t max_bytes_in_flight) {
  absl::MutexLock lock(&mutex_);
  options_.max_requests_in_flight = max_requests_in_flight;
  options_.max_bytes_in_flight = max_bytes_in_flight;
}

void AdmissionController::SetPressure(Pressure pressure) {
  absl::MutexLock lock(&mutex_);
  pressure_ = pressure;
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

void AdmissionController::Return(std::int64_t requests, std::int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  state_.requests_in_flight -= requests;
  state_.bytes_in_flight -= bytes;
}

}  // namespace warpfold
