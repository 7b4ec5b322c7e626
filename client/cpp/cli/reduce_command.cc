// `warpfold reduce`: one tensor of each file, some ops, some axes.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/array_text.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/files.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/npy.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/reduce_tensor.h"

namespace warpfold::client {
namespace {

// Tensor `i` of `pipe`, which is read to its end: it has to be what its headers say.
absl::StatusOr<BlockAnswer> ReducePipe(Client& client, PipeTensors& pipe, std::size_t i,
                                       const ReduceOptions& options) {
  const absl::StatusOr<std::unique_ptr<TensorReader>> reader = pipe.ReaderOf(i);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<BlockAnswer> answer =
      ReduceTensor(client, pipe.tensors()[i], reader->get(), options);
  if (!answer.ok()) return answer;
  if (absl::Status finished = pipe.Finish(); !finished.ok()) return finished;
  return answer;
}

struct Reduced {
  std::string file, tensor, dtype_name;
  BlockAnswer answer;
};

nlohmann::ordered_json AnswerJson(const ReduceFlags& flags, const Reduced& reduced) {
  const ReduceAnswer& answer = reduced.answer.answer;
  nlohmann::ordered_json out = {{"file", reduced.file},
                                {"tensor", reduced.tensor},
                                {"dtype", reduced.dtype_name},
                                {"shape", reduced.answer.shape},
                                {"axes", flags.axes},
                                {"keepdims", flags.keepdims},
                                {"device", answer.device},
                                {"numerics_version", answer.numerics_version},
                                {"results", nlohmann::json::array()}};
  for (const ReduceResult& result : answer.results) {
    out["results"].push_back(nlohmann::ordered_json{{"op", Name(result.op)},
                                                    {"dtype", Name(result.tensor.dtype)},
                                                    {"shape", result.tensor.shape},
                                                    {"values", ElementsJson(result.tensor)}});
  }
  return out;
}

// One op of one file prints its value and nothing else, for use in scripts; others are labelled. An
// empty `file` is the only one.
std::string AnswerText(const std::string& file, const ReduceAnswer& answer) {
  std::string text;
  for (const ReduceResult& result : answer.results) {
    std::string label;
    for (const std::string& part :
         {Printable(file), answer.results.size() > 1 ? Name(result.op) : std::string()}) {
      if (!part.empty()) absl::StrAppend(&label, label.empty() ? "" : ": ", part);
    }
    if (!label.empty()) label += result.tensor.shape.size() > 1 ? ":\n" : ": ";
    absl::StrAppend(&text, label, ArrayText(result.tensor), "\n");
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

// Reduces one tensor of each file that it is given, by one client, which it makes when the first
// file is open.
class Reducer {
 public:
  Reducer(const ServerFlags& server, const ReduceFlags& flags, const ReduceOptions& options)
      : server_(server), flags_(flags), options_(options) {}

  absl::StatusOr<Reduced> Reduce(const InputFlags& file) {
    const absl::StatusOr<Input> input = Input::Open(file, Input::Reading::kOnce);
    if (!input.ok()) return input.status();
    const absl::StatusOr<std::size_t> place = input->Select(flags_.tensor);
    if (!place.ok()) return place.status();
    if (client_ == nullptr) {
      absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server_);
      if (!client.ok()) return client.status();
      client_ = *std::move(client);
    }
    absl::StatusOr<BlockAnswer> answer = ReduceSelected(*input, *place);
    if (!answer.ok()) return InFile(input->name(), answer.status());
    const NamedTensor& tensor = input->tensors()[*place];
    return Reduced{file.file, tensor.name, tensor.dtype_name, *std::move(answer)};
  }

 private:
  absl::StatusOr<BlockAnswer> ReduceSelected(const Input& input, std::size_t place) {
    const NamedTensor& tensor = input.tensors()[place];
    const v1::GetServerInfoResponse& info = client_->server_info();
    if (!tensor.problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", tensor.name, "': ", tensor.problem));
    }
    if (!ServerHas(info, tensor.view.dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dtype: this server does not reduce ", tensor.dtype_name, "; it has ", DTypeNames(info)));
    }
    PipeTensors* const pipe = input.pipe();
    ReduceOptions options = options_;
    SetStatistics(flags_.statistics, tensor.view.dtype, options);
    ProgressBar bar(
        pipe != nullptr ? pipe->BytesOf(place) : static_cast<std::int64_t>(tensor.view.data.size()),
        isatty(STDERR_FILENO) == 1);
    std::int64_t shown_bytes = 0;
    options.progress = [&](std::int64_t sent_bytes) {
      bar.Advance(sent_bytes - shown_bytes);
      shown_bytes = sent_bytes;
    };
    return pipe != nullptr ? ReducePipe(*client_, *pipe, place, options)
                           : ReduceTensor(*client_, tensor, /*reader=*/nullptr, options);
  }

  const ServerFlags& server_;
  const ReduceFlags& flags_;
  const ReduceOptions& options_;
  std::unique_ptr<Client> client_;
};

}  // namespace

std::vector<absl::Status> RunReduce(const ServerFlags& server, const ReduceFlags& flags) {
  ReduceOptions options;
  for (const std::string& name : flags.ops) {
    const absl::StatusOr<Op> op = ParseOp(name);
    if (!op.ok()) return {op.status()};
    options.ops.push_back(*op);
  }
  const bool is_one = flags.input.files.size() == 1;
  if (!flags.output.empty() && options.ops.size() != 1) {
    return {absl::InvalidArgumentError("--output: takes exactly one op")};
  }
  if (!flags.output.empty() && !is_one) {
    return {absl::InvalidArgumentError("--output: takes exactly one file")};
  }
  if (absl::Status files = CheckFiles(flags.input); !files.ok()) return {files};
  options.axes = flags.axes;
  options.keepdims = flags.keepdims;
  Reducer reducer(server, flags, options);
  const std::vector<absl::StatusOr<Reduced>> read = ForEachFile<Reduced>(
      flags.input, [&](const InputFlags& file) { return reducer.Reduce(file); });
  std::vector<absl::Status> outcomes;
  for (const absl::StatusOr<Reduced>& reduced : read) {
    outcomes.push_back(reduced.status());
    if (!reduced.ok()) continue;
    if (!flags.output.empty()) {
      absl::Status written = WriteOutput(flags.output, reduced->answer.answer.results[0].tensor);
      if (!written.ok()) return {written};
    } else if (!server.json) {
      std::cout << AnswerText(is_one ? "" : reduced->file, reduced->answer.answer);
    }
    if (server.json && is_one) std::cout << JsonText(AnswerJson(flags, *reduced)) << "\n";
  }
  if (server.json && !is_one) {
    const auto json = [&flags](const Reduced& reduced) { return AnswerJson(flags, reduced); };
    std::cout << JsonText(FilesJson(flags.input.files, read, json)) << "\n";
  }
  std::cout.flush();  // before what stderr says of the others
  return outcomes;
}

}  // namespace warpfold::client
