// The program `warpfold` as a test's subject: runs it against the fake service, with files in a
// folder of the test's own.
//
// Thread safety: none needed, one test runs at a time.
#ifndef WARPFOLD_TESTS_CLIENT_CLI_FIXTURE_H_
#define WARPFOLD_TESTS_CLIENT_CLI_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/cli/npy.h"
#include "tests/client/fake_service.h"
#include "tests/temp_folder.h"

namespace warpfold::client {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class CliTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  std::string WriteFile(const std::string& name, const std::string& bytes) const {
    return folder_.Write(name, bytes);
  }

  template <typename T>
  std::string WriteArray(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                         const std::vector<T>& values) const {
    const Tensor tensor{dtype,
                        std::move(shape),
                        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}};
    return WriteFile(name, *NpyBytes(tensor));
  }

  static std::string SafetensorsFile(const std::string& header, const std::string& data) {
    std::string length(8, '\0');
    for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
    return length + header + data;
  }

  // Runs the program with `arguments` (split by the shell) against the fake server.
  Outcome Run(const std::string& arguments) const {
    return RunAt("WARPFOLD_TARGET=" + server_.address(), arguments);
  }

  Outcome RunAt(const std::string& environment, const std::string& arguments) const {
    return RunShell(environment + " '" WARPFOLD_CLI "' " + arguments);
  }

  Outcome RunShell(const std::string& command) const {
    Outcome outcome;
    FILE* pipe = popen((command + " 2>'" + Path("stderr") + "'").c_str(), "r");
    char buffer[4096];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
      outcome.out.append(buffer, n);
    }
    const int status = pclose(pipe);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::ostringstream err;
    err << std::ifstream(Path("stderr")).rdbuf();
    outcome.err = err.str();
    return outcome;
  }

  // Runs the program with a terminal as stdout, which script(1) of util-linux makes.
  Outcome RunOnTerminal(const std::string& arguments, int columns = 80) const {
    return RunShell("script -qec \"stty cols " + std::to_string(columns) + "; '" WARPFOLD_CLI "' " +
                    arguments + "\" /dev/null </dev/null");
  }

  // A failure of the given kind whose message holds `problem`, on one line, with nothing on stdout.
  void ExpectFailure(const std::string& arguments, int exit_code,
                     const std::string& problem) const {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(problem)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }

  FakeServer server_;
  const UniqueTempFolder folder_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_TESTS_CLIENT_CLI_FIXTURE_H_
