// The statistics of every tensor of a file, asked of a server: what `describe` shows and `diff`
// compares.
//
// Thread safety: Summarize runs options.jobs threads of its own, each with a connection of its own,
// and has ended them when it returns. Failure: absl::Status; an input fault names the tensor.
#ifndef WARPFOLD_CLIENT_CPP_CLI_SUMMARIZE_H_
#define WARPFOLD_CLIENT_CPP_CLI_SUMMARIZE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/named_tensor.h"
#include "client/cpp/cli/pipe_tensors.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

struct TensorSummary {
  std::string name;
  std::string dtype_name;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  // Scalars; absent when the tensor has no elements (min, max), the sum does not fit its dtype, the
  // server does not have the op (std, nan_count, inf_count), or `note` says why.
  std::optional<Tensor> min, max, mean, std, sum, l1_norm, l2_norm, nan_count, inf_count;
  std::string note;        // empty, or why something is absent
  bool is_unread = false;  // nothing but its name is known
};

struct Summaries {
  std::vector<TensorSummary> tensors;  // one each, in the order asked
  std::string device;
  // Of the reductions; connecting left out.
  std::chrono::duration<double> elapsed{0};
};

struct SummaryOptions {
  int jobs = 4;
  bool all = false;  // of kDescribeOps; else those that a table shows, without sum and norms
  StatisticsFlags flags;
};

// Summarises `tensors`, options.jobs at a time, each in one read. A tensor that the server cannot
// reduce has a note and no statistics. Blocks; shows a progress bar when stderr is a terminal.
absl::StatusOr<Summaries> Summarize(const ServerFlags& server, const SummaryOptions& options,
                                    const std::vector<NamedTensor>& tensors);

// The same of a pipe's tensors, one after the other.
absl::StatusOr<Summaries> SummarizePipe(const ServerFlags& server, const SummaryOptions& options,
                                        PipeTensors& pipe, const std::vector<NamedTensor>& tensors);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_SUMMARIZE_H_
