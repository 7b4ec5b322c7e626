// `warpfold reduce`: one tensor, some ops, some axes.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/array_text.h"
#include "client/cpp/cli/block_reduce.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/npy.h"
#include "client/cpp/cli/progress_bar.h"

namespace warpfold::client {
namespace {

// Tensor `i` of `pipe`, which is read to its end: it has to be what its headers say.
absl::StatusOr<BlockAnswer> ReducePipe(Client& client, PipeTensors& pipe, std::size_t i,
                                       const ReduceOptions& options) {
  const TensorView& view = pipe.tensors()[i].view;
  const absl::StatusOr<std::unique_ptr<TensorReader>> reader = pipe.ReaderOf(i);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<BlockAnswer> answer =
      ReduceByBlocks(client, view.dtype, view.shape, **reader, options);
  if (!answer.ok()) return answer;
  if (absl::Status finished = pipe.Finish(); !finished.ok()) return finished;
  return answer;
}

nlohmann::ordered_json AnswerJson(const ReduceFlags& flags, const NamedTensor& tensor,
                                  const BlockAnswer& reduced) {
  const ReduceAnswer& answer = reduced.answer;
  nlohmann::ordered_json out = {{"file", flags.input.file},   {"tensor", tensor.name},
                                {"dtype", tensor.dtype_name}, {"shape", reduced.shape},
                                {"axes", flags.axes},         {"keepdims", flags.keepdims},
                                {"device", answer.device},    {"results", nlohmann::json::array()}};
  for (const ReduceResult& result : answer.results) {
    out["results"].push_back(nlohmann::ordered_json{{"op", Name(result.op)},
                                                    {"dtype", Name(result.tensor.dtype)},
                                                    {"shape", result.tensor.shape},
                                                    {"values", ElementsJson(result.tensor)}});
  }
  return out;
}

// One op prints its value and nothing else, for use in scripts; several are labelled.
std::string AnswerText(const ReduceAnswer& answer) {
  if (answer.results.size() == 1) return ArrayText(answer.results[0].tensor) + "\n";
  std::string text;
  for (const ReduceResult& result : answer.results) {
    const char* separator = result.tensor.shape.size() > 1 ? ":\n" : ": ";
    absl::StrAppend(&text, Name(result.op), separator, ArrayText(result.tensor), "\n");
  }
  return text;
}

absl::Status WriteOutput(const std::string& path, const Tensor& tensor) {
  const absl::StatusOr<std::string> bytes = NpyBytes(tensor);
  if (!bytes.ok()) return bytes.status();
  std::ofstream file(path, std::ios::binary);
  file << *bytes;
  file.close();
  if (!file) return absl::InvalidArgumentError(absl::StrCat("--output: cannot write ", path));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunReduce(const ServerFlags& server, const ReduceFlags& flags) {
  ReduceOptions options;
  for (const std::string& name : flags.ops) {
    const absl::StatusOr<Op> op = ParseOp(name);
    if (!op.ok()) return op.status();
    options.ops.push_back(*op);
  }
  if (!flags.output.empty() && options.ops.size() != 1) {
    return absl::InvalidArgumentError("--output: takes exactly one op");
  }
  options.axes = flags.axes;
  options.keepdims = flags.keepdims;

  const absl::StatusOr<Input> input = Input::Open(flags.input, Input::Reading::kOnce);
  if (!input.ok()) return input.status();
  const absl::StatusOr<std::size_t> place = input->Select(flags.tensor);
  if (!place.ok()) return place.status();
  const NamedTensor* const tensor = &input->tensors()[*place];

  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server);
  if (!client.ok()) return client.status();
  const v1::GetServerInfoResponse& info = (*client)->server_info();
  if (!tensor->problem.empty()) {
    return InFile(input->name(), absl::InvalidArgumentError(absl::StrCat("tensor '", tensor->name,
                                                                         "': ", tensor->problem)));
  }
  if (!ServerHas(info, tensor->view.dtype)) {
    return InFile(input->name(), absl::InvalidArgumentError(absl::StrCat(
                                     "dtype: this server does not reduce ", tensor->dtype_name,
                                     "; it has ", DTypeNames(info))));
  }
  SetStatistics(flags.statistics, tensor->view.dtype, options);
  absl::StatusOr<BlockAnswer> reduced;
  {
    ProgressBar bar(input->pipe() != nullptr ? input->pipe()->BytesOf(*place)
                                             : static_cast<std::int64_t>(tensor->view.data.size()),
                    isatty(STDERR_FILENO) == 1);
    std::int64_t shown_bytes = 0;
    options.progress = [&](std::int64_t sent_bytes) {
      bar.Advance(sent_bytes - shown_bytes);
      shown_bytes = sent_bytes;
    };
    reduced = input->pipe() != nullptr ? ReducePipe(**client, *input->pipe(), *place, options)
                                       : ReduceAtOnce(**client, tensor->view, options);
  }
  if (!reduced.ok()) return InFile(input->name(), reduced.status());
  const ReduceAnswer* const answer = &reduced->answer;
  if (!flags.output.empty()) {
    if (absl::Status written = WriteOutput(flags.output, answer->results[0].tensor);
        !written.ok()) {
      return written;
    }
  }
  if (server.json) {
    std::cout << JsonText(AnswerJson(flags, *tensor, *reduced)) << "\n";
  } else if (flags.output.empty()) {
    std::cout << AnswerText(*answer);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
