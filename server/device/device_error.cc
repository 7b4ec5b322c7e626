#include "server/device/device_error.h"

#include "absl/strings/cord.h"

namespace warpfold {
namespace {

constexpr char kLostKey[] = "warpfold/device-lost";

}  // namespace

absl::Status DeviceLostError(absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kLostKey, absl::Cord());
  return status;
}

bool IsDeviceLost(const absl::Status& status) { return status.GetPayload(kLostKey).has_value(); }

}  // namespace warpfold
