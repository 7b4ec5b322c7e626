#include "client/cpp/load/load_client.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/load/infer_client.h"
#include "client/cpp/many_stream.h"

namespace warpfold::client {
namespace {

using std::chrono::system_clock;

TensorView VectorOf(const LoadOptions& options, std::span<const std::byte> payload) {
  const auto elements = static_cast<std::int64_t>(payload.size() / ElementBytes(options.dtype));
  return {options.dtype, {elements}, payload};
}

ClientOptions ClientOptionsOf(const LoadOptions& options) {
  ClientOptions client;
  client.connection = options.connection;
  client.retry.attempts_max = 1;
  client.timeout = options.timeout;
  client.connect_timeout = ConnectTimeoutOf(options);
  client.chunk_bytes = options.chunk_bytes;
  client.stripe_bytes_min = options.stripe_bytes_min;
  client.spin_max = options.spin_max;
  client.connections = 1;
  switch (options.path) {
    case LoadPath::kUnary:
      client.stream_threshold_bytes = std::numeric_limits<std::int64_t>::max();
      break;
    case LoadPath::kStream:
      client.stream_threshold_bytes = -1;
      break;
    case LoadPath::kStriped:
      client.connections = options.connections;
      client.stripe_threshold_bytes = 0;
      break;
    case LoadPath::kResident:
      client.connections = options.connections;
      break;
    case LoadPath::kMany:
    case LoadPath::kInfer:
    case LoadPath::kShared:
    case LoadPath::kCuda:
      break;
  }
  return client;
}

LoadClient::Outcome OutcomeFrom(int slot, absl::StatusOr<ReduceAnswer> answer) {
  if (!answer.ok()) return {slot, answer.status(), {}, {}};
  return {slot, absl::OkStatus(), std::move(answer->device), std::move(answer->timing)};
}

// One request at a time: the tensor travels, or lies there.
class OneByOne final : public LoadClient {
 public:
  using AnyTensor = std::variant<TensorView, RemoteTensor, SharedTensor>;

  OneByOne(std::unique_ptr<Client> client, AnyTensor tensor, const LoadOptions& options)
      : client_(std::move(client)), tensor_(std::move(tensor)), options_{.ops = options.ops} {}

  void Send(int slot) override {
    outcome_ = OutcomeFrom(
        slot, std::visit([this](const auto& tensor) { return client_->Reduce(tensor, options_); },
                         tensor_));
  }
  std::optional<Outcome> Receive(system_clock::time_point) override {
    return std::exchange(outcome_, std::nullopt);
  }
  int in_flight_max() const override { return 1; }

 private:
  std::unique_ptr<Client> client_;
  AnyTensor tensor_;
  ReduceOptions options_;
  std::optional<Outcome> outcome_;
};

// Many at a time on one stream, which takes the place of one that ended.
class Pipelined final : public LoadClient {
 public:
  Pipelined(std::unique_ptr<Client> client, TensorView tensor, const LoadOptions& options)
      : client_(std::move(client)),
        tensor_(std::move(tensor)),
        options_{.ops = options.ops},
        in_flight_(static_cast<std::size_t>(options.window), false),
        stream_(client_->OpenMany({})) {}

  void Send(int slot) override {
    options_.request_id = absl::StrCat(slot);
    in_flight_[static_cast<std::size_t>(slot)] = true;
    if (absl::Status sent = stream_->Send(tensor_, options_); !sent.ok()) broken_ = sent;
  }

  std::optional<Outcome> Receive(system_clock::time_point until) override {
    if (broken_.ok()) {
      absl::StatusOr<std::optional<ManyAnswer>> got = stream_->Receive(until);
      if (got.ok() && !got->has_value()) return std::nullopt;
      if (got.ok()) return OutcomeOf(**std::move(got));
      broken_ = got.status();
    }
    return NextLost();
  }

  int in_flight_max() const override { return static_cast<int>(in_flight_.size()); }

 private:
  Outcome OutcomeOf(ManyAnswer answer) {
    int slot = 0;
    if (!absl::SimpleAtoi(answer.request_id, &slot) || slot < 0 || slot >= in_flight_max() ||
        !in_flight_[static_cast<std::size_t>(slot)]) {
      broken_ = absl::InternalError(
          absl::StrCat("an answer to '", answer.request_id, "', which nobody asked"));
      return *NextLost();
    }
    in_flight_[static_cast<std::size_t>(slot)] = false;
    return OutcomeFrom(slot, std::move(answer.answer));
  }

  // Requests of a stream that ended end with it, one a call; after the last there is a new stream.
  std::optional<Outcome> NextLost() {
    for (std::size_t slot = 0; slot < in_flight_.size(); ++slot) {
      if (!in_flight_[slot]) continue;
      in_flight_[slot] = false;
      return Outcome{static_cast<int>(slot), broken_, {}, {}};
    }
    broken_ = absl::OkStatus();
    stream_ = client_->OpenMany({});
    return std::nullopt;
  }

  std::unique_ptr<Client> client_;
  TensorView tensor_;
  ReduceOptions options_;
  std::vector<bool> in_flight_;  // by slot
  std::unique_ptr<ManyStream> stream_;
  absl::Status broken_;  // why the stream ended
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadClient>> LoadClient::Make(const LoadOptions& options,
                                                             std::span<const std::byte> payload) {
  if (options.path == LoadPath::kInfer) return MakeInferClient(options, payload);
  absl::StatusOr<std::unique_ptr<Client>> connected =
      Client::Connect(options.target, ClientOptionsOf(options));
  if (!connected.ok()) return connected.status();
  std::unique_ptr<Client> client = *std::move(connected);
  TensorView tensor = VectorOf(options, payload);
  switch (options.path) {
    case LoadPath::kMany:
      return std::make_unique<Pipelined>(std::move(client), std::move(tensor), options);
    case LoadPath::kResident: {
      absl::StatusOr<RemoteTensor> resident = client->Put(tensor, {});
      if (!resident.ok()) return resident.status();
      return std::make_unique<OneByOne>(std::move(client), *std::move(resident), options);
    }
    case LoadPath::kShared: {
      absl::StatusOr<SharedTensor> shared = client->Share(tensor.dtype, tensor.shape, {});
      if (!shared.ok()) return shared.status();
      std::copy(payload.begin(), payload.end(), shared->data().begin());
      return std::make_unique<OneByOne>(std::move(client), *std::move(shared), options);
    }
    case LoadPath::kCuda: {
      absl::StatusOr<SharedTensor> shared =
          client->ShareCuda(options.cuda_memory, tensor.dtype, tensor.shape, {});
      if (!shared.ok()) return shared.status();
      return std::make_unique<OneByOne>(std::move(client), *std::move(shared), options);
    }
    case LoadPath::kUnary:
    case LoadPath::kStream:
    case LoadPath::kStriped:
      return std::make_unique<OneByOne>(std::move(client), std::move(tensor), options);
    case LoadPath::kInfer:  // returned above: it has no Client
      break;
  }
  return absl::InternalError("no such path");
}

}  // namespace warpfold::client
