#include "client/cpp/cli/summarize.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/catalogue.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/reduce_tensor.h"

namespace warpfold::client {
namespace {

// Asks for a tensor's ops; there may be no answer of SUM.
using Ask = std::function<absl::StatusOr<BlockAnswer>(const ReduceOptions& options)>;

// The summary of a tensor of `bytes`, and the device that reduced it.
absl::StatusOr<TensorSummary> SummaryOf(const NamedTensor& tensor, std::int64_t bytes,
                                        const v1::GetServerInfoResponse& info,
                                        const SummaryOptions& asked_for,
                                        const std::stop_token& stop, ProgressBar& bar,
                                        const Ask& ask, std::string& device) {
  TensorSummary summary;
  summary.name = tensor.name;
  summary.dtype_name = tensor.dtype_name;
  summary.shape = tensor.view.shape;
  summary.bytes = bytes;
  if (!tensor.problem.empty()) {
    summary.note = tensor.problem;
    summary.is_unread = true;
    return summary;
  }
  if (!ServerHas(info, tensor.view.dtype)) {
    summary.count = *ElementCount(summary.shape);  // the reader has checked the shape
    summary.note = absl::StrCat("this server does not reduce ", tensor.dtype_name);
    bar.Advance(bytes);
    return summary;
  }
  // MIN and MAX of nothing are refused, as in NumPy; an older server has not all.
  const bool is_empty = std::count(summary.shape.begin(), summary.shape.end(), 0) > 0;
  ReduceOptions options;
  for (const Op op : kDescribeOps) {
    const bool in_tables = op != v1::OP_SUM && op != v1::OP_L1_NORM && op != v1::OP_L2_NORM;
    const bool is_there = !is_empty || RowOf(op)->has_empty;
    if ((asked_for.all || in_tables) && is_there && ServerHas(info, op)) options.ops.push_back(op);
  }
  SetStatistics(asked_for.flags, tensor.view.dtype, options);
  options.stop = stop;
  std::int64_t shown_bytes = 0;
  options.progress = [&](std::int64_t sent_bytes) {
    bar.Advance(sent_bytes - shown_bytes);
    shown_bytes = sent_bytes;
  };
  absl::StatusOr<BlockAnswer> asked = ask(options);
  if (!asked.ok()) return asked.status();
  summary.shape = asked->shape;
  summary.count = *ElementCount(summary.shape);
  summary.bytes = *TensorBytes(tensor.view.dtype, summary.shape);
  if (!asked->left_out.ok()) {
    summary.note = absl::StrCat("no sum: ", asked->left_out.message());
  }
  for (ReduceResult& result : asked->answer.results) {
    if (result.op == v1::OP_SUM) summary.sum = std::move(result.tensor);
    if (result.op == v1::OP_MEAN) summary.mean = std::move(result.tensor);
    if (result.op == v1::OP_MIN) summary.min = std::move(result.tensor);
    if (result.op == v1::OP_MAX) summary.max = std::move(result.tensor);
    if (result.op == v1::OP_STD) summary.std = std::move(result.tensor);
    if (result.op == v1::OP_L1_NORM) summary.l1_norm = std::move(result.tensor);
    if (result.op == v1::OP_L2_NORM) summary.l2_norm = std::move(result.tensor);
    if (result.op == v1::OP_NAN_COUNT) summary.nan_count = std::move(result.tensor);
    if (result.op == v1::OP_INF_COUNT) summary.inf_count = std::move(result.tensor);
  }
  device = asked->answer.device;
  return summary;
}

// Describes the tensors of one file by any number of threads, each with a client of its own.
class Describer {
 public:
  Describer(const std::vector<NamedTensor>& tensors, const v1::GetServerInfoResponse& info,
            const SummaryOptions& options, ProgressBar& bar)
      : tensors_(tensors), info_(info), options_(options), bar_(bar), summaries_(tensors.size()) {}

  // Takes tensors until none is left, or one of them failed.
  void Work(Client& client) {
    while (!stop_.stop_requested()) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= tensors_.size()) return;
      absl::StatusOr<TensorSummary> summary = Describe(client, tensors_[i]);
      if (summary.ok()) {
        summaries_[i] = *std::move(summary);
      } else {
        Fail(Prefixed(absl::StrCat("tensor '", tensors_[i].name, "'"), summary.status()));
      }
    }
  }

