// Unary calls at random times, however many of them are unanswered: the open loop of overload.py.
//
// `warpfold bench --rate` stops sending while all of its clients wait, as clients with one request
// at a time do. Here nobody waits: a call that is due is made, and ends by its answer, a refusal or
// its deadline. Answers are not parsed. Prints one JSON object: what was made, answered and failed,
// by code, between the end of the warm-up and the last call, and the percentiles of the answers'
// latencies.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/connection.h"
#include "client/cpp/load/latency_histogram.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::bench {
namespace {

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using GenericStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

constexpr std::size_t kCodes = grpc::StatusCode::UNAUTHENTICATED + 1;

struct Flags {
  std::string target;
  double rate = 1000;
  double duration_s = 3;
  double warmup_s = 1;
  int timeout_ms = 1000;
  std::uint64_t seed = 20261127;
  int connections = 64;
  std::int64_t elements = 1024;
};

steady_clock::duration Ticks(double seconds) {
  return std::chrono::duration_cast<steady_clock::duration>(Seconds(seconds));
}

grpc::ByteBuffer RequestOf(std::int64_t elements) {
  v1::ReduceRequest request;
  v1::TensorSpec& tensor = *request.add_sources()->mutable_tensor();
  tensor.set_dtype(v1::DTYPE_F32);
  tensor.add_shape(elements);
  request.add_ops()->set_op(v1::OP_SUM);
  request.set_data(std::string(static_cast<std::size_t>(elements) * sizeof(float), '\0'));
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// What came of the calls, told from gRPC's threads.
class Outcomes {
 public:
  Outcomes(steady_clock::time_point from, steady_clock::time_point to) : from_(from), to_(to) {}

  void Begin() { ++unanswered_; }
  void End(const grpc::Status& status, steady_clock::time_point made) {
    const auto now = steady_clock::now();
    if (now >= from_ && now < to_) {
      ++codes_[static_cast<std::size_t>(status.error_code())];
      if (status.ok()) {
        const std::lock_guard lock(mutex_);
        latencies_.Record(now - made);
      }
    }
    --unanswered_;
    unanswered_.notify_one();
  }
  std::int64_t unanswered() const { return unanswered_; }
  // REQUIRES: nothing begins any longer.
  void WaitForAll() const {
    for (std::int64_t left = unanswered_; left != 0; left = unanswered_) unanswered_.wait(left);
  }

  nlohmann::json Json() const {
    nlohmann::json failures = nlohmann::json::object();
    for (std::size_t code = 1; code < kCodes; ++code) {
      if (codes_[code] > 0)
        failures[absl::StatusCodeToString(static_cast<absl::StatusCode>(code))] =
            codes_[code].load();
    }
    const auto us = [&](double percent) {
      return 1e6 * Seconds(latencies_.Percentile(percent)).count();
    };
    return {
        {"ok", codes_[0].load()}, {"failures", failures}, {"p50_us", us(50)}, {"p99_us", us(99)}};
  }

 private:
  const steady_clock::time_point from_, to_;
  std::array<std::atomic<std::int64_t>, kCodes> codes_ = {};
  std::atomic<std::int64_t> unanswered_ = 0;
  std::mutex mutex_;
  client::LatencyHistogram latencies_;
};

// One call, which ends itself.
struct Call {
  grpc::ClientContext context;
  grpc::ByteBuffer request, response;
};

void Make(GenericStub& stub, const grpc::ByteBuffer& request, std::chrono::milliseconds timeout,
          Outcomes& outcomes) {
  auto call = std::make_shared<Call>();
  call->request = request;
  call->context.set_deadline(std::chrono::system_clock::now() + timeout);
  outcomes.Begin();
  const auto made = steady_clock::now();
  stub.UnaryCall(
      &call->context, client::kReduceMethod, {}, &call->request, &call->response,
      [call, made, &outcomes](const grpc::Status& status) { outcomes.End(status, made); });
}

// Makes calls on the stubs in turns, at the times of a Poisson process, until `end`.
// How many after `warm`.
std::int64_t MakeCalls(const Flags& flags, steady_clock::time_point start,
                       steady_clock::time_point warm, steady_clock::time_point end,
                       std::vector<GenericStub>& stubs, Outcomes& outcomes) {
  std::mt19937_64 random(flags.seed);
  std::exponential_distribution<double> gap_s(flags.rate);
  const grpc::ByteBuffer request = RequestOf(flags.elements);
  std::int64_t made = 0;
  std::size_t turn = 0;
  for (auto due = start; due < end; due += Ticks(gap_s(random))) {
    std::this_thread::sleep_until(due);
    if (steady_clock::now() >= end) break;
    Make(stubs[turn++ % stubs.size()], request, std::chrono::milliseconds(flags.timeout_ms),
         outcomes);
    if (steady_clock::now() >= warm) ++made;
  }
  return made;
}

std::vector<GenericStub> Connect(const Flags& flags) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection each
  std::vector<GenericStub> stubs;
  for (int i = 0; i < flags.connections; ++i) {
    const auto channel =
        grpc::CreateCustomChannel(flags.target, grpc::InsecureChannelCredentials(), arguments);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(10);
    if (!channel->WaitForConnected(deadline)) throw std::runtime_error("no server");
    stubs.emplace_back(channel);
  }
  return stubs;
}

void Run(const Flags& flags) {
  std::vector<GenericStub> stubs = Connect(flags);
  const auto start = steady_clock::now();
  const auto warm = start + Ticks(flags.warmup_s);
  const auto end = warm + Ticks(flags.duration_s);
  Outcomes outcomes(warm, end);
  const std::int64_t made = MakeCalls(flags, start, warm, end, stubs, outcomes);
  const std::int64_t unanswered = outcomes.unanswered();
  outcomes.WaitForAll();
  nlohmann::json report = outcomes.Json();
  report["seconds"] = flags.duration_s;
  report["made"] = made;
  report["unanswered_at_end"] = unanswered;
  std::cout << report << "\n";
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Unary calls at random times, however many of them are unanswered.");
  app.add_option("--target", flags.target, "HOST:PORT")->required();
  app.add_option("--rate", flags.rate, "Calls a second")->check(CLI::PositiveNumber);
  app.add_option("--duration", flags.duration_s, "Seconds measured")->check(CLI::PositiveNumber);
  app.add_option("--warmup", flags.warmup_s, "Seconds before")->check(CLI::NonNegativeNumber);
  app.add_option("--timeout-ms", flags.timeout_ms, "Of a call")->check(CLI::PositiveNumber);
  app.add_option("--connections", flags.connections, "On which they are made")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", flags.seed, "Of the times; another for each process");
  app.add_option("--elements", flags.elements, "F32 of a tensor")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  Run(flags);
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
