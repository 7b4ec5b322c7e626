// A caller's side of admission.h: its share, and its quotas.
#include "absl/status/status.h"
#include "server/core/admission/admission.h"

namespace warpfold {

absl::Status AdmissionController::CheckFitsQuota(const HeldBytes& held, const CallerUse& use) {
  absl::Status fits =
      warpfold::CheckFitsQuota(kSharedBytes, use.QuotaOfBytes(), held.payload + held.results);
  if (!fits.ok()) ++state_.refused_too_large;
  return fits;
}

absl::Status AdmissionController::CheckMore(const HeldBytes& held, const CallerUse* use) {
  absl::Status room = CheckBytes(held);
  if (!room.ok() || use == nullptr || !use->QuotaOfBytes().has_value()) return room;
  room = CheckFitsQuota(held, *use);
  return room.ok() ? BytesShare(held, *use) : room;
}

absl::Status AdmissionController::BytesShare(const HeldBytes& held, const CallerUse& use) {
  return ShareOf(
      kSharedBytes,
      {use.bytes, state_.bytes_in_flight, options_.max_bytes_in_flight, use.QuotaOfBytes()},
      held.payload + held.results);
}

absl::Status AdmissionController::CheckShare(const HeldBytes& held, const CallerUse& use) {
  absl::Status within = ShareOf(kSharedRequests,
                                {use.requests, state_.requests_in_flight,
                                 options_.max_requests_in_flight, use.QuotaOfRequests()},
                                1);
  return within.ok() ? BytesShare(held, use) : within;
}

absl::Status AdmissionController::ShareOf(const Shared& of, const SharedUse& use,
                                          std::int64_t more) {
  absl::Status within = warpfold::CheckShare(of, use, more, Later());
  if (!within.ok()) ++state_.refused_share;
  return within;
}

}  // namespace warpfold