  // Ends every thread's work. The first failure is the one that is reported.
  void Fail(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (!stop_.request_stop()) return;
    failure_ = status;
  }

  // REQUIRES: all work has ended.
  absl::Status status() {
    const absl::MutexLock lock(&mutex_);
    return failure_;
  }
  std::string device() {
    const absl::MutexLock lock(&mutex_);
    return device_;
  }
  std::vector<TensorSummary> TakeSummaries() { return std::move(summaries_); }

 private:
  absl::StatusOr<TensorSummary> Describe(Client& client, const NamedTensor& tensor) {
    std::string device;
    absl::StatusOr<TensorSummary> summary = SummaryOf(
        tensor, static_cast<std::int64_t>(tensor.view.data.size()), info_, options_,
        stop_.get_token(), bar_,
        [&](const ReduceOptions& options) {
          return ReduceTensor(client, tensor, /*reader=*/nullptr, options, v1::OP_SUM);
        },
        device);
    const absl::MutexLock lock(&mutex_);
    if (!device.empty()) device_ = device;
    return summary;
  }

  const std::vector<NamedTensor>& tensors_;
  const v1::GetServerInfoResponse& info_;
  const SummaryOptions& options_;
  ProgressBar& bar_;
  std::vector<TensorSummary> summaries_;  // each written by the one thread that took its index
  std::atomic<std::size_t> next_ = 0;
  std::stop_source stop_;
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::string device_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<Summaries> Summarize(const ServerFlags& server, const SummaryOptions& options,
                                    const std::vector<NamedTensor>& tensors) {
  // Several jobs are several connections already.
  const int connections = options.jobs > 1 ? 1 : ClientOptions().connections;
  absl::StatusOr<std::unique_ptr<Client>> first = ConnectTo(server, connections);
  if (!first.ok()) return first.status();
  std::int64_t total_bytes = 0;
  for (const NamedTensor& tensor : tensors) {
    total_bytes += static_cast<std::int64_t>(tensor.view.data.size());
  }
  ProgressBar bar(total_bytes, isatty(STDERR_FILENO) == 1);
  Describer describer(tensors, (*first)->server_info(), options, bar);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> helpers;
    const auto threads =
        std::min<std::size_t>(static_cast<std::size_t>(options.jobs), tensors.size());
    for (std::size_t i = 1; i < threads; ++i) {
      helpers.emplace_back([&] {
        absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server, connections);
        if (!client.ok()) return describer.Fail(client.status());
        describer.Work(**client);
      });
    }
    describer.Work(**first);
  }
  if (absl::Status status = describer.status(); !status.ok()) return status;
  Summaries summaries;
  summaries.elapsed = std::chrono::steady_clock::now() - start;
  summaries.device = describer.device();
  summaries.tensors = describer.TakeSummaries();
  return summaries;
}

absl::StatusOr<Summaries> SummarizePipe(const ServerFlags& server, const SummaryOptions& options,
                                        PipeTensors& pipe,
                                        const std::vector<NamedTensor>& tensors) {
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server, /*connections=*/1);
  if (!client.ok()) return client.status();
  const v1::GetServerInfoResponse& info = (*client)->server_info();
  std::int64_t total_bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) total_bytes += pipe.BytesOf(i);
  ProgressBar bar(total_bytes, isatty(STDERR_FILENO) == 1);
  Summaries summaries;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto ask = [&](const ReduceOptions& asked) -> absl::StatusOr<BlockAnswer> {
      const absl::StatusOr<std::unique_ptr<TensorReader>> reader = pipe.ReaderOf(i);
      if (!reader.ok()) return reader.status();
      return ReduceTensor(**client, tensors[i], reader->get(), asked, v1::OP_SUM);
    };
    absl::StatusOr<TensorSummary> summary =
        SummaryOf(tensors[i], pipe.BytesOf(i), info, options, {}, bar, ask, summaries.device);
    // A nameless one has the name of the pipe, which the caller adds.
    if (!summary.ok() && pipe.nameless() && IsInputFault(summary.status())) return summary.status();
    if (!summary.ok()) {
      return Prefixed(absl::StrCat("tensor '", tensors[i].name, "'"), summary.status());
    }
    summaries.tensors.push_back(*std::move(summary));
  }
  if (absl::Status finished = pipe.Finish(); !finished.ok()) return finished;
  summaries.elapsed = std::chrono::steady_clock::now() - start;
  return summaries;
}

}  // namespace warpfold::client
