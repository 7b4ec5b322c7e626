#include "server/frontend/wire/wire_message.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/base/refusal.h"
#include "tests/contract/values_of.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

constexpr std::uint32_t kSeed = 71;

// `bytes` as a buffer of slices of at most `slice_bytes`.
grpc::ByteBuffer Sliced(const std::string& bytes, std::size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.substr(at, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string BytesOf(SliceRun run) {
  std::string bytes(run.size_bytes(), '\0');
  EXPECT_EQ(run.ReadInto(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size())),
            bytes.size());
  return bytes;
}

std::string PayloadOf(WireMessage& message) {
  return message.has_payload() ? BytesOf(message.TakePayload()) : "";
}

struct TensorMessage {
  v1::ReduceRequest header;
  std::optional<SliceRun> payload;
};

absl::StatusOr<TensorMessage> ReadRequest(grpc::ByteBuffer* buffer) {
  absl::StatusOr<WireMessage> wire = WireMessage::Split(buffer, kDataField);
  if (!wire.ok()) return wire.status();
  TensorMessage message;
  if (absl::Status parsed = wire->ParseHeader(&message.header); !parsed.ok()) return parsed;
  if (wire->has_payload()) message.payload = wire->TakePayload();
  return message;
}

v1::ReduceRequest Example(std::size_t payload_bytes) {
  v1::ReduceRequest request;
  request.set_request_id("an id");
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_F64);
  for (const std::int64_t length : {1L, 300L, 1L << 40}) {
    ValuesOf(request).mutable_tensor()->add_shape(length);
  }
  request.add_ops()->set_op(v1::OP_SUM);
  request.add_ops()->set_op(v1::OP_MAX);
  request.add_axes(-1);
  request.set_keepdims(true);
  std::string data;
  for (std::size_t i = 0; i < payload_bytes; ++i) data += static_cast<char>(i * 131);
  request.set_data(data);
  return request;
}

TEST(WireMessageTest, SplittingAtAnySliceSizeGivesWhatProtobufReads) {
  for (const std::size_t payload_bytes : {0UL, 1UL, 127UL, 128UL, 5000UL}) {
    const v1::ReduceRequest wanted = Example(payload_bytes);
    const std::string bytes = wanted.SerializeAsString();
    for (std::size_t slice_bytes = 1; slice_bytes <= bytes.size();
         slice_bytes += slice_bytes < 80 ? 1 : 997) {
      grpc::ByteBuffer buffer = Sliced(bytes, slice_bytes);
      absl::StatusOr<WireMessage> message = WireMessage::Split(&buffer, kDataField);
      ASSERT_TRUE(message.ok()) << message.status();
      v1::ReduceRequest header;
      ASSERT_TRUE(message->ParseHeader(&header).ok());
      ASSERT_EQ(PayloadOf(*message), wanted.data());
      header.set_data(wanted.data());
      ASSERT_EQ(header.SerializeAsString(), bytes);
    }
  }
}

TEST(WireMessageTest, ThePayloadOutlivesTheBuffer) {
  const v1::ReduceRequest wanted = Example(100'000);
  WireMessage message;
  {
    grpc::ByteBuffer buffer = Sliced(wanted.SerializeAsString(), 1000);
    message = *WireMessage::Split(&buffer, kDataField);
  }
  EXPECT_EQ(PayloadOf(message), wanted.data());
}

TEST(WireMessageTest, FieldsAfterThePayloadAreReadToo) {
  v1::ReduceRequest payload;
  payload.set_data("12345678");
  v1::ReduceRequest rest = Example(0);
  rest.clear_data();
  grpc::ByteBuffer buffer = Sliced(payload.SerializeAsString() + rest.SerializeAsString(), 7);
  absl::StatusOr<TensorMessage> message = ReadRequest(&buffer);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->header.request_id(), "an id");
  EXPECT_EQ(BytesOf(*std::move(message->payload)), "12345678");
}

TEST(WireMessageTest, WhatIsNotThePayloadMayBeAsLongAsTheLimit) {
  v1::ReduceRequest request;
  request.set_data("12345678");
  const std::size_t payload_bytes = request.ByteSizeLong();
  request.set_request_id(std::string(kHeaderBytesMax, 'i'));
  const std::size_t excess = request.ByteSizeLong() - payload_bytes - kHeaderBytesMax;
  for (const std::size_t above : {0, 1}) {
    request.set_request_id(std::string(kHeaderBytesMax - excess + above, 'i'));
    ASSERT_EQ(request.ByteSizeLong(), payload_bytes + kHeaderBytesMax + above);
    grpc::ByteBuffer buffer = Sliced(request.SerializeAsString(), 1 << 20);
    EXPECT_EQ(ReadRequest(&buffer).ok(), above == 0);
  }
}

TEST(WireMessageTest, AnEmptyMessageHasNeitherPayloadNorFields) {
  grpc::ByteBuffer empty;
  absl::StatusOr<WireMessage> message = WireMessage::Split(&empty, kDataField);
  ASSERT_TRUE(message.ok());
  EXPECT_FALSE(message->has_payload());
  v1::ReduceRequest header;
  EXPECT_TRUE(message->ParseHeader(&header).ok());
}

