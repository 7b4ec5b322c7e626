// An input as a message that has come in slices.
#ifndef WARPFOLD_TESTS_FUZZ_MESSAGE_BYTES_H_
#define WARPFOLD_TESTS_FUZZ_MESSAGE_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace warpfold::fuzz {

// In slices of 1 to 64 bytes, by the input's size, so that fields lie across their ends.
inline grpc::ByteBuffer MessageOf(const std::uint8_t* data, std::size_t size) {
  const std::size_t slice_bytes = 1 + size % 64;
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < size; at += slice_bytes) {
    slices.emplace_back(data + at, std::min(slice_bytes, size - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace warpfold::fuzz

#endif  // WARPFOLD_TESTS_FUZZ_MESSAGE_BYTES_H_
