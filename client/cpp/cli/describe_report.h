// What `warpfold describe` found, as a table for people and as JSON for programs.
//
// Thread safety: pure functions over values.
#ifndef WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_
#define WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/cpp/cli/summarize.h"

namespace warpfold::client {

struct DescribeReport {
  std::string file;
  Summaries summaries;
};

// A row per tensor, with its file when `name_files`, then a line of totals. What the FLAGS column
// has is red or yellow when `color`. Notes are wrapped to `terminal_columns` (wrap.h).
std::string ReportText(const std::vector<DescribeReport>& reports, bool name_files, bool color,
                       int terminal_columns = 0);

// {"file", "device", "tensors": [{"name", "dtype", "shape", "count", "bytes", "min", "max", "mean",
// "std", "sum", "l1_norm", "l2_norm", "nan_count", "inf_count", "flags", "note"}],
//  "total": {"tensors", "bytes", "seconds", "gb_per_second"}}; what is absent is null. element.h
//  says how numbers are written.
nlohmann::ordered_json ReportJson(const DescribeReport& report);

// The "total" of several reports.
nlohmann::ordered_json TotalJson(const std::vector<DescribeReport>& reports);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_
