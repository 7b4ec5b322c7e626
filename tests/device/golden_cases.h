// What every Worker must do, on any backend: answer what no rounding is part of as all versions do.
// Shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_GOLDEN_CASES_H_
#define WARPFOLD_TESTS_DEVICE_GOLDEN_CASES_H_

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/device/worker_cases.h"
#include "tests/golden/goldens.h"
#include "tests/kernels/effort.h"

namespace warpfold::testing {

// An answer of OUT_OF_RANGE, or any other one's message, which no golden is.
inline std::string RefusedAnswer(const absl::Status& status) {
  static const std::regex kRefusal(
      "ops: the (?:sum|product) of output element (\\d+)(?: is (-?\\d+), which)? does not fit in "
      "[iu]64");
  const std::string message(status.message());
  std::smatch found;
  if (!absl::IsOutOfRange(status) || !std::regex_match(message, found, kRefusal)) return message;
  return "!" + found[1].str() + (found[2].matched ? ":" + found[2].str() : "");
}

inline void AnswersAsEver(Worker& worker) {
  std::mt19937_64 random(63);
  for (const DType dtype : DTypesToTest()) {
    ExpectGoldens(dtype, [&](const Plan& plan, const std::vector<char>& elements) {
      const absl::StatusOr<Outcome> outcome = Feed(worker, plan, elements.data(), random);
      if (outcome.ok()) return AnswersOf(plan, outcome->results);
      return GoldenAnswers{RefusedAnswer(outcome.status())};
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_GOLDEN_CASES_H_
