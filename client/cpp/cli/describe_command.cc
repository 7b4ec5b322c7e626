// `warpfold describe`: statistics of every tensor of some files, and whether some have what they
// should not.
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
#include "client/cpp/cli/files.h"
#include "client/cpp/cli/finding.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/summarize.h"
#include "client/cpp/cli/wrap.h"

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

absl::StatusOr<DescribeReport> Describe(const ServerFlags& server, const SummaryOptions& options,
                                        const InputFlags& file) {
  const absl::StatusOr<Input> input = Input::Open(file, Input::Reading::kOnce);
  if (!input.ok()) return input.status();
  absl::StatusOr<Summaries> summaries =
      input->pipe() != nullptr ? SummarizePipe(server, options, *input->pipe(), input->tensors())
                               : Summarize(server, options, input->tensors());
  if (!summaries.ok()) return InFile(input->name(), summaries.status());
  return DescribeReport{file.file, *std::move(summaries)};
}

// Whether a tensor of the file has one of `fail_on`; stderr says which, and names the file unless
// it is the only one. A tensor of which it cannot be told must not pass for clean.
absl::StatusOr<Verdict> Judge(const DescribeReport& report, bool is_one,
                              const std::vector<Finding>& fail_on) {
  const std::vector<TensorSummary>& tensors = report.summaries.tensors;
  const std::string subject = absl::StrCat(is_one ? "" : report.file + ": ", "--fail-on: ");
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
        absl::StrCat(subject, "this server does not tell it of ", list));
  }
  std::cerr << Printable(absl::StrCat("warpfold: ", subject, found.size(), " of ", tensors.size(),
                                      " tensors: ", list))
            << "\n";
  return Verdict::kFound;
}

}  // namespace

std::vector<absl::StatusOr<Verdict>> RunDescribe(const ServerFlags& server,
                                                 const DescribeFlags& flags) {
  const absl::StatusOr<std::vector<Finding>> fail_on = ParseFailOn(flags);
  if (!fail_on.ok()) return {fail_on.status()};
  if (absl::Status files = CheckFiles(flags.input); !files.ok()) return {files};
  const SummaryOptions options{flags.jobs, server.json, flags.statistics};
  const std::vector<absl::StatusOr<DescribeReport>> read = ForEachFile<DescribeReport>(
      flags.input, [&](const InputFlags& file) { return Describe(server, options, file); });
  const bool is_one = flags.input.files.size() == 1;
  std::vector<DescribeReport> reports;
  for (const absl::StatusOr<DescribeReport>& report : read) {
    if (report.ok()) reports.push_back(*report);
  }
  if (server.json && !is_one) {
    nlohmann::ordered_json json = FilesJson(flags.input.files, read, ReportJson);
    json["total"] = TotalJson(reports);
    std::cout << JsonText(json) << "\n";
  } else if (server.json && !reports.empty()) {
    std::cout << JsonText(ReportJson(reports[0])) << "\n";
  } else if (!reports.empty()) {
    std::cout << ReportText(reports, !is_one, UseColor(server.color, STDOUT_FILENO),
                            StdoutColumns());
  }
  std::cout.flush();  // before what stderr says of it
  std::vector<absl::StatusOr<Verdict>> verdicts;
  for (const absl::StatusOr<DescribeReport>& report : read) {
    verdicts.push_back(report.ok() ? Judge(*report, is_one, *fail_on)
                                   : absl::StatusOr<Verdict>(report.status()));
  }
  return verdicts;
}

}  // namespace warpfold::client
