// What the values of options have to be, in words that say what is wrong: "0 is not 1 to 64".
//
// Thread safety: functions without state.
#ifndef WARPFOLD_CLIENT_CPP_CLI_CHECKS_H_
#define WARPFOLD_CLIENT_CPP_CLI_CHECKS_H_

#include <CLI/CLI.hpp>
#include <cstdint>

namespace warpfold::client {

// Finite numbers, to check().
CLI::Validator IsNonNegative();
CLI::Validator IsPositive();
CLI::Validator IsFinite();
CLI::Validator IsBetween(double least, double most);

// Whole numbers, to transform() by: "1.0" becomes "1", which CLI11 alone takes.
CLI::Validator IsWhole();
CLI::Validator IsWholeNonNegative();
CLI::Validator IsWholeBetween(std::int64_t least, std::int64_t most);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_CHECKS_H_
