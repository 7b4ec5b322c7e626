// Messages as the bytes that come and go: a received one that carries a payload, taken apart
// without copying that, and one that is sent.
//
// Step of a request: 1, wire to domain, and the way back. ReduceRequest.data and
// ReduceStreamRequest.chunk are both field 15, ModelInferRequest.raw_input_contents is field 7.
// This finds such a field in the slices that the transport received, keeps them by reference, and
// leaves all other fields, usually a few dozen bytes in front of it, to protobuf. Any order of
// fields is read; the payload field may come once.
//
// Neither class is safe for concurrent use; both are movable. Malformed bytes are INVALID_ARGUMENT,
// never undefined behaviour.
#ifndef WARPFOLD_SERVER_FRONTEND_WIRE_WIRE_MESSAGE_H_
#define WARPFOLD_SERVER_FRONTEND_WIRE_WIRE_MESSAGE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "server/core/request/task.h"

namespace warpfold {

// What a message may have beside its payload: 32 dimensions, 32 axes, names. It is parsed, into
// several times its size, before anything is admitted.
inline constexpr std::size_t kHeaderBytesMax = std::size_t{64} << 10;

struct PayloadField {
  const char* name;
  int number = 15;
  std::size_t header_bytes_max = kHeaderBytesMax;
};
inline constexpr PayloadField kDataField{.name = "data"};
inline constexpr PayloadField kChunkField{.name = "chunk"};

// INVALID_ARGUMENT `message`: the bytes are no message.
absl::Status MalformedMessage();

// A run of bytes in received slices, read from the front. Owns references to the slices.
class SliceRun {
 public:
  SliceRun() = default;
  // The `size_bytes` bytes that start `offset_bytes` into `slices`. REQUIRES: they are there.
  SliceRun(std::vector<grpc::Slice> slices, std::size_t offset_bytes, std::size_t size_bytes);
  SliceRun(SliceRun&&) noexcept = default;
  SliceRun& operator=(SliceRun&& other) noexcept;
  ~SliceRun() { Clear(); }

  std::size_t size_bytes() const { return size_bytes_; }

  // Copies as much as fits into the front of `out` and moves past it. Returns the bytes copied.
  std::size_t ReadInto(absl::Span<std::byte> out);

  // Lets go of the slices, on any thread: the last reference to received bytes tells gRPC's memory
  // quota, which works only inside a call of gRPC's core (1.51 crashes elsewhere once the quota is
  // full).
  void Clear();

 private:
  std::vector<grpc::Slice> slices_;
  std::size_t slice_ = 0;   // the one that holds the next byte
  std::size_t offset_ = 0;  // of the next byte in it
  std::size_t size_bytes_ = 0;
};

// The payload of a tensor that came in one message: all of it is here already.
class MessagePayload final : public PayloadSource {
 public:
  void Set(SliceRun bytes) { bytes_ = std::move(bytes); }
  void Clear() { bytes_.Clear(); }

  // The front end compared the byte count with the plan: `out` is always filled.
  absl::Status ReadInto(absl::Span<std::byte> out) override;
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

 private:
  SliceRun bytes_;
};

class WireMessage {
 public:
  // Takes `buffer` apart; keeps references to its slices, not to it. INVALID_ARGUMENT, the message
  // starting with the payload field's name: it comes twice, is cut short or is not bytes; starting
  // with "message": other malformed bytes. RESOURCE_EXHAUSTED that never fits: too large a header.
  static absl::StatusOr<WireMessage> Split(grpc::ByteBuffer* buffer, const PayloadField& field);

  // Parses every field but the payload. INVALID_ARGUMENT: malformed.
  absl::Status ParseHeader(google::protobuf::MessageLite* message) const;

  // Of every field but the payload.
  std::size_t header_bytes() const { return front_.has_value() ? front_bytes_ : copy_.size(); }

  bool has_payload() const { return payload_.has_value(); }
  // REQUIRES: has_payload(); once.
  SliceRun TakePayload() { return *std::move(payload_); }
  std::size_t payload_bytes() const { return has_payload() ? payload_->size_bytes() : 0; }

 private:
  // The header is either the front of the first slice, the usual case, or a copy of its parts.
  std::optional<grpc::Slice> front_;
  std::size_t front_bytes_ = 0;
  std::string copy_;
  std::optional<SliceRun> payload_;
};

// The number of the first field that the contract here does not have, which a newer client says; 0:
// there is none. Of `message` itself, and not of those in it.
int FirstUnknownField(const google::protobuf::Message& message);

// `message` as the bytes that a raw method sends. INTERNAL: above 2 GiB, which none can be.
// RESOURCE_EXHAUSTED: NoHostMemory (host_bytes.h).
absl::Status Encode(const google::protobuf::MessageLite& message, grpc::ByteBuffer* out);

// The same, but a large message is not copied where it has large fields of bytes: `out` refers to
// them, and keeps the message until it is written.
absl::Status EncodeKept(std::shared_ptr<const google::protobuf::MessageLite> message,
                        grpc::ByteBuffer* out);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_WIRE_WIRE_MESSAGE_H_
