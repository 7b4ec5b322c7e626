#include "client/cpp/cli/finding.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

double Value(const Tensor& scalar) { return ElementDouble(scalar.dtype, scalar.data.data()); }

}  // namespace

std::string Name(Finding finding) {
  switch (finding) {
    case Finding::kNan:
      return "nan";
    case Finding::kInf:
      return "inf";
    case Finding::kZero:
      return "zero";
    case Finding::kConstant:
      return "constant";
  }
  return "";
}

absl::StatusOr<Finding> ParseFinding(std::string_view name) {
  for (const Finding finding : kFindings) {
    if (Name(finding) == name) return finding;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", std::string(name), "' is none of ",
      absl::StrJoin(kFindings, ", ",
                    [](std::string* out, Finding finding) { out->append(Name(finding)); })));
}

std::optional<bool> Has(const TensorSummary& tensor, Finding finding) {
  if (tensor.is_unread) return std::nullopt;
  if (tensor.count == 0) return false;
  if (!tensor.min.has_value() || !tensor.max.has_value()) return std::nullopt;
  const double min = Value(*tensor.min);
  const double max = Value(*tensor.max);
  switch (finding) {
    case Finding::kNan:  // MIN and MAX of an older server, which does not count, say it too
      return tensor.nan_count.has_value() ? Value(*tensor.nan_count) > 0 : std::isnan(min);
    case Finding::kInf:
      if (tensor.inf_count.has_value()) return Value(*tensor.inf_count) > 0;
      if (std::isnan(min)) return std::nullopt;
      return std::isinf(min) || std::isinf(max);
    case Finding::kZero:
      return min == 0 && max == 0;
    case Finding::kConstant:
      return tensor.count > 1 &&
             SameElement(tensor.min->dtype, tensor.min->data.data(), tensor.max->data.data());
  }
  return std::nullopt;
}

std::vector<Finding> FindingsOf(const TensorSummary& tensor) {
  std::vector<Finding> findings;
  for (const Finding finding : kFindings) {
    if (Has(tensor, finding).value_or(false)) findings.push_back(finding);
  }
  return findings;
}

std::string NameList(const std::vector<Finding>& findings) {
  return absl::StrJoin(findings, ",",
                       [](std::string* out, Finding finding) { out->append(Name(finding)); });
}

}  // namespace warpfold::client
