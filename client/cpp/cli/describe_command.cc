// `warpfold describe`: statistics of every tensor of a file, several tensors in flight at a time.
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/describe_report.h"
#include "client/cpp/cli/progress_bar.h"

namespace warpfold::client {
namespace {

// Describes the tensors of one file by any number of threads, each with a client of its own.
class Describer {
 public:
  Describer(const std::vector<NamedTensor>& tensors, const v1::GetServerInfoResponse& info,
            ProgressBar& bar)
      : tensors_(tensors), info_(info), bar_(bar), summaries_(tensors.size()) {}

  // Takes tensors until none is left, or one of them failed.
  void Work(Client& client) {
    while (!stop_.stop_requested()) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= tensors_.size()) return;
      absl::StatusOr<TensorSummary> summary = Describe(client, tensors_[i]);
      if (summary.ok()) {
        summaries_[i] = *std::move(summary);
      } else {
        Fail(absl::Status(summary.status().code(), absl::StrCat("tensor '", tensors_[i].name, "': ",
                                                                summary.status().message())));
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
    TensorSummary summary;
    summary.name = tensor.name;
    summary.dtype_name = tensor.dtype_name;
    summary.shape = tensor.view.shape;
    summary.count = *ElementCount(tensor.view.shape);  // the reader has checked the shape
    summary.bytes = static_cast<std::int64_t>(tensor.view.data.size());
    if (!ServerHas(info_, tensor.view.dtype)) {
      summary.note = absl::StrCat("this server does not reduce ", tensor.dtype_name);
      bar_.Advance(summary.bytes);
      return summary;
    }
    // MIN and MAX of nothing are refused, as in NumPy.
    std::vector<Op> ops = {v1::OP_SUM, v1::OP_MEAN};
    if (summary.count > 0) ops.insert(ops.end(), {v1::OP_MIN, v1::OP_MAX});
    for (const Op op : {v1::OP_NAN_COUNT, v1::OP_INF_COUNT}) {
      if (ServerHas(info_, op)) ops.push_back(op);  // an older server has not
    }
    absl::StatusOr<ReduceAnswer> answer = Reduce(client, tensor, ops);
    if (absl::IsOutOfRange(answer.status())) {
      summary.note = absl::StrCat("no sum: ", answer.status().message());
      std::erase(ops, v1::OP_SUM);
      answer = Reduce(client, tensor, ops);
    }
    if (!answer.ok()) return answer.status();
    for (ReduceResult& result : answer->results) {
      if (result.op == v1::OP_SUM) summary.sum = std::move(result.tensor);
      if (result.op == v1::OP_MEAN) summary.mean = std::move(result.tensor);
      if (result.op == v1::OP_MIN) summary.min = std::move(result.tensor);
      if (result.op == v1::OP_MAX) summary.max = std::move(result.tensor);
      if (result.op == v1::OP_NAN_COUNT) summary.nan_count = std::move(result.tensor);
      if (result.op == v1::OP_INF_COUNT) summary.inf_count = std::move(result.tensor);
    }
    const absl::MutexLock lock(&mutex_);
    device_ = answer->device;
    return summary;
  }

  absl::StatusOr<ReduceAnswer> Reduce(Client& client, const NamedTensor& tensor,
                                      const std::vector<Op>& ops) {
    ReduceOptions options;
    options.ops = ops;
    options.stop = stop_.get_token();
    std::int64_t shown_bytes = 0;
    options.progress = [&](std::int64_t sent_bytes) {
      bar_.Advance(sent_bytes - shown_bytes);
      shown_bytes = sent_bytes;
    };
    return client.Reduce(tensor.view, options);
  }

  const std::vector<NamedTensor>& tensors_;
  const v1::GetServerInfoResponse& info_;
  ProgressBar& bar_;
  std::vector<TensorSummary> summaries_;  // each written by the one thread that took its index
  std::atomic<std::size_t> next_ = 0;
  std::stop_source stop_;
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::string device_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<DescribeReport> DescribeAll(const ServerFlags& server, const DescribeFlags& flags,
                                           const std::vector<NamedTensor>& tensors) {
  absl::StatusOr<std::unique_ptr<Client>> first = ConnectTo(server);
  if (!first.ok()) return first.status();
  std::int64_t total_bytes = 0;
  for (const NamedTensor& tensor : tensors) {
    total_bytes += static_cast<std::int64_t>(tensor.view.data.size());
  }
  ProgressBar bar(total_bytes, isatty(STDERR_FILENO) == 1);
  Describer describer(tensors, (*first)->server_info(), bar);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> helpers;
    const auto jobs = std::min<std::size_t>(static_cast<std::size_t>(flags.jobs), tensors.size());
    for (std::size_t i = 1; i < jobs; ++i) {
      helpers.emplace_back([&] {
        absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server);
        if (!client.ok()) return describer.Fail(client.status());
        describer.Work(**client);
      });
    }
    describer.Work(**first);
  }
  if (absl::Status status = describer.status(); !status.ok()) return status;
  DescribeReport report;
  report.elapsed = std::chrono::steady_clock::now() - start;
  report.file = flags.input.file;
  report.device = describer.device();
  report.tensors = describer.TakeSummaries();
  return report;
}

}  // namespace

absl::Status RunDescribe(const ServerFlags& server, const DescribeFlags& flags) {
  const absl::StatusOr<Input> input = Input::Open(flags.input);
  if (!input.ok()) return input.status();
  const absl::StatusOr<DescribeReport> report = DescribeAll(server, flags, input->tensors());
  if (!report.ok()) return InFile(input->name(), report.status());
  if (server.json) {
    std::cout << ReportJson(*report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << ReportText(*report);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
