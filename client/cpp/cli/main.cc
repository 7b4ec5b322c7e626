// `warpfold`, the command line client: flags in, a subcommand run, an exit code out.
//
// Exit codes: 0 done; 1 done, and found what was looked for; 2 the input or the usage is wrong; 3
// the server or the network failed. The message is on stderr.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

constexpr int kExitFound = 1;
constexpr int kExitBadInput = 2;
constexpr int kExitFailure = 3;

constexpr char kExamples[] =
    "Examples:\n"
    "  warpfold describe model.safetensors --fail-on nan,inf\n"
    "  warpfold diff old.safetensors new.safetensors\n"
    "  warpfold reduce a.npy --op sum,mean --axis 0\n"
    "  zcat floats.gz | warpfold reduce - --dtype f32 --op max\n"
    "  warpfold --server gpu-node:50051 info --json\n"
    "\n"
    "Exit codes: 0 done; 1 done, and --fail-on or diff found something; 2 the input or the\n"
    "usage is wrong; 3 the server or the network failed.\n"
    "JSON: numbers have the digits that identify them; NaN and the infinities are the strings\n"
    "\"NaN\", \"Infinity\" and \"-Infinity\"; what does not exist is null.";

struct Flags {
  ServerFlags server;
  ReduceFlags reduce;
  DescribeFlags describe;
  DiffFlags diff;
  WatchFlags watch;
};

void AddServerFlags(CLI::App& app, ServerFlags& flags) {
  app.add_option("--server", flags.server, "The server, as host:port")
      ->envname("WARPFOLD_SERVER_ADDRESS")
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout_s,
                 "Seconds that one request may take, retries included")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print JSON instead of text");
  app.add_option("--color", flags.color, "Colour the text; auto: on a terminal, without NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void AddRawFormat(CLI::App& command, std::string& dtype, std::vector<std::int64_t>& shape) {
  command.add_option("--dtype", dtype,
                     "The element type of raw bytes (C order, little-endian): f32, i64, bf16, ...");
  command.add_option("--shape", shape, "The shape of raw bytes: 3,4; default one axis of all")
      ->delimiter(',');
}

void AddJobs(CLI::App& command, int& jobs) {
  command.add_option("--jobs", jobs, "Tensors in flight at a time, each on its own connection")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

void AddInput(CLI::App& command, InputFlags& flags) {
  command
      .add_option("FILE", flags.file, "A .npy, .npz or .safetensors file, or raw bytes; - is stdin")
      ->required();
  AddRawFormat(command, flags.dtype, flags.shape);
}

CLI::App* AddReduce(CLI::App& app, ReduceFlags& flags) {
  CLI::App* command = app.add_subcommand("reduce", "Reduce one tensor of a file or of stdin");
  AddInput(*command, flags.input);
  command->add_option("--tensor", flags.tensor, "The tensor, of a file that has several");
  command
      ->add_option(
          "--op", flags.ops,
          "One or more ops (sum, min, max, mean, ...; info lists them), computed in one read")
      ->required()
      ->delimiter(',');
  command->add_option("--axis", flags.axes, "The axes to reduce, -1 being the last; default all")
      ->delimiter(',');
  command->add_flag("--keepdims", flags.keepdims, "Keep the reduced axes with length 1");
  command->add_option("--output", flags.output, "Write the result to this .npy file (one op only)");
  return command;
}

CLI::App* AddDescribe(CLI::App& app, DescribeFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "describe",
      "Minimum, maximum, mean, standard deviation, NaNs and infinities of every tensor of a file");
  AddInput(*command, flags.input);
  AddJobs(*command, flags.jobs);
  command
      ->add_option("--fail-on", flags.fail_on,
                   "Exit with 1 when a tensor has one of these: nan, inf, zero (all elements are), "
                   "constant (all elements equal, two or more)")
      ->delimiter(',')
      ->check(CLI::IsMember({"nan", "inf", "zero", "constant"}));
  return command;
}

CLI::App* AddDiff(CLI::App& app, DiffFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two files tensor by tensor; exit with 1 when they differ");
  command->add_option("A", flags.a, "A file, or - for stdin")->required();
  command->add_option("B", flags.b, "The other file, or - for stdin")->required();
  AddRawFormat(*command, flags.dtype, flags.shape);
  AddJobs(*command, flags.jobs);
  return command;
}

CLI::App* AddWatch(CLI::App& app, WatchFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "watch", "A server's throughput, latency and queue, live, from its Prometheus metrics");
  command->add_option("--metrics", flags.metrics,
                      "The metrics page; default http://HOST:9464/metrics, HOST being --server's");
  command->add_option("--interval", flags.interval_s, "Seconds between readings")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  command->add_option("--count", flags.count, "End after so many reports; 0: when interrupted")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return command;
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "warpfold: " << Printable(std::string(status.message())) << "\n";
  return IsInputFault(status) ? kExitBadInput : kExitFailure;
}

int Report(const absl::StatusOr<Verdict>& verdict) {
  if (!verdict.ok()) return Report(verdict.status());
  return *verdict == Verdict::kFound ? kExitFound : 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("warpfold: reductions of tensors on GPUs, from the command line", "warpfold");
  app.footer(kExamples);
  app.set_version_flag("--version", "warpfold " WARPFOLD_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // the server's flags may come after the subcommand
  AddServerFlags(app, flags.server);
  const CLI::App* reduce = AddReduce(app, flags.reduce);
  const CLI::App* describe = AddDescribe(app, flags.describe);
  const CLI::App* diff = AddDiff(app, flags.diff);
  const CLI::App* watch = AddWatch(app, flags.watch);
  app.add_subcommand("info", "What the server is: version, devices, ops, dtypes, limits");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadInput;
  }
  if (reduce->parsed()) return Report(RunReduce(flags.server, flags.reduce));
  if (describe->parsed()) return Report(RunDescribe(flags.server, flags.describe));
  if (diff->parsed()) return Report(RunDiff(flags.server, flags.diff));
  if (watch->parsed()) return Report(RunWatch(flags.server, flags.watch));
  return Report(RunInfo(flags.server));
}

}  // namespace
}  // namespace warpfold::client

int main(int argc, char** argv) { return warpfold::client::Main(argc, argv); }
