// A tensor as a file names it: what every reader of a format hands to the commands.
//
// Thread safety: a plain value.
#ifndef WARPFOLD_CLIENT_CPP_CLI_NAMED_TENSOR_H_
#define WARPFOLD_CLIENT_CPP_CLI_NAMED_TENSOR_H_

#include <cstddef>
#include <span>
#include <string>

#include "client/cpp/cli/layout.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

struct NamedTensor {
  std::string name;
  std::string
      dtype_name;   // "f32"; of a dtype that the contract does not have, the file's own name for it
  TensorView view;  // dtype DTYPE_UNSPECIFIED when the contract does not have it
  std::string problem = {};  // why there is no more than a name; empty: nothing is wrong
  Layout layout = {};        // of the view's data; its shape is the array's
  std::span<const std::byte> unread = {};  // with a problem: its bytes, as they are in the file
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_NAMED_TENSOR_H_
