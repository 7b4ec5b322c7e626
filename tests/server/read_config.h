// What a command line of warpfold-server is read as.
#ifndef WARPFOLD_TESTS_SERVER_READ_CONFIG_H_
#define WARPFOLD_TESTS_SERVER_READ_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "server/config_flags.h"

namespace warpfold {

// What `arguments` say, as the server's start and its reload read it.
inline absl::StatusOr<Config> Read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "warpfold-server");
  return ReadConfig(static_cast<int>(arguments.size()), arguments.data());
}

// The message with which `arguments` are refused.
inline std::string Refusal(const std::vector<const char*>& arguments) {
  const absl::Status status = Read(arguments).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_READ_CONFIG_H_
