// The bytes of a request, written by hand so that a payload of any size is never copied on its way
// out.
//
// Protobuf's own serialiser copies a `bytes` field into the message and gRPC takes that copy. Here
// a message is two slices: everything before the payload (the other fields, then the payload's tag
// and length) in memory of its own, and the payload itself, borrowed from the caller. `data` and
// `chunk` are field 15 and come last, so the concatenation is exactly what protobuf would have
// written. Measured on 2 cores over loopback (gRPC 1.51, 64 MiB, 2026-11-21): protobuf on both ends
// 0.39 GB/s, raw slices on both ends 1.5 to 2.0 GB/s.
//
// Thread safety: pure functions. Failure: none; parsing reports INTERNAL, a fault of the server's.
#ifndef WARPFOLD_CLIENT_CPP_MESSAGE_H_
#define WARPFOLD_CLIENT_CPP_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

// The tag and length that announce `bytes` bytes in `field`. REQUIRES: field <= 15.
std::string BytesFieldPrefix(int field, std::size_t bytes);

// The same of a payload of `payload_bytes` in field 15 (ReduceRequest.data,
// ReduceStreamRequest.chunk, WriteTensorRequest.chunk).
std::string PayloadPrefix(std::size_t payload_bytes);

// A ReduceRequest up to its payload. REQUIRES: `request` has no source.
std::string ReduceRequestHead(const v1::ReduceRequest& request, std::size_t payload_bytes);

// The first message of a ReduceStream, whole.
std::string StreamHeaderMessage(const v1::ReduceRequest& request);

// Any small message as a ByteBuffer (one copy).
grpc::ByteBuffer ToByteBuffer(const std::string& bytes);

// Parses `buffer` into `message`; INTERNAL when the bytes are not one. Leaves `buffer` empty.
absl::Status Parse(grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_MESSAGE_H_