TEST(WireMessageTest, EveryTruncationOfThePayloadIsRefused) {
  const std::string bytes = Example(300).SerializeAsString();
  const std::size_t payload_at = bytes.size() - 300;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    grpc::ByteBuffer buffer = Sliced(bytes.substr(0, size), 16);
    absl::StatusOr<TensorMessage> message = ReadRequest(&buffer);
    if (size >= payload_at - 2) {  // the length and the payload
      EXPECT_FALSE(message.ok()) << size;
    } else if (message.ok()) {  // cut between two fields: well-formed, but without a payload
      EXPECT_FALSE(message->payload.has_value()) << size;
    }
  }
}

TEST(WireMessageTest, VarintGarbageIsRefused) {
  const std::string endless(11, '\xff');
  for (const std::string& bytes :
       {endless, std::string("\x7a") + endless,            // a length that does not end
        std::string("\x7a\xff\xff\xff\xff\x0f"),           // a length of 4 GiB
        std::string("\x7a\xff\xff\xff\xff\x07"),           // a length of 2 GiB - 1
        std::string("\x78\x01"),                           // field 15 as a varint
        std::string("\x00\x00", 2), std::string("\x07"),   // field 0; wire type 7
        std::string("\x0c"), std::string(200, '\x0b')}) {  // an end without a start; starts only
    grpc::ByteBuffer buffer = Sliced(bytes, 3);
    absl::StatusOr<TensorMessage> message = ReadRequest(&buffer);
    EXPECT_EQ(message.status().code(), absl::StatusCode::kInvalidArgument)
        << ::testing::PrintToString(bytes);
    EXPECT_TRUE(IsMalformed(message.status())) << ::testing::PrintToString(bytes);
  }
}

TEST(WireMessageTest, APayloadThatComesTwiceIsRefused) {
  v1::ReduceRequest payload;
  payload.set_data("1");
  grpc::ByteBuffer buffer = Sliced(payload.SerializeAsString() + payload.SerializeAsString(), 2);
  EXPECT_EQ(WireMessage::Split(&buffer, kDataField).status().message(),
            "data: comes twice in one message");
}

// Whatever the bytes: no crash, and what is accepted is what protobuf accepts, with the same
// payload.
TEST(WireMessageTest, RandomMutationsAgreeWithProtobuf) {
  std::cout << "seed " << kSeed << '\n';
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string bytes = Example(random() % 64).SerializeAsString();
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 4);
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        case 3:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
      }
      if (bytes.empty()) bytes = "\x7a";
    }
    grpc::ByteBuffer buffer = Sliced(bytes, 1 + random() % 40);
    absl::StatusOr<TensorMessage> ours = ReadRequest(&buffer);
    if (!ours.ok()) continue;
    ++accepted;
    v1::ReduceRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(bytes)) << ::testing::PrintToString(bytes);
    if (!ours->payload.has_value()) continue;
    ASSERT_EQ(BytesOf(*std::move(ours->payload)), theirs.data()) << ::testing::PrintToString(bytes);
  }
  EXPECT_GT(accepted, 1000);
}

std::string Joined(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// A message of results, some of which are large.
std::shared_ptr<v1::ReduceResponse> Response(const std::vector<std::size_t>& result_bytes) {
  auto response = std::make_shared<v1::ReduceResponse>();
  response->set_request_id("an id");
  for (const std::size_t bytes : result_bytes) {
    v1::Result& result = *response->add_results();
    result.mutable_tensor()->add_shape(static_cast<std::int64_t>(bytes));
    for (std::size_t i = 0; i < bytes; ++i) *result.mutable_data() += static_cast<char>(i * 131);
  }
  return response;
}

TEST(EncodeKeptTest, GivesTheBytesOfTheMessage) {
  constexpr std::size_t kLarge = 300'000;
  for (const std::vector<std::size_t>& sizes : std::vector<std::vector<std::size_t>>{
           {}, {4}, {kLarge}, {kLarge, 0, 5000, kLarge, 3}, std::vector<std::size_t>(400, 300)}) {
    const auto response = Response(sizes);
    const std::string wanted = response->SerializeAsString();
    grpc::ByteBuffer buffer;
    ASSERT_TRUE(EncodeKept(response, &buffer).ok());
    EXPECT_EQ(Joined(buffer), wanted) << sizes.size();
  }
}

TEST(EncodeKeptTest, ALargeResultIsNotCopiedAndLivesUntilTheBufferGoes) {
  auto response = Response({300'000});
  const auto* const data =
      reinterpret_cast<const std::uint8_t*>(response->results(0).data().data());
  const std::weak_ptr<v1::ReduceResponse> kept = response;
  grpc::ByteBuffer buffer;
  ASSERT_TRUE(EncodeKept(std::move(response), &buffer).ok());
  {
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(buffer.Dump(&slices).ok());
    EXPECT_TRUE(std::any_of(slices.begin(), slices.end(),
                            [data](const grpc::Slice& slice) { return slice.begin() == data; }));
  }
  EXPECT_FALSE(kept.expired());
  buffer.Clear();
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace warpfold
