// The Open Inference Protocol's messages, whatever their bytes.
#include "server/frontend/kserve/infer_codec.h"

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace warpfold::kserve {
namespace {

using Of = InferCodec::Of;

constexpr std::uint32_t kSeed = 72;

grpc::ByteBuffer Sliced(const std::string& bytes, std::size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.substr(at, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Example(std::size_t payload_bytes) {
  inference::ModelInferRequest request;
  request.set_model_name("describe");
  request.set_id("an id");
  inference::ModelInferRequest::InferInputTensor* input = request.add_inputs();
  input->set_name("INPUT");
  input->set_datatype("UINT8");
  input->add_shape(static_cast<std::int64_t>(payload_bytes));
  request.add_outputs()->set_name("MAX");
  (*request.mutable_parameters())["axis"].set_string_param("0");
  std::string payload;
  for (std::size_t i = 0; i < payload_bytes; ++i) payload += static_cast<char>(i * 131);
  request.add_raw_input_contents(payload);
  return request.SerializeAsString();
}

absl::Status Read(const std::string& bytes, std::size_t slice_bytes = 1 << 14) {
  grpc::ByteBuffer buffer = Sliced(bytes, slice_bytes);
  ModelCounts counts;
  RegionTable regions({}, {});
  Decoded decoded;
  return InferCodec(Of::kCall, counts, regions, Everyone()).Decode(&buffer, &decoded);
}

// A field of type bytes.
std::string Field(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) field += static_cast<char>(0x80 | (length & 0x7f));
  field += static_cast<char>(length);
  return field + bytes;
}

std::string Times(std::size_t count, const std::string& bytes) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += bytes;
  return all;
}

// Whatever the bytes: no crash, and what is accepted is what protobuf accepts, with the same
// payload.
TEST(InferCodecTest, RandomMutationsAgreeWithProtobuf) {
  std::cout << "seed " << kSeed << '\n';
  std::mt19937 random(kSeed);
  ModelCounts counts;
  RegionTable regions({}, {});
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string bytes = Example(random() % 64);
    for (unsigned edits = 1 + random() % 3; edits > 0 && !bytes.empty(); --edits) {
      const std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(random());
      } else {
        bytes.erase(at, 1 + random() % 4);
      }
    }
    grpc::ByteBuffer buffer = Sliced(bytes, 1 + random() % 40);
    Decoded ours;
    if (!InferCodec(Of::kCall, counts, regions, Everyone()).Decode(&buffer, &ours).ok()) continue;
    ++accepted;
    inference::ModelInferRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(bytes)) << testing::PrintToString(bytes);
    ASSERT_EQ(ours.spec.id, theirs.id());
    ASSERT_EQ(ours.payload.has_value(), theirs.raw_input_contents_size() == 1);
    if (!ours.payload.has_value()) continue;
    std::string payload(ours.payload->size_bytes(), '\0');
    ours.payload->ReadInto(
        absl::MakeSpan(reinterpret_cast<std::byte*>(payload.data()), payload.size()));
    ASSERT_EQ(payload, theirs.raw_input_contents(0)) << testing::PrintToString(bytes);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(InferCodecTest, ElementsMayHaveWhatTheRestMayNot) {
  constexpr int kCount = 3 << 18;
  inference::ModelInferRequest request;
  request.set_model_name("sum");
  inference::ModelInferRequest::InferInputTensor* input = request.add_inputs();
  input->set_name("INPUT");
  input->set_datatype("FP32");
  input->add_shape(kCount);
  const std::string header = request.SerializeAsString();
  input->mutable_contents()->mutable_fp32_contents()->Resize(kCount, 1);
  EXPECT_TRUE(Read(request.SerializeAsString()).ok());
  EXPECT_TRUE(Read(request.SerializeAsString(), 7).ok());
  // Packed by nobody: a tag for each, as a parser has to take them.
  input->clear_contents();
  const std::string one_by_one = Times(kCount, std::string("\x35\0\0\x80\x3f", 5));
  input->GetReflection()->MutableUnknownFields(input)->AddLengthDelimited(5, one_by_one);
  EXPECT_TRUE(Read(request.SerializeAsString()).ok());
  const std::string whole = request.SerializeAsString();
  const std::string payload = Field(7, std::string(1 << 20, '\1'));
  // As long, of anything else, on its own or around elements and payload.
  const std::string large(kHeaderBytesMax, 'x');
  const std::string fields = Times(kHeaderBytesMax / 2, std::string("\x32\0", 2));
  for (const std::string& rest : {
           fields,
           Field(3, large),
           Field(4, large),
           Field(15, large),
           Field(5, Field(1, large)),
           Field(5, Field(4, large)),
           Field(5, Field(5, Field(8, large))),
           Field(5, Field(5, fields)),
           Field(5, Field(5, Times(kHeaderBytesMax / 2, std::string("\x42\0", 2)))),
           Field(5, Times(kHeaderBytesMax / 2, std::string("\x2a\0", 2))),
       }) {
    for (const std::string& bytes :
         {header + rest, rest + header, absl::StrCat(header, payload, rest),
          absl::StrCat(rest, header, payload), whole + rest, rest + whole}) {
      const absl::Status read = Read(bytes);
      EXPECT_EQ(read.code(), absl::StatusCode::kResourceExhausted) << read;
      EXPECT_EQ(read.message(),
                "message: what is neither raw_input_contents nor elements of inputs.contents is "
                "above the limit of 65536 bytes");
    }
  }
}

TEST(InferCodecTest, WhatIsNoElementMayBeAsLongAsTheLimit) {
  for (const std::size_t above : {0, 1}) {
    for (const std::string& around : {Field(7, std::string(1 << 20, '\1')),
                                      Field(5, Field(5, Field(6, std::string(1 << 20, '\1'))))}) {
      const std::size_t element_bytes = std::size_t{1} << 20;
      const std::string id(kHeaderBytesMax + above - (around.size() - element_bytes) - 4, 'i');
      const std::string bytes = around + Field(3, id);
      ASSERT_EQ(bytes.size(), element_bytes + kHeaderBytesMax + above);
      EXPECT_EQ(Read(bytes).code(), above == 0 ? absl::StatusCode::kNotFound  // the model
                                               : absl::StatusCode::kResourceExhausted);
    }
  }
}

TEST(InferCodecTest, ALargeMessageThatIsMalformedIsRefusedAsSuch) {
  const std::string payload = Field(7, std::string(1 << 20, '\1'));
  for (const std::string& bytes : {
           Example(100) + std::string("\x80"),
           payload.substr(0, payload.size() - 1),
           Field(5, Field(5, Field(6, std::string(1 << 20, '\1'))) + "\x2a\x7f"),
           Field(5, Field(5, Field(6, std::string(1 << 20, '\1')) + "\x32\x7f")),
           std::string("\x07") + payload,
           payload + payload,
       }) {
    const absl::Status read = Read(bytes);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << read;
  }
}

TEST(InferCodecTest, ARefusedRequestKeepsItsIdForTheLog) {
  inference::ModelInferRequest request;
  request.set_id("an id");
  request.set_model_name("resnet");
  grpc::ByteBuffer buffer = Sliced(request.SerializeAsString(), 100);
  ModelCounts counts;
  RegionTable regions({}, {});
  Decoded decoded;
  EXPECT_EQ(InferCodec(Of::kCall, counts, regions, Everyone()).Decode(&buffer, &decoded).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(decoded.spec.id, "an id");
}

}  // namespace
}  // namespace warpfold::kserve
