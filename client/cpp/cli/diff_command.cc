// `warpfold diff`: two files, tensor by tensor. Bits are compared here; the server is asked for the
// statistics of what differs, and of nothing else: two equal files need no server.
#include <unistd.h>

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/cli/color.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/diff_report.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/summarize.h"
#include "client/cpp/cli/wrap.h"

namespace warpfold::client {
namespace {

// Fills in one side's summaries of what changed.
absl::Status AddStatistics(const ServerFlags& server, int jobs,
                           std::optional<NamedTensor> TensorDiff::*tensor,
                           std::optional<TensorSummary> TensorDiff::*summary,
                           std::vector<TensorDiff>& diffs) {
  std::vector<NamedTensor> asked;
  std::vector<TensorDiff*> changed;
  for (TensorDiff& diff : diffs) {
    if (diff.change != Change::kValues && diff.change != Change::kDType &&
        diff.change != Change::kShape) {
      continue;
    }
    asked.push_back(*(diff.*tensor));
    changed.push_back(&diff);
  }
  if (asked.empty()) return absl::OkStatus();
  absl::StatusOr<Summaries> summaries = Summarize(server, {.jobs = jobs}, asked);
  if (!summaries.ok()) return summaries.status();
  for (std::size_t i = 0; i < changed.size(); ++i) {
    changed[i]->*summary = std::move(summaries->tensors[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Verdict> RunDiff(const ServerFlags& server, const DiffFlags& flags) {
  if (flags.a == "-" && flags.b == "-") {
    return absl::InvalidArgumentError("stdin: can be one of the files, not both");
  }
  const absl::StatusOr<Input> a =
      Input::Open({flags.a, flags.dtype, flags.shape}, Input::Reading::kAnyhow);
  if (!a.ok()) return a.status();
  const absl::StatusOr<Input> b =
      Input::Open({flags.b, flags.dtype, flags.shape}, Input::Reading::kAnyhow);
  if (!b.ok()) return b.status();
  std::vector<NamedTensor> b_tensors = b->tensors();
  if (a->nameless() && b->nameless()) b_tensors[0].name = a->tensors()[0].name;
  DiffReport report{flags.a, flags.b, PairTensors(a->tensors(), b_tensors), flags.tolerance};
  SortByHowMuch(report.tensors);
  if (absl::Status added =
          AddStatistics(server, flags.jobs, &TensorDiff::a, &TensorDiff::a_summary, report.tensors);
      !added.ok()) {
    return InFile(a->name(), added);
  }
  if (absl::Status added =
          AddStatistics(server, flags.jobs, &TensorDiff::b, &TensorDiff::b_summary, report.tensors);
      !added.ok()) {
    return InFile(b->name(), added);
  }
  if (server.json) {
    std::cout << JsonText(DiffJson(report)) << "\n";
  } else {
    std::cout << DiffText(report, UseColor(server.color, STDOUT_FILENO), StdoutColumns());
  }
  return Differs(report) ? Verdict::kFound : Verdict::kClean;
}

}  // namespace warpfold::client
