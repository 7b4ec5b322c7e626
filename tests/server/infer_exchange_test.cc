// The Open Inference Protocol's messages, whatever their bytes.
#include "server/frontend/kserve/infer_exchange.h"

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold::kserve {
namespace {

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

// Whatever the bytes: no crash, and what is accepted is what protobuf accepts, with the same
// payload.
TEST(InferExchangeTest, RandomMutationsAgreeWithProtobuf) {
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
    TensorMessage ours;
    if (!InferExchange(counts, regions).Read(&buffer, &ours).ok()) continue;
    ++accepted;
    inference::ModelInferRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(bytes)) << testing::PrintToString(bytes);
    ASSERT_EQ(ours.header.request_id(), theirs.id());
    ASSERT_EQ(ours.payload.has_value(), theirs.raw_input_contents_size() == 1);
    if (!ours.payload.has_value()) continue;
    std::string payload(ours.payload->size_bytes(), '\0');
    ours.payload->ReadInto(
        absl::MakeSpan(reinterpret_cast<std::byte*>(payload.data()), payload.size()));
    ASSERT_EQ(payload, theirs.raw_input_contents(0)) << testing::PrintToString(bytes);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(InferExchangeTest, ARefusedRequestKeepsItsIdForTheLog) {
  inference::ModelInferRequest request;
  request.set_id("an id");
  request.set_model_name("resnet");
  grpc::ByteBuffer buffer = Sliced(request.SerializeAsString(), 100);
  ModelCounts counts;
  RegionTable regions({}, {});
  TensorMessage message;
  EXPECT_EQ(InferExchange(counts, regions).Read(&buffer, &message).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(message.header.request_id(), "an id");
}

}  // namespace
}  // namespace warpfold::kserve
