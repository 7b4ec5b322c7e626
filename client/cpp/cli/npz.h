// NumPy's .npz files: a zip archive of .npy members, as np.savez and np.savez_compressed write it.
//
// A member is stored or deflated; either way it is read into memory whole, and its CRC is checked.
// A member named "w.npy" is the tensor "w". An array that cannot be reduced (objects, records,
// text) has a problem and spoils no other, and so has a member that is not .npy. Refused with a
// reason: an archive without any .npy (a PyTorch checkpoint is a zip archive too), encryption,
// other compressions, a name that comes twice, a size that the compressed bytes cannot have.
//
// Thread safety: ReadNpz is pure; an NpzArchive is immutable. Failure: INVALID_ARGUMENT naming the
// member; RESOURCE_EXHAUSTED when a member does not fit into memory.
#ifndef WARPFOLD_CLIENT_CPP_CLI_NPZ_H_
#define WARPFOLD_CLIENT_CPP_CLI_NPZ_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/named_tensor.h"

namespace warpfold::client {

// Deflate's best: 258 bytes from 2 bits, and a bit more. A size above that is a lie.
inline constexpr std::size_t kDeflateRatioMax = 1032;

struct NpzArchive {
  std::vector<std::unique_ptr<std::byte[]>> members;
  std::vector<NamedTensor> tensors;  // in the archive's order; the views refer to `members`
};

// The arrays of `file`, the bytes of a whole .npz file, which is not referred to afterwards.
// `of_void`: as ParseNpy has it, of those that say no dtype of their own.
absl::StatusOr<NpzArchive> ReadNpz(std::span<const std::byte> file,
                                   std::optional<DType> of_void = std::nullopt);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_NPZ_H_
