#include "client/cpp/cli/app.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cpp/cli/checks.h"
#include "client/cpp/cli/help.h"
#include "client/cpp/target.h"

namespace warpfold::client {
namespace {

constexpr char kServiceFlag[] = "--service";

// A flag that takes a list by commas; `is_item` checks each item. CLI11's own lists leave empty
// items out: "0,,1" would be 0 and 1. And they take whatever follows: in "--op sum FILE" the file.
template <typename Item>
CLI::Option* AddList(CLI::App& app, const std::string& name, std::vector<Item>& list,
                     const std::string& help, const CLI::Validator& is_item = {}) {
  const auto parse = [name, &list, is_item](const std::vector<std::string>& values) {
    list.clear();
    for (std::string& text :
         std::vector<std::string>(absl::StrSplit(absl::StrJoin(values, ","), ','))) {
      if (text.empty()) throw CLI::ValidationError(name, "an item is empty");
      if (std::string problem = is_item(text); !problem.empty()) {
        throw CLI::ValidationError(name, problem);
      }
      Item item{};
      if (!CLI::detail::lexical_cast(text, item)) throw CLI::ConversionError(text, name);
      list.push_back(std::move(item));
    }
  };
  const std::string choices = is_item.get_description();
  CLI::Option* option = app.add_option_function<std::vector<std::string>>(name, parse, help)
                            ->type_name(absl::StrCat(CLI::detail::type_name<Item>(),
                                                     choices.empty() ? "" : ":", choices))
                            ->allow_extra_args(false);
  if (!list.empty()) option->default_str(absl::StrCat("[", absl::StrJoin(list, ","), "]"));
  return option;
}

void AddServerFlags(CLI::App& app, ServerFlags& flags) {
  app.add_option("--target,--server", flags.server,
                 "The server, as host, host:port (50051) or unix:/PATH")
      ->envname(kTargetVariable)
      ->check(CLI::Validator(
          [](const std::string& text) { return std::string(CheckTarget(text).message()); }, ""))
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout_s,
                 "Seconds that a request may go without progress, retries included; of one that "
                 "is a single message, that it may take")
      ->check(IsBetween(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--numerics-version", flags.numerics_version,
                 "Version of the rules for numbers that the server must have; 0: any")
      ->check(IsBetween(0, std::numeric_limits<std::uint32_t>::max()))
      ->capture_default_str();
  app.add_flag("--tls", flags.tls, "Connect with TLS; implied by the other --tls flags");
  app.add_option("--tls-ca", flags.tls_ca,
                 "PEM certificates of which one signed the server's; default gRPC's own")
      ->type_name(kPathType)
      ->envname("WARPFOLD_TLS_CA");
  app.add_option("--tls-cert", flags.tls_cert, "PEM certificate to show, if the server asks for it")
      ->type_name(kPathType);
  app.add_option("--tls-key", flags.tls_key, "PEM private key of that certificate")
      ->type_name(kPathType);
  app.add_option("--tls-server-name", flags.tls_server_name,
                 "Name in the server's certificate, when it is not the host of --server");
  app.add_option("--token-file", flags.token_file,
                 "File with the token by which the server knows its caller; send it by TLS, or "
                 "within this host")
      ->type_name(kPathType)
      ->envname("WARPFOLD_TOKEN_FILE");
  app.add_flag("--json", flags.json, "Print JSON instead of text");
  app.add_option("--color", flags.color, "Colour the text; auto: on a terminal, without NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void AddRawFormat(CLI::App& command, std::string& dtype, std::vector<std::int64_t>& shape) {
  command.add_option(
      "--dtype", dtype,
      "The element type of raw bytes (C order, little-endian): f32, i64, bf16, ...; or "
      "of a .npy or .npz file of a dtype that NumPy does not have: bf16, f8_e4m3, f8_e5m2");
  AddList(command, "--shape", shape, "The shape of raw bytes: 3,4; default one axis of all",
          IsWhole());
}

void AddJobs(CLI::App& command, int& jobs) {
  command.add_option("--jobs", jobs, "Tensors in flight at a time, each on its own connection")
      ->transform(IsWholeBetween(1, 64))
      ->capture_default_str();
}

void AddInput(CLI::App& command, FilesFlags& flags) {
  command
      .add_option("FILE", flags.files,
                  ".npy, .npz or .safetensors files, or raw bytes; or pipes of them (no .npz); "
                  "- is stdin")
      ->type_name(kPathType)
      ->required();
  AddRawFormat(command, flags.dtype, flags.shape);
}

void AddStatisticsFlags(CLI::App& command, StatisticsFlags& flags) {
  command.add_flag("--omit-nan", flags.omit_nan, "Leave NaNs out, as NumPy's nansum, nanmean, ...");
  command.add_option("--ddof", flags.ddof, "The divisor of std and var is the count less this")
      ->check(IsFinite())
      ->capture_default_str();
}

void AddReduce(CLI::App& app, ReduceFlags& flags) {
  CLI::App* command = app.add_subcommand("reduce", "Reduce one tensor of each file");
  AddInput(*command, flags.input);
  command->add_option("--tensor", flags.tensor, "The tensor, of files that have several");
  AddList(*command, "--op", flags.ops,
          "One or more ops (sum, min, max, mean, ...; info lists them), computed in one read")
      ->required();
  AddList(*command, "--axis", flags.axes, "The axes to reduce, -1 being the last; default all",
          IsWhole());
  AddStatisticsFlags(*command, flags.statistics);
  command->add_flag("--keepdims", flags.keepdims, "Keep the reduced axes with length 1");
  command
      ->add_option("--output", flags.output,
                   "Write the result to this .npy file (one file and op only)")
      ->type_name(kPathType);
}

void AddDescribe(CLI::App& app, DescribeFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "describe",
      "Minimum, maximum, mean, standard deviation, NaNs and infinities of every tensor of files");
  AddInput(*command, flags.input);
  AddJobs(*command, flags.jobs);
  AddStatisticsFlags(*command, flags.statistics);
  AddList(*command, "--fail-on", flags.fail_on,
          "Exit with 1 when a tensor has one of these: nan, inf, zero (all elements are), "
          "constant (all elements equal, two or more)",
          CLI::IsMember({"nan", "inf", "zero", "constant"}));
}

void AddDiff(CLI::App& app, DiffFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two files tensor by tensor; exit with 1 when they differ");
  command->add_option("A", flags.a, "A file, or - for stdin")->type_name(kPathType)->required();
  command->add_option("B", flags.b, "The other file, or - for stdin")
      ->type_name(kPathType)
      ->required();
  AddRawFormat(*command, flags.dtype, flags.shape);
  command
      ->add_option("--tolerance", flags.tolerance,
                   "Exit with 0 when no element differs by more than this; default: by a bit")
      ->check(IsNonNegative());
  AddJobs(*command, flags.jobs);
}

void AddWatch(CLI::App& app, WatchFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "watch", "A server's throughput, latency and queue, live, from its Prometheus metrics");
  command->add_option(
      "--metrics", flags.metrics,
      "The metrics page; default http://HOST:9464/metrics, HOST being --server's, or "
      "https:// with TLS. It is shown the token and the certificates, too");
  command->add_option("--interval", flags.interval_s, "Seconds between readings")
      ->check(IsBetween(0.01, 86400.0))
      ->capture_default_str();
  command->add_option("--count", flags.count, "End after so many reports; 0: when interrupted")
      ->transform(IsWholeNonNegative())
      ->capture_default_str();
}

void AddHealth(CLI::App& app, HealthFlags& flags) {
  CLI::App* command =
      app.add_subcommand("health", "Exit with 0 when the server says that it serves, else with 1");
  command->add_option(kServiceFlag, flags.service,
                      "liveness, readiness, ...; default the server as a whole");
}

void AddBench(CLI::App& app, BenchFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "Load a server with requests for a while: throughput and latency, as clients see them");
  command
      ->add_option(
          "--method", flags.method,
          "How the tensor travels; infer: by the Open Inference Protocol; resident: uploaded once "
          "by each client, then reduced; shared: in memory shared with a server on this host; "
          "cuda: in another process's memory on the server's GPU")
      ->check(CLI::IsMember(
          {"unary", "stream", "striped", "many", "infer", "resident", "shared", "cuda"}))
      ->capture_default_str();
  command->add_option("--size", flags.size_bytes, "Bytes of the tensor: 4KiB, 1MiB, 2GiB, ...")
      ->transform(CLI::AsSizeValue(false))
      ->check(IsPositive())
      ->capture_default_str();
  command->add_option("--dtype", flags.dtype, "Its element type")->capture_default_str();
  AddList(*command, "--op", flags.ops, "One or more ops, over all elements");
  command->add_option("--clients", flags.clients, "Clients at a time, each on its own connection")
      ->transform(IsWholeBetween(1, 4096))
      ->capture_default_str();
  command->add_option("--duration", flags.duration_s, "Seconds to measure")
      ->check(IsNonNegative())
      ->capture_default_str();
  command->add_option("--warmup", flags.warmup_s, "Seconds of load before that")
      ->check(IsNonNegative())
      ->capture_default_str();
  command
      ->add_option("--requests-min", flags.requests_min,
                   "At least so many requests of each client, however long they take")
      ->transform(IsWholeNonNegative())
      ->capture_default_str();
  command
      ->add_option(
          "--give-up-after", flags.give_up_after_s,
          "End with exit status 3 when nobody has answered a client for so many seconds, or "
          "lets it connect")
      ->check(IsNonNegative())
      ->capture_default_str();
  command
      ->add_option("--rate", flags.rate,
                   "Requests/s of all clients together, at random times, whether the server keeps "
                   "up or not; 0: each client sends when its last request is answered")
      ->check(IsNonNegative())
      ->capture_default_str();
  command->add_option("--window", flags.window, "Requests of a client on their way, of many")
      ->transform(IsWholeBetween(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--connections", flags.connections,
                   "Connections of a client at a time, of striped and of resident's upload")
      ->transform(IsWholeBetween(1, 64))
      ->capture_default_str();
  command->add_option("--stripe-size", flags.stripe_bytes_min, "Least bytes of a stripe")
      ->transform(CLI::AsSizeValue(false))
      ->check(IsPositive())
      ->capture_default_str();
  command
      ->add_option("--cuda-handle", flags.cuda_handle,
                   "Of cuda, the memory: cudaIpcGetMemHandle's 64 bytes in hexadecimal")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool is_hex =
                text.size() == 128 && std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
            return is_hex ? std::string() : std::string("not 64 bytes in hexadecimal");
          },
          "HEX"));
  command
      ->add_option("--cuda-ordinal", flags.cuda_ordinal,
                   "Of cuda, its GPU: N of the server's device cuda:N")
      ->transform(IsWholeNonNegative())
      ->capture_default_str();
  command
      ->add_option("--spin-us", flags.spin_us,
                   "Microseconds for which a client spins for its answer before it sleeps, of "
                   "resident and shared; 0: not at all")
      ->transform(IsWholeNonNegative())
      ->capture_default_str();
  command->add_option("--chunk-size", flags.chunk_bytes, "Payload of a stream's message")
      ->transform(CLI::AsSizeValue(false))
      ->check(IsPositive())
      ->capture_default_str();
}

