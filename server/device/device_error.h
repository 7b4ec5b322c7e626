// That a device is gone for good, told apart from all else that is UNAVAILABLE: a server that
// drains, a client's region that cannot be read, a call of the driver's that failed alone.
//
// The kind travels inside the absl::Status, so that it survives every layer that only passes a
// status on. Pure functions, safe from any thread.
#ifndef WARPFOLD_SERVER_DEVICE_DEVICE_ERROR_H_
#define WARPFOLD_SERVER_DEVICE_DEVICE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace warpfold {

// UNAVAILABLE: clients try another server.
absl::Status DeviceLostError(absl::string_view message);

bool IsDeviceLost(const absl::Status& status);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_DEVICE_ERROR_H_
