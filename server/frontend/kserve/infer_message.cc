#include "server/frontend/kserve/infer_message.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "inference/grpc_service.pb.h"
#include "server/core/base/refusal.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold::kserve {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using inference::InferTensorContents;
using inference::ModelInferRequest;

// Counts the bytes of elements in a message until it is known whether the rest is too much.
class ElementWalk {
 public:
  ElementWalk(CodedInputStream& input, std::size_t message_bytes)
      : input_(input), message_bytes_(message_bytes) {}

  void Request() {
    EachField([this](std::uint32_t tag) {
      if (tag == BytesTag(ModelInferRequest::kInputsFieldNumber)) {
        return Inside([this] { return Input(); });
      }
      if (tag == BytesTag(ModelInferRequest::kRawInputContentsFieldNumber)) return Packed();
      return WireFormatLite::SkipField(&input_, tag);
    });
  }

  // Whether the rest is too much.
  bool is_above() const { return is_above_; }

 private:
  static std::uint32_t BytesTag(int number) {
    return WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  }

  bool Input() {
    return EachField([this](std::uint32_t tag) {
      if (tag == BytesTag(ModelInferRequest::InferInputTensor::kContentsFieldNumber)) {
        return Inside([this] { return Contents(); });
      }
      return WireFormatLite::SkipField(&input_, tag);
    });
  }

  bool Contents() {
    return EachField([this](std::uint32_t tag) { return Elements(tag); });
  }

  // Of a field of one element; no bytes_contents, each of which is an object when it is parsed.
  static std::uint32_t OneElementTag(int number) {
    static constexpr std::pair<int, WireFormatLite::WireType> kOf[] = {
        {InferTensorContents::kBoolContentsFieldNumber, WireFormatLite::WIRETYPE_VARINT},
        {InferTensorContents::kIntContentsFieldNumber, WireFormatLite::WIRETYPE_VARINT},
        {InferTensorContents::kInt64ContentsFieldNumber, WireFormatLite::WIRETYPE_VARINT},
        {InferTensorContents::kUintContentsFieldNumber, WireFormatLite::WIRETYPE_VARINT},
        {InferTensorContents::kUint64ContentsFieldNumber, WireFormatLite::WIRETYPE_VARINT},
        {InferTensorContents::kFp32ContentsFieldNumber, WireFormatLite::WIRETYPE_FIXED32},
        {InferTensorContents::kFp64ContentsFieldNumber, WireFormatLite::WIRETYPE_FIXED64}};
    for (const auto& [field, type] : kOf) {
      if (field == number) return WireFormatLite::MakeTag(number, type);
    }
    return 0;
  }

  bool Elements(std::uint32_t tag) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const std::uint32_t one = OneElementTag(number);
    if (one != 0 && tag == BytesTag(number)) return Packed();
    const int begin = input_.CurrentPosition();
    if (!WireFormatLite::SkipField(&input_, tag)) return false;
    if (tag == one) {  // the tag, of one byte, too: it has no other
      element_bytes_ += 1 + static_cast<std::size_t>(input_.CurrentPosition() - begin);
    }
    return true;
  }

  // A length and so many bytes of elements.
  bool Packed() {
    std::uint32_t length = 0;
    if (!input_.ReadVarint32(&length) || !input_.Skip(static_cast<int>(length))) return false;
    element_bytes_ += length;
    return true;
  }

  // Until what follows cannot change the answer, or is malformed: false then.
  template <typename Visit>
  bool EachField(const Visit& visit) {
    while (const std::uint32_t tag = input_.ReadTag()) {
      if (!visit(tag)) return false;
      const auto seen_bytes = static_cast<std::size_t>(input_.CurrentPosition());
      is_above_ = seen_bytes - element_bytes_ > kHeaderBytesMax;
      if (is_above_ || message_bytes_ - element_bytes_ <= kHeaderBytesMax) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  template <typename Visit>
  bool Inside(const Visit& visit) {
    std::uint32_t length = 0;
    if (!input_.ReadVarint32(&length)) return false;
    const CodedInputStream::Limit outer = input_.PushLimit(static_cast<int>(length));
    if (input_.BytesUntilLimit() != static_cast<int>(length) || !visit()) return false;
    input_.PopLimit(outer);
    return true;
  }

  CodedInputStream& input_;
  const std::size_t message_bytes_;
  std::size_t element_bytes_ = 0;
  bool is_above_ = false;
};

}  // namespace

absl::Status CheckInferMessage(grpc::ByteBuffer* message) {
  const std::size_t message_bytes = message->Length();
  if (message_bytes <= kHeaderBytesMax) return absl::OkStatus();
  grpc::ProtoBufferReader reader(message);
  CodedInputStream input(&reader);
  ElementWalk walk(input, message_bytes);
  walk.Request();
  if (!walk.is_above()) return absl::OkStatus();
  return RefusalStatus(NeverFits{},
                       absl::StrCat("message: what is neither raw_input_contents nor elements of "
                                    "inputs.contents is above the limit of ",
                                    kHeaderBytesMax, " bytes"));
}

}  // namespace warpfold::kserve
