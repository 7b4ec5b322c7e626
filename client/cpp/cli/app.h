// The command line of `warpfold`: every subcommand and flag, its help, and where its value goes.
// The parser, the help texts, the shell completions and the man page all come from here.
//
// Thread safety: none needed, main builds one.
#ifndef WARPFOLD_CLIENT_CPP_CLI_APP_H_
#define WARPFOLD_CLIENT_CPP_CLI_APP_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/cli/commands.h"

namespace warpfold::client {

struct Flags {
  ServerFlags server;
  ReduceFlags reduce;
  DescribeFlags describe;
  DiffFlags diff;
  WatchFlags watch;
  BenchFlags bench;
  HealthFlags health;
  std::string shell;         // of completion
  std::string help_command;  // of help; empty: the program's
};

// The value's type of a flag or an argument that takes a path: shells complete files there.
inline constexpr char kPathType[] = "PATH";

// Who names the server when no flag does.
inline constexpr char kTargetVariable[] = "WARPFOLD_TARGET";

inline constexpr const char* kExamples[] = {
    "warpfold describe model.safetensors --fail-on nan,inf",
    "warpfold describe a.npy b.npz c.safetensors",
    "warpfold diff old.safetensors new.safetensors",
    "warpfold reduce a.npy --op sum,mean --axis 0",
    "zcat floats.gz | warpfold reduce - --dtype f32 --op max",
    "warpfold watch --server gpu-node --interval 5",
    "warpfold --server gpu-node:50051 info --json",
    "warpfold health --server gpu-node --service readiness",
    "warpfold bench --target gpu-node:50051 --method stream --size 256MiB --clients 4",
};

struct Note {
  const char* title;
  const char* text;
  const char* of_files;  // the rest of it, of commands that take several files
};
inline constexpr Note kNotes[] = {
    {"Exit status",
     "0 done; 1 done, and --fail-on or diff found something; 2 wrong input, usage or token;\n"
     "3 the server or the network failed (health: 1), or stdout could not be written.",
     "Of several files it is the worst, the highest. A file that is wrong does not end the "
     "others."},
    {"JSON",
     "Numbers have the digits that identify them; NaN and the infinities are the strings \"NaN\",\n"
     "\"Infinity\" and \"-Infinity\"; what does not exist is null.",
     "Of several files it is {\"files\": [...]}, in their order: each what it is for that file "
     "alone,\n"
     "or {\"file\", \"error\"}; describe adds the \"total\"."},
};

// The commands that the help shows.
std::vector<std::string> CommandNames(const CLI::App& app);

// Parsing writes into `flags`, which must outlive the app.
std::unique_ptr<CLI::App> MakeApp(Flags& flags, const std::string& version);

// Parses the command line of main. Throws CLI::ParseError.
void ParseFlags(CLI::App& app, int argc, const char* const* argv);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_APP_H_
