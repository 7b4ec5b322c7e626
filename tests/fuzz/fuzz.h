// What the targets share: their input in the form that the server receives it, and how a promise
// that does not hold ends the run.
#ifndef WARPFOLD_TESTS_FUZZ_FUZZ_H_
#define WARPFOLD_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace warpfold::fuzz {

// libFuzzer keeps the input that led here.
inline void Require(bool holds, const std::string& promise) {
  if (holds) return;
  std::cerr << "broken promise: " << promise << std::endl;
  std::abort();
}

// A refusal is one of what callers can do something about, and names the field.
inline void RequireRefusal(const absl::Status& status) {
  Require(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
              absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status) ||
              absl::IsNotFound(status),
          "a refusal says what the caller can do: " + status.ToString());
  Require(absl::StrContains(status.message(), ": "),
          "a refusal names a field: " + status.ToString());
}

}  // namespace warpfold::fuzz

// libFuzzer's, of each target: https://llvm.org/docs/LibFuzzer.html
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#endif  // WARPFOLD_TESTS_FUZZ_FUZZ_H_
