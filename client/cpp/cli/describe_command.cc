// `warpfold describe`: statistics of every tensor of a file, and whether some have what they should
// not.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/color.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/describe_report.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/finding.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/summarize.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kTensorsNamedMax = 5;

absl::StatusOr<std::vector<Finding>> ParseFailOn(const DescribeFlags& flags) {
  std::vector<Finding> findings;
  for (const std::string& name : flags.fail_on) {
    const absl::StatusOr<Finding> finding = ParseFinding(name);
    if (!finding.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--fail-on: ", finding.status().message()));
    }
    findings.push_back(*finding);
  }
  return findings;
}

// Whether a tensor has one of `fail_on`; stderr says which. A tensor of which it cannot be told
// must not pass for clean.
absl::StatusOr<Verdict> Judge(const std::vector<TensorSummary>& tensors,
                              const std::vector<Finding>& fail_on) {
  std::vector<std::string> found;
  std::vector<std::string> unknown;
  for (const TensorSummary& tensor : tensors) {
    std::vector<Finding> has;
    bool told = true;
    for (const Finding finding : fail_on) {
      const std::optional<bool> answer = Has(tensor, finding);
      told = told && answer.has_value();
      if (answer.value_or(false)) has.push_back(finding);
    }
    if (!has.empty()) {
      found.push_back(absl::StrCat(tensor.name, " (", NameList(has), ")"));
    } else if (!told) {
      unknown.push_back(tensor.name);
    }
  }
  if (found.empty() && unknown.empty()) return Verdict::kClean;
  const std::vector<std::string>& named = found.empty() ? unknown : found;
  std::string list;
  for (std::size_t i = 0; i < std::min(named.size(), kTensorsNamedMax); ++i) {
    absl::StrAppend(&list, i > 0 ? ", " : "", named[i]);
  }
  if (named.size() > kTensorsNamedMax) {
    absl::StrAppend(&list, " and ", named.size() - kTensorsNamedMax, " more");
  }
  if (found.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("--fail-on: this server does not tell it of ", list));
  }
  std::cerr << Printable(absl::StrCat("warpfold: --fail-on: ", found.size(), " of ", tensors.size(),
                                      " tensors: ", list))
            << "\n";
  return Verdict::kFound;
}

}  // namespace

absl::StatusOr<Verdict> RunDescribe(const ServerFlags& server, const DescribeFlags& flags) {
  const absl::StatusOr<std::vector<Finding>> fail_on = ParseFailOn(flags);
  if (!fail_on.ok()) return fail_on.status();
  const absl::StatusOr<Input> input = Input::Open(flags.input, Input::Reading::kOnce);
  if (!input.ok()) return input.status();
  const SummaryOptions options{flags.jobs, server.json, flags.statistics};
  absl::StatusOr<Summaries> summaries =
      input->pipe() != nullptr ? SummarizePipe(server, options, *input->pipe(), input->tensors())
                               : Summarize(server, options, input->tensors());
  if (!summaries.ok()) return InFile(input->name(), summaries.status());
  const DescribeReport report{flags.input.file, *std::move(summaries)};
  if (server.json) {
    std::cout << JsonText(ReportJson(report)) << "\n";
  } else {
    std::cout << ReportText(report, UseColor(server.color, STDOUT_FILENO));
  }
  std::cout.flush();  // before what stderr says of it
  return Judge(report.summaries.tensors, *fail_on);
}

}  // namespace warpfold::client
