// `warpfold`, the command line client: flags in, a subcommand run, an exit code out.
//
// Exit codes: 0 done; 1 the server or the network failed; 2 the input or the usage is wrong. The
// message is on stderr.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadInput = 2;

constexpr char kExamples[] =
    "Examples:\n"
    "  warpfold describe model.safetensors\n"
    "  warpfold reduce a.npy --op sum,mean --axis 0\n"
    "  warpfold --server gpu-node:50051 info --json\n"
    "\n"
    "Exit codes: 0 done, 1 the server or the network failed, 2 the input or the usage is wrong.\n"
    "JSON: numbers have the digits that identify them; NaN and the infinities are the strings\n"
    "\"NaN\", \"Infinity\" and \"-Infinity\"; what does not exist is null.";

struct Flags {
  ServerFlags server;
  ReduceFlags reduce;
  DescribeFlags describe;
  HealthFlags health;
};

void AddServerFlags(CLI::App& app, ServerFlags& flags) {
  app.add_option("--server", flags.server, "The server, as host:port")
      ->envname("WARPFOLD_SERVER_ADDRESS")
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout_s,
                 "Seconds that one request may take, retries included")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_flag("--tls", flags.tls, "Connect with TLS; implied by the other --tls flags");
  app.add_option("--tls-ca", flags.tls_ca,
                 "PEM certificates of which one signed the server's; default gRPC's own")
      ->envname("WARPFOLD_TLS_CA");
  app.add_option("--tls-cert", flags.tls_cert,
                 "PEM certificate to show, if the server asks for it");
  app.add_option("--tls-key", flags.tls_key, "PEM private key of that certificate");
  app.add_option("--tls-server-name", flags.tls_server_name,
                 "Name in the server's certificate, when it is not the host of --server");
  app.add_flag("--json", flags.json, "Print JSON instead of text");
}

CLI::App* AddReduce(CLI::App& app, ReduceFlags& flags) {
  CLI::App* command = app.add_subcommand("reduce", "Reduce the array of a .npy file");
  command->add_option("FILE", flags.file, "A .npy file in C order")->required();
  command->add_option("--op", flags.ops, "One or more of sum, min, max, mean; computed in one read")
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
      "describe", "Minimum, maximum and mean of every tensor of a .npy or .safetensors file");
  command->add_option("FILE", flags.file, "A .npy or .safetensors file")->required();
  command
      ->add_option("--jobs", flags.jobs, "Tensors in flight at a time, each on its own connection")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  return command;
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "warpfold: " << Printable(std::string(status.message())) << "\n";
  return IsInputFault(status) ? kExitBadInput : kExitFailure;
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
  app.add_subcommand("info", "What the server is: version, devices, ops, dtypes, limits");
  CLI::App* health =
      app.add_subcommand("health", "Exit with 0 when the server says that it serves, else with 1");
  health->add_option("--service", flags.health.service,
                     "liveness, readiness, ...; default the server as a whole");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadInput;
  }
  if (reduce->parsed()) return Report(RunReduce(flags.server, flags.reduce));
  if (describe->parsed()) return Report(RunDescribe(flags.server, flags.describe));
  if (health->parsed()) return Report(RunHealth(flags.server, flags.health));
  return Report(RunInfo(flags.server));
}

}  // namespace
}  // namespace warpfold::client

int main(int argc, char** argv) { return warpfold::client::Main(argc, argv); }
