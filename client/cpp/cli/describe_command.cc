// `warpfold describe`: statistics of every tensor of a file.
#include <iostream>
#include <utility>

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/describe_report.h"
#include "client/cpp/cli/summarize.h"

namespace warpfold::client {

absl::Status RunDescribe(const ServerFlags& server, const DescribeFlags& flags) {
  const absl::StatusOr<Input> input = Input::Open(flags.input);
  if (!input.ok()) return input.status();
  absl::StatusOr<Summaries> summaries = Summarize(server, flags.jobs, input->tensors());
  if (!summaries.ok()) return InFile(input->name(), summaries.status());
  const DescribeReport report{flags.input.file, *std::move(summaries)};
  if (server.json) {
    std::cout << ReportJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << ReportText(report);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
