#include "server/frontend/wire/wire_message.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/core/base/refusal.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Where the payload field lies in a message. Without one, tag_at and end_at are the message's size.
struct Layout {
  bool has_payload = false;
  std::size_t tag_at = 0;
  std::size_t payload_at = 0;
  std::size_t end_at = 0;
};

absl::Status Malformed(const char* field, const char* what) {
  return AsMalformed(absl::InvalidArgumentError(absl::StrCat(field, ": ", what)));
}

absl::StatusOr<Layout> FindPayload(grpc::ByteBuffer* buffer, std::size_t message_bytes,
                                   const PayloadField& field) {
  const std::uint32_t payload_tag =
      WireFormatLite::MakeTag(field.number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  grpc::ProtoBufferReader reader(buffer);
  CodedInputStream input(&reader);
  Layout layout{.tag_at = message_bytes, .end_at = message_bytes};
  while (true) {
    const std::size_t tag_at = static_cast<std::size_t>(input.CurrentPosition());
    if (tag_at == message_bytes) return layout;
    const std::uint32_t tag = input.ReadTag();
    if (tag == 0) return MalformedMessage();
    if (WireFormatLite::GetTagFieldNumber(tag) != field.number) {
      if (!WireFormatLite::SkipField(&input, tag)) {
        return MalformedMessage();
      }
      continue;
    }
    std::uint32_t length = 0;
    if (tag != payload_tag) return Malformed(field.name, "is not of type bytes");
    if (layout.has_payload) return Malformed(field.name, "comes twice in one message");
    if (!input.ReadVarint32(&length)) return Malformed(field.name, "truncated length");
    const std::size_t payload_at = static_cast<std::size_t>(input.CurrentPosition());
    if (length > message_bytes - payload_at || !input.Skip(static_cast<int>(length))) {
      return Malformed(field.name, "is longer than the message that holds it");
    }
    layout = {true, tag_at, payload_at, payload_at + length};
  }
}

// Appends the bytes [begin, end) of `slices` to `out`.
void AppendBytes(const std::vector<grpc::Slice>& slices, std::size_t begin, std::size_t end,
                 std::string* out) {
  const std::size_t at = out->size();
  out->resize(at + (end - begin));
  SliceRun(slices, begin, end - begin)
      .ReadInto(absl::MakeSpan(reinterpret_cast<std::byte*>(out->data()) + at, end - begin));
}

}  // namespace

absl::Status MalformedMessage() { return Malformed("message", "truncated or malformed protobuf"); }

SliceRun::SliceRun(std::vector<grpc::Slice> slices, std::size_t offset_bytes,
                   std::size_t size_bytes)
    : slices_(std::move(slices)), offset_(offset_bytes), size_bytes_(size_bytes) {
  while (slice_ < slices_.size() && offset_ >= slices_[slice_].size()) {
    offset_ -= slices_[slice_].size();
    ++slice_;
  }
}

std::size_t SliceRun::ReadInto(absl::Span<std::byte> out) {
  const std::size_t wanted = std::min(out.size(), size_bytes_);
  std::size_t copied = 0;
  while (copied < wanted) {
    const grpc::Slice& slice = slices_[slice_];
    const std::size_t count = std::min(wanted - copied, slice.size() - offset_);
    std::memcpy(out.data() + copied, slice.begin() + offset_, count);
    copied += count;
    offset_ += count;
    if (offset_ == slice.size()) {
      ++slice_;
      offset_ = 0;
    }
  }
  size_bytes_ -= copied;
  return copied;
}

SliceRun& SliceRun::operator=(SliceRun&& other) noexcept {
  Clear();
  std::swap(slices_, other.slices_);
  slice_ = other.slice_;
  offset_ = other.offset_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

void SliceRun::Clear() {
  slice_ = offset_ = size_bytes_ = 0;
  constexpr std::size_t kAtOnce = 8;  // what a buffer holds without memory beside itself
  for (std::size_t i = 0; i < slices_.size(); i += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, slices_.size() - i);
    // Its end is such a call, and has the last references.
    const grpc::ByteBuffer last(&slices_[i], count);
    std::fill_n(&slices_[i], count, grpc::Slice());
  }
  slices_.clear();
}

absl::StatusOr<WireMessage> WireMessage::Split(grpc::ByteBuffer* buffer,
                                               const PayloadField& field) {
  WireMessage message;
  const std::size_t message_bytes = buffer->Length();
  if (message_bytes == 0) return message;
  if (message_bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Malformed("message", "is above 2 GiB");
  }
  absl::StatusOr<Layout> layout = FindPayload(buffer, message_bytes, field);
  if (!layout.ok()) return layout.status();
  const std::size_t header_bytes = message_bytes - (layout->end_at - layout->tag_at);
  if (header_bytes > field.header_bytes_max) {
    return RefusalStatus(NeverFits{},
                         absl::StrCat("message: what is not ", field.name, " has ", header_bytes,
                                      " bytes, above the limit of ", field.header_bytes_max));
  }
  std::vector<grpc::Slice> slices;
  if (!buffer->Dump(&slices).ok()) return absl::InternalError("received bytes cannot be read");
  if (layout->end_at == message_bytes && layout->tag_at <= slices.front().size()) {
    message.front_ = slices.front();
    message.front_bytes_ = layout->tag_at;
  } else {
    AppendBytes(slices, 0, layout->tag_at, &message.copy_);
    AppendBytes(slices, layout->end_at, message_bytes, &message.copy_);
  }
  if (layout->has_payload) {
    message.payload_.emplace(std::move(slices), layout->payload_at,
                             layout->end_at - layout->payload_at);
  }
  return message;
}

absl::Status WireMessage::ParseHeader(google::protobuf::MessageLite* message) const {
  const void* bytes = front_.has_value() ? static_cast<const void*>(front_->begin()) : copy_.data();
  if (!message->ParseFromArray(bytes, static_cast<int>(header_bytes()))) {
    return MalformedMessage();
  }
  return absl::OkStatus();
}

absl::Status MessagePayload::ReadInto(absl::Span<std::byte> out) {
  if (bytes_.ReadInto(out) == out.size()) return absl::OkStatus();
  return absl::InternalError("the payload is shorter than its plan");
}

int FirstUnknownField(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  return unknown.empty() ? 0 : unknown.field(0).number();
}

absl::Status Encode(const google::protobuf::MessageLite& message, grpc::ByteBuffer* out) {
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    return absl::InternalError("the answer cannot be encoded");
  }
  grpc::Slice slice;
  if (bytes < kLargeBytes) {
    slice = grpc::Slice(bytes);
  } else {
    // Not gRPC's memory: where there is none, that ends the process.
    void* const block = AllocateOrNull(bytes);
    if (block == nullptr) return NoHostMemory();
    slice = grpc::Slice(block, bytes, std::free);
  }
  static_cast<void>(  // the end of what was written
      message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin())));
  grpc::ByteBuffer(&slice, 1).Swap(out);
  return absl::OkStatus();
}

}  // namespace warpfold
