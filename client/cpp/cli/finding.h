// What `describe` flags in a tensor: what is seldom meant to be there.
//
// Thread safety: pure functions over values.
#ifndef WARPFOLD_CLIENT_CPP_CLI_FINDING_H_
#define WARPFOLD_CLIENT_CPP_CLI_FINDING_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/summarize.h"

namespace warpfold::client {

enum class Finding {
  kNan,       // "nan": a NaN or more
  kInf,       // "inf": an infinity or more
  kZero,      // "zero": all elements are 0 or -0
  kConstant,  // "constant": two elements or more, all of one value; all zeros too
};

inline constexpr Finding kFindings[] = {Finding::kNan, Finding::kInf, Finding::kZero,
                                        Finding::kConstant};

std::string Name(Finding finding);

// INVALID_ARGUMENT lists the names there are.
absl::StatusOr<Finding> ParseFinding(std::string_view name);

// Whether the tensor has it; absent when its statistics do not tell. A tensor of no elements has
// none.
std::optional<bool> Has(const TensorSummary& tensor, Finding finding);

// What it has for certain, in the order of kFindings.
std::vector<Finding> FindingsOf(const TensorSummary& tensor);

// "nan,inf"
std::string NameList(const std::vector<Finding>& findings);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_FINDING_H_
