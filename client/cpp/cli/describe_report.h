// What `warpfold describe` found, as a table for people and as JSON for programs.
//
// Thread safety: pure functions over values.
#ifndef WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_
#define WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/tensor.h"

namespace warpfold::client {

struct TensorSummary {
  std::string name;
  std::string dtype_name;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  // Scalars; absent when the tensor has no elements (min, max), the sum does not fit its dtype, the
  // server does not count (nan_count, inf_count), or `note` says why.
  std::optional<Tensor> min, max, mean, sum, nan_count, inf_count;
  std::string note;  // empty, or why something is absent
};

struct DescribeReport {
  std::string file;
  std::string device;
  std::vector<TensorSummary> tensors;
  std::chrono::duration<double> elapsed{
      0};  // of the reductions, connection and file header left out
};

// A row per tensor, then a line of totals.
std::string ReportText(const DescribeReport& report);

// {"file", "device", "tensors": [{"name", "dtype", "shape", "count", "bytes", "min", "max", "mean",
// "sum", "nan_count", "inf_count", "note"}],
//  "total": {"tensors", "bytes", "seconds", "gb_per_second"}}; what is absent is null. element.h
//  says how numbers are written.
nlohmann::ordered_json ReportJson(const DescribeReport& report);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_REPORT_H_
