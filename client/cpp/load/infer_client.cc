#include "client/cpp/load/infer_client.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/catalogue.h"
#include "client/cpp/connection.h"
#include "client/cpp/message.h"
#include "inference/grpc_service.pb.h"

namespace warpfold::client {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelReadyRequest;
using inference::ModelReadyResponse;

constexpr char kModelReadyMethod[] = "/inference.GRPCInferenceService/ModelReady";
constexpr char kModelInferMethod[] = "/inference.GRPCInferenceService/ModelInfer";

std::string ModelOf(const LoadOptions& options) {
  return options.ops.size() == 1 ? Name(options.ops.front()) : "describe";
}

// A ModelInferRequest up to its one payload.
std::string RequestHead(const LoadOptions& options, std::size_t payload_bytes) {
  ModelInferRequest request;
  request.set_model_name(ModelOf(options));
  ModelInferRequest::InferInputTensor& input = *request.add_inputs();
  input.set_name("INPUT");
  input.set_datatype(RowOf(options.dtype)->kserve);
  input.add_shape(static_cast<std::int64_t>(payload_bytes / ElementBytes(options.dtype)));
  for (const Op op : options.ops) {
    request.add_outputs()->set_name(absl::AsciiStrToUpper(Name(op)));
  }
  return absl::StrCat(
      request.SerializeAsString(),
      BytesFieldPrefix(ModelInferRequest::kRawInputContentsFieldNumber, payload_bytes));
}

class InferClient final : public LoadClient {
 public:
  InferClient(const LoadOptions& options, std::span<const std::byte> payload)
      : options_(options),
        connection_(options.target, options.connection),
        head_(RequestHead(options, payload.size())),
        payload_(payload) {}

  absl::Status CheckReady() {
    ModelReadyRequest request;
    request.set_name(ModelOf(options_));
    ModelReadyResponse answer;
    absl::Status status = Call(RetryPolicy(), ConnectTimeoutOf(options_), kModelReadyMethod,
                               request.SerializeAsString(), {}, answer);
    if (!status.ok() || answer.ready()) return status;
    return absl::NotFoundError(absl::StrCat("the server has no model '", request.name(), "'"));
  }

  void Send(int slot) override {
    ModelInferResponse answer;
    absl::Status status =
        Call({.attempts_max = 1}, options_.timeout, kModelInferMethod, head_, payload_, answer);
    if (status.ok() && answer.raw_output_contents_size() != std::ssize(options_.ops)) {
      status = absl::InternalError(absl::StrCat("the server answered ",
                                                answer.raw_output_contents_size(), " outputs of ",
                                                options_.ops.size()));
    }
    outcome_ = Outcome{slot, std::move(status), {}, {}};
  }
  std::optional<Outcome> Receive(std::chrono::system_clock::time_point) override {
    return std::exchange(outcome_, std::nullopt);
  }
  int in_flight_max() const override { return 1; }

 private:
  absl::Status Call(const RetryPolicy& policy, std::chrono::milliseconds timeout,
                    const char* method, const std::string& head, std::span<const std::byte> payload,
                    google::protobuf::MessageLite& answer) {
    Served served = CallWithRetries(
        policy, options_.target, timeout, {},
        [&](const CallLimits& limits) { return connection_.Unary(method, head, payload, limits); });
    if (!served.status.ok()) return served.status;
    return Parse(served.response, answer);
  }

  const LoadOptions& options_;
  Connection connection_;
  const std::string head_;
  const std::span<const std::byte> payload_;
  std::optional<Outcome> outcome_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadClient>> MakeInferClient(const LoadOptions& options,
                                                            std::span<const std::byte> payload) {
  auto client = std::make_unique<InferClient>(options, payload);
  if (absl::Status ready = client->CheckReady(); !ready.ok()) return ready;
  return client;
}

}  // namespace warpfold::client
