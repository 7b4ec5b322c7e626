// A reader of Prometheus' text format, as far as a client of one server's metrics needs it: the
// samples, without types, help texts and timestamps.
//
// Format: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
//
// Thread safety: pure. Failure: INVALID_ARGUMENT naming the line.
#ifndef WARPFOLD_CLIENT_CPP_CLI_PROMETHEUS_TEXT_H_
#define WARPFOLD_CLIENT_CPP_CLI_PROMETHEUS_TEXT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace warpfold::client {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;

  // The label's value; empty when it is not there, as in PromQL.
  std::string label(const std::string& key) const;
};

absl::StatusOr<std::vector<Sample>> ParsePrometheusText(std::string_view page);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_PROMETHEUS_TEXT_H_
