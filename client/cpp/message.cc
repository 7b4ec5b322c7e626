#include "client/cpp/message.h"

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold::client {
namespace {

constexpr int kLengthDelimited = 2;

void AppendVarint(std::size_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

}  // namespace

std::string BytesFieldPrefix(int field, std::size_t bytes) {
  std::string prefix(1, static_cast<char>(field << 3 | kLengthDelimited));
  AppendVarint(bytes, prefix);
  return prefix;
}

std::string PayloadPrefix(std::size_t payload_bytes) {
  static_assert(v1::ReduceRequest::kDataFieldNumber == 15);
  static_assert(v1::ReduceStreamRequest::kChunkFieldNumber == 15);
  static_assert(v1::WriteTensorRequest::kChunkFieldNumber == 15);
  return BytesFieldPrefix(v1::ReduceRequest::kDataFieldNumber, payload_bytes);
}

std::string ReduceRequestHead(const v1::ReduceRequest& request, std::size_t payload_bytes) {
  return absl::StrCat(request.SerializeAsString(), PayloadPrefix(payload_bytes));
}

std::string StreamHeaderMessage(const v1::ReduceRequest& request) {
  const std::string header = request.SerializeAsString();
  return BytesFieldPrefix(v1::ReduceStreamRequest::kHeaderFieldNumber, header.size()) + header;
}

grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status Parse(grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  if (!buffer.Valid()) return absl::InternalError("the server answered OK without a message");
  grpc::ProtoBufferReader reader(&buffer);
  const bool parsed = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  if (!parsed) {
    return absl::InternalError(
        absl::StrCat("the server's answer is not a ", message.GetTypeName()));
  }
  buffer.Clear();
  return absl::OkStatus();
}

}  // namespace warpfold::client
