#include "server/frontend/wire/wire_message.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
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

// The slices of a message that is written to it, some of which are the message's own bytes.
class KeptSlices final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  explicit KeptSlices(std::shared_ptr<const google::protobuf::MessageLite> message)
      : message_(std::move(message)) {}

  // REQUIRES: all is written. Once.
  grpc::ByteBuffer Take() {
    EndBlock();
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

  bool Next(void** data, int* size) override {
    EndBlock();
    block_ = grpc::Slice(kBlockBytes);
    block_bytes_ = kBlockBytes;
    written_bytes_ += kBlockBytes;
    *data = const_cast<std::uint8_t*>(block_.begin());
    *size = kBlockBytes;
    return true;
  }
  void BackUp(int count) override {
    block_bytes_ -= static_cast<std::size_t>(count);
    written_bytes_ -= count;
  }
  std::int64_t ByteCount() const override { return written_bytes_; }
  bool AllowsAliasing() const override { return true; }
  bool WriteAliasedRaw(const void* data, int size) override {
    EndBlock();
    const auto bytes = static_cast<std::size_t>(size);
    slices_.emplace_back(const_cast<void*>(data), bytes, LetGo, new Message(message_));
    written_bytes_ += size;
    return true;
  }

 private:
  using Message = std::shared_ptr<const google::protobuf::MessageLite>;
  static constexpr int kBlockBytes = 4096;  // what is not aliased is names and numbers
  static void LetGo(void* message) { delete static_cast<Message*>(message); }

  void EndBlock() {
    if (block_bytes_ > 0) slices_.push_back(block_.sub(0, block_bytes_));
    block_bytes_ = 0;
  }

  const Message message_;
  std::vector<grpc::Slice> slices_;
  grpc::Slice block_;            // that is being written
  std::size_t block_bytes_ = 0;  // of it
  std::int64_t written_bytes_ = 0;
};

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

absl::Status EncodeKept(std::shared_ptr<const google::protobuf::MessageLite> message,
                        grpc::ByteBuffer* out) {
  const std::size_t bytes = message->ByteSizeLong();
  if (bytes < kLargeBytes || bytes > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    return Encode(*message, out);
  }
  const google::protobuf::MessageLite& written = *message;
  KeptSlices slices(std::move(message));
  {
    google::protobuf::io::CodedOutputStream coded(&slices);
    coded.EnableAliasing(true);
    if (!written.SerializeToCodedStream(&coded)) {
      return absl::InternalError("the answer cannot be encoded");
    }
  }
  slices.Take().Swap(out);
  return absl::OkStatus();
}

}  // namespace warpfold
