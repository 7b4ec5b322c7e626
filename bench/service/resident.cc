// warpfold_bench_resident: one tensor put on a server and reduced there again and again, as JSON on
// stdout: one object for each choice of ops and of clients. run.py --gpus makes a benchmark of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "bench/service/payload.h"
#include "client/cpp/client.h"

namespace warpfold::bench {
namespace {

using nlohmann::ordered_json;
using std::chrono::steady_clock;

struct Flags {
  std::string server;
  std::size_t bytes = std::size_t{1} << 30;
  std::vector<std::string> ops = {"sum"};  // each a list with plus signs
  std::vector<int> clients = {1};
  double seconds = 1.0;
  int requests_min = 20;  // of each client
};

// What some clients saw of their reductions.
struct Samples {
  std::vector<double> wall_us;
  std::vector<double> server_us;  // from arrival to answer
  std::vector<double> kernel_us;  // of several GPUs the slowest one's
  client::ReduceAnswer last;
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

absl::StatusOr<Samples> ReduceFor(client::Client& client, const client::RemoteTensor& tensor,
                                  const client::ReduceOptions& options, const Flags& flags) {
  Samples samples;
  const auto end = steady_clock::now() + std::chrono::duration<double>(flags.seconds);
  for (int done = 0; done < flags.requests_min || steady_clock::now() < end; ++done) {
    const auto start = steady_clock::now();
    absl::StatusOr<client::ReduceAnswer> answer = client.Reduce(tensor, options);
    const std::chrono::duration<double, std::micro> took = steady_clock::now() - start;
    if (!answer.ok()) return answer.status();
    samples.wall_us.push_back(took.count());
    samples.server_us.push_back(static_cast<double>(answer->timing.total_ns()) / 1e3);
    samples.kernel_us.push_back(static_cast<double>(answer->timing.kernel_ns()) / 1e3);
    samples.last = *std::move(answer);
  }
  return samples;
}

// `count` closed loops at the same time, all on one connection.
absl::StatusOr<ordered_json> Measure(client::Client& client, const client::RemoteTensor& tensor,
                                     const client::ReduceOptions& options, int count,
                                     const Flags& flags) {
  if (absl::Status warm = client.Reduce(tensor, options).status(); !warm.ok()) return warm;
  std::mutex mutex;
  absl::Status status;
  Samples all;
  const auto start = steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        absl::StatusOr<Samples> samples = ReduceFor(client, tensor, options, flags);
        const std::lock_guard lock(mutex);
        if (!samples.ok()) {
          status = samples.status();
          return;
        }
        const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
          to.insert(to.end(), from.begin(), from.end());
        };
        add(all.wall_us, samples->wall_us);
        add(all.server_us, samples->server_us);
        add(all.kernel_us, samples->kernel_us);
        all.last = std::move(samples->last);
      });
    }
  }
  const std::chrono::duration<double> elapsed = steady_clock::now() - start;
  if (!status.ok()) return status;
  ordered_json results;
  for (const client::ReduceResult& result : all.last.results) {
    results[client::Name(result.op)] = absl::BytesToHexString(result.tensor.data);
  }
  const auto requests = static_cast<double>(all.wall_us.size());
  return ordered_json{
      {"clients", count},
      {"device", all.last.device},
      {"requests", all.wall_us.size()},
      {"rps", requests / elapsed.count()},
      {"gb_per_second", requests * static_cast<double>(flags.bytes) / elapsed.count() / 1e9},
      {"wall_p50_us", Median(all.wall_us)},
      {"wall_min_us", *std::min_element(all.wall_us.begin(), all.wall_us.end())},
      {"server_p50_us", Median(all.server_us)},
      {"kernel_p50_us", Median(all.kernel_us)},
      {"result_bits", results}};
}

absl::StatusOr<ordered_json> Run(const Flags& flags) {
  const absl::StatusOr<UniquePayload> payload = UniquePayload::Make(flags.bytes);
  if (!payload.ok()) return payload.status();
  auto client = client::Client::Connect(flags.server, {.timeout = std::chrono::minutes(10)});
  if (!client.ok()) return client.status();
  const auto start = steady_clock::now();
  const absl::StatusOr<client::RemoteTensor> tensor = (*client)->Put(
      {v1::DTYPE_F32, {static_cast<std::int64_t>(flags.bytes / sizeof(float))}, payload->bytes()},
      {});
  if (!tensor.ok()) return tensor.status();
  const std::chrono::duration<double> upload = steady_clock::now() - start;
  ordered_json runs = ordered_json::array();
  for (const std::string& names : flags.ops) {
    client::ReduceOptions options;
    for (const std::string& name : CLI::detail::split(names, '+')) {
      const absl::StatusOr<client::Op> op = client::ParseOp(name);
      if (!op.ok()) return op.status();
      options.ops.push_back(*op);
    }
    for (const int count : flags.clients) {
      absl::StatusOr<ordered_json> run = Measure(**client, *tensor, options, count, flags);
      if (!run.ok()) return run.status();
      ordered_json line = {{"ops", names}, {"bytes", flags.bytes}};
      line.update(*run);
      runs.push_back(std::move(line));
    }
  }
  return ordered_json{{"upload_s", upload.count()}, {"runs", std::move(runs)}};
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Measures reductions of a resident tensor", "warpfold_bench_resident");
  app.add_option("--server", flags.server, "host:port")->required();
  app.add_option("--bytes", flags.bytes, "Of the tensor, of f32")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--ops", flags.ops, "Requests, each of one or more ops: sum,min+max")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--clients", flags.clients, "How many reduce at a time, in turn")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Of each measurement")->capture_default_str();
  app.add_option("--requests-min", flags.requests_min, "At least so many per client")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  flags.bytes -= flags.bytes % sizeof(float);
  const absl::StatusOr<ordered_json> report = Run(flags);
  if (!report.ok()) {
    std::cerr << flags.server << ": " << report.status() << "\n";
    return 1;
  }
  std::cout << report->dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
