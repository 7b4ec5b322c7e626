// What the Open Inference Protocol calls the fields of warpfold.v1 that errors are about.
//
// Step of a request: the way back. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_FIELD_NAMES_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_FIELD_NAMES_H_

#include <cstdint>

#include "absl/status/status.h"

namespace warpfold::kserve {

// Whose bytes an error is about: `data` and `memory` have another name with each.
enum class Bytes : std::uint8_t { kRawInput, kTypedInput, kOutput };

// `status` with the field that it is about by its name here. One that is about none, or about one
// that the protocol does not have, stays as it is.
absl::Status Renamed(const absl::Status& status, Bytes bytes = Bytes::kRawInput);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_FIELD_NAMES_H_