// An empty value, of a script's unset variable, must not pass for a flag that was left out.
void RefuseEmptyValues(CLI::App& app) {
  const CLI::Validator is_something(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "");
  for (CLI::Option* option : app.get_options({})) {
    if (option->check_name(kServiceFlag)) continue;  // grpc.health.v1's own name of the whole
    if (option->get_items_expected_max() > 0) option->check(is_something);
  }
}

// For packagers; a group of no name is left out of the help.
void AddGenerators(CLI::App& app, std::string& shell) {
  CLI::App* completion = app.add_subcommand("completion", "Print the completion file of a shell");
  completion->group("");
  completion->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.add_subcommand("man", "Print the man page")->group("");
}

void AddHelp(CLI::App& app, std::string& command_name) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command, or this");
  command->add_option("COMMAND", command_name, "One of the commands above")
      ->type_name(absl::StrCat("TEXT:{", absl::StrJoin(CommandNames(app), ","), "}"));
}

// Of a command's help; of the program's when `command` is empty.
std::string Footer(const std::string& command, bool takes_files) {
  std::string footer = "Examples:\n";
  for (const std::string example : kExamples) {
    const bool is_its = absl::StrContains(example + " ", absl::StrCat(" ", command, " "));
    if (command.empty() || is_its) absl::StrAppend(&footer, "  ", example, "\n");
  }
  for (const Note& note : kNotes) {
    absl::StrAppend(&footer, "\n", note.title, ":\n", note.text, "\n");
    if (takes_files) absl::StrAppend(&footer, note.of_files, "\n");
  }
  footer.pop_back();
  return footer;
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(Flags& flags, const std::string& version) {
  auto app = std::make_unique<CLI::App>("Reductions of tensors on GPUs, from the command line",
                                        "warpfold");
  app->formatter(std::make_shared<HelpFormatter>());
  app->footer(Footer("", /*takes_files=*/true));
  app->set_version_flag("--version", absl::StrCat("warpfold ", version));
  app->require_subcommand(1);
  app->fallthrough();  // the server's flags may come after the subcommand
  AddServerFlags(*app, flags.server);
  AddReduce(*app, flags.reduce);
  AddDescribe(*app, flags.describe);
  AddDiff(*app, flags.diff);
  AddWatch(*app, flags.watch);
  AddBench(*app, flags.bench);
  app->add_subcommand("info", "What the server is: version, devices, ops, dtypes, limits");
  AddHealth(*app, flags.health);
  AddGenerators(*app, flags.shell);
  AddHelp(*app, flags.help_command);
  RefuseEmptyValues(*app);
  for (CLI::App* command : app->get_subcommands({})) {
    RefuseEmptyValues(*command);
    const CLI::Option* files = command->get_option_no_throw("FILE");
    const bool is_shown = !command->get_group().empty() && command->get_name() != "help";
    command->footer(is_shown ? Footer(command->get_name(), files != nullptr) : "");
  }
  return app;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  const auto shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(shown)) names.push_back(command->get_name());
  return names;
}

void ParseFlags(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> arguments;  // the last one first, as CLI11 takes them
  for (int i = argc - 1; i > 0; --i) {
    const std::string argument = argv[i];
    // CLI11 takes what follows "--axis=" for its value: as two arguments it is the empty one.
    const bool is_empty = argument.size() > 3 && argument.starts_with("--") &&
                          argument.find('=') == argument.size() - 1;
    if (is_empty) arguments.emplace_back();
    arguments.push_back(is_empty ? argument.substr(0, argument.size() - 1) : argument);
  }
  app.parse(std::move(arguments));
  // CLI11 2.1 refuses a variable that fails its option's check; later ones pass it over in silence.
  const char* const target = std::getenv(kTargetVariable);
  if (target == nullptr || *target == '\0' || app.get_option("--target")->count() > 0) return;
  if (absl::Status status = CheckTarget(target); !status.ok()) {
    throw CLI::ValidationError("--target", std::string(status.message()));
  }
}

}  // namespace warpfold::client
