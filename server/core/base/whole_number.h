// A whole number as people write it.
#ifndef WARPFOLD_SERVER_CORE_BASE_WHOLE_NUMBER_H_
#define WARPFOLD_SERVER_CORE_BASE_WHOLE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"

namespace warpfold {

// In decimal digits, with a sign or without. None: it is no such number, or has more than 64 bits.
inline std::optional<std::int64_t> ReadWholeNumber(const std::string& text) {
  std::int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_WHOLE_NUMBER_H_
