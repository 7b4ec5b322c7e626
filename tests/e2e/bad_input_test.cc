// Bad input: each kind gets its own status that names the field, leaves nothing behind, and the
// server goes on (see TearDown).
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/contract/values_of.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

class BadInputTest : public ServedTest {
 protected:
  static void SetUpTestSuite() {
    StartServer(
        {"--max-message-bytes=1MiB", "--max-tensor-bytes=64MiB", "--max-result-bytes=64KiB"});
  }

  void ExpectRefused(const v1::ReduceRequest& request, StatusCode code, const std::string& start) {
    v1::ReduceResponse response;
    const grpc::Status status = client().Reduce(request, &response);
    ExpectStatus(status, code, start);
  }

  static void ExpectStatus(const grpc::Status& status, StatusCode code, const std::string& start) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(status.error_message().substr(0, start.size()), start);
  }
};

TEST_F(BadInputTest, TooFewBytesNameData) {
  v1::ReduceRequest request = F32Ones(10);
  request.mutable_data()->pop_back();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "data: ");
}

TEST_F(BadInputTest, TooManyBytesNameData) {
  v1::ReduceRequest request = F32Ones(10);
  request.mutable_data()->push_back('x');
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "data: ");
}

TEST_F(BadInputTest, NoSourceNamesData) {
  ExpectRefused(F32Request({4}), StatusCode::INVALID_ARGUMENT, "data: ");
}

TEST_F(BadInputTest, NoTensorNamesTensor) {
  v1::ReduceRequest request;
  request.add_ops()->set_op(v1::OP_SUM);
  request.add_sources();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "tensor: ");
}

TEST_F(BadInputTest, WhatIsNotValuesNamesItsRole) {
  v1::ReduceRequest request = F32Ones(4);
  request.clear_sources();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "sources: ");
  request = F32Ones(4);
  *request.add_sources() = request.sources(0);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "sources[1].role: ");
  for (int role = v1::Source::OTHER; v1::Source::Role_IsValid(role); ++role) {
    request.mutable_sources(1)->set_role(static_cast<v1::Source::Role>(role));
    ExpectRefused(request, StatusCode::UNIMPLEMENTED, "sources[1].role: ");
  }
  request.mutable_sources(1)->set_role(static_cast<v1::Source::Role>(99));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "sources[1].role: 99 is unknown");
}

TEST_F(BadInputTest, ANegativeDimensionNamesTheShape) {
  ExpectRefused(F32Request({2, -1}), StatusCode::INVALID_ARGUMENT, "tensor.shape: ");
}

TEST_F(BadInputTest, AnOverflowingShapeNamesTheShape) {
  const std::int64_t huge = std::int64_t{1} << 40;
  ExpectRefused(F32Request({huge, huge}), StatusCode::INVALID_ARGUMENT, "tensor.shape: ");
}

TEST_F(BadInputTest, ARankAboveTheLimitNamesTheShape) {
  ExpectRefused(F32Request(std::vector<std::int64_t>(33, 1)), StatusCode::INVALID_ARGUMENT,
                "tensor.shape: ");
}

TEST_F(BadInputTest, AnUnknownDTypeNamesIt) {
  v1::ReduceRequest request = F32Ones(4);
  ValuesOf(request).mutable_tensor()->set_dtype(static_cast<v1::DType>(99));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "tensor.dtype: ");
  ValuesOf(request).mutable_tensor()->clear_dtype();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "tensor.dtype: ");
}

TEST_F(BadInputTest, AnUnknownOpNamesOps) {
  ExpectRefused(F32Ones(4, static_cast<v1::Op>(99)), StatusCode::INVALID_ARGUMENT, "ops[0].op: ");
  ExpectRefused(F32Ones(4, v1::OP_UNSPECIFIED), StatusCode::INVALID_ARGUMENT, "ops[0].op: ");
}

TEST_F(BadInputTest, NoOpsNameOps) {
  v1::ReduceRequest request = F32Ones(4);
  request.clear_ops();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "ops: ");
}

TEST_F(BadInputTest, AnOpThatComesTwiceNamesOps) {
  v1::ReduceRequest request = F32Ones(4);
  request.add_ops()->set_op(v1::OP_SUM);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "ops[1]: sum is listed twice");
}

TEST_F(BadInputTest, AnAxisThatComesTwiceNamesAxes) {
  v1::ReduceRequest request = F32Request({2, 2});
  request.add_axes(1);
  request.add_axes(-1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "axes: ");
}

TEST_F(BadInputTest, AnAxisOutOfRangeNamesAxes) {
  for (const std::int64_t axis : {2L, -3L, std::numeric_limits<std::int64_t>::min()}) {
    v1::ReduceRequest request = F32Request({2, 2});
    request.add_axes(axis);
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "axes: ");
  }
}

TEST_F(BadInputTest, MinOfNothingNamesOps) {
  for (const v1::Op op : {v1::OP_MIN, v1::OP_MAX, v1::OP_ARGMIN, v1::OP_ARGMAX, v1::OP_PTP}) {
    ExpectRefused(F32Request({0}, op), StatusCode::INVALID_ARGUMENT, "ops[0]: ");
  }
}

TEST_F(BadInputTest, ALongRequestIdNamesItself) {
  v1::ReduceRequest request = F32Ones(4);
  request.set_request_id(std::string(257, 'x'));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "request_id: ");
}

// Of a newer client, for which they change what is read.
TEST_F(BadInputTest, UnknownFieldsNameWhatTheyAreOf) {
  const auto add_to = [](google::protobuf::Message& message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddVarint(15, 1);
  };
  v1::ReduceRequest request = F32Ones(4);
  add_to(*request.mutable_sources(0));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "sources[0]: field 15 is unknown");
  request = F32Ones(4);
  add_to(*request.mutable_sources(0)->mutable_tensor());
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "tensor: field 15 is unknown");
  request = F32Ones(4);
  request.clear_data();
  add_to(*request.mutable_sources(0)->mutable_memory());
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "sources[0].memory: field 15 is unknown");
  request = F32Ones(4);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(100, 1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "message: field 100 is unknown");
  request = F32Ones(4);
  add_to(*request.mutable_part());
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "part: field 15 is unknown");
}

TEST_F(BadInputTest, ParametersNameTheirOp) {
  v1::ReduceRequest request = F32Ones(4);
  request.mutable_ops(0)->mutable_variance();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "ops[0].variance: ");
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    request = F32Ones(4, v1::OP_VAR);
    request.mutable_ops(0)->mutable_variance()->set_correction(wrong);
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "ops[0].variance.correction: ");
  }
  request = F32Ones(4, v1::OP_VAR);
  request.add_ops()->set_op(v1::OP_SUM);
  v1::OpSpec& deviation = *request.add_ops();
  deviation.set_op(v1::OP_STD);
  deviation.mutable_variance()->set_correction(1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "ops[2].variance.correction: ");
  request.mutable_ops(0)->mutable_variance()->set_correction(1);
  v1::ReduceResponse response;
  EXPECT_TRUE(client().Reduce(request, &response).ok());
  EXPECT_EQ(response.results(2).spec().variance().correction(), 1);
}

TEST_F(BadInputTest, ATensorAboveTheLimitNeverFits) {
  v1::ReduceResponse response;
  const grpc::Status status =
      client().ReduceStream({Header(F32Request({(64 << 20) / 4 + 1}))}, &response);
  ExpectStatus(status, StatusCode::RESOURCE_EXHAUSTED, "tensor: ");
  EXPECT_TRUE(status.error_details().empty()) << "a permanent refusal must not carry RetryInfo";
}

TEST_F(BadInputTest, ResultsAboveTheLimitNeverFit) {
  v1::ReduceRequest request = F32Request({1 << 17, 2});
  request.add_axes(1);
  ExpectRefused(request, StatusCode::RESOURCE_EXHAUSTED, "tensor: ");
}

TEST_F(BadInputTest, AMessageAboveTheLimitIsRefused) {
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(F32Ones(1 << 20), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_NE(status.error_message().find("larger than max"), std::string::npos)
      << status.error_message();
  EXPECT_TRUE(status.error_details().empty());
}

TEST_F(BadInputTest, TruncatedProtobufsAreInvalid) {
  v1::ReduceRequest request = F32Ones(64);
  request.set_request_id("truncated");
  const std::string whole = request.SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const RawReply reply =
        RawCall(client().channel(), "/warpfold.v1.ReductionService/Reduce", whole.substr(0, size));
    ASSERT_EQ(reply.status.error_code(), StatusCode::INVALID_ARGUMENT)
        << size << " bytes: " << reply.status.error_message();
  }
}

TEST_F(BadInputTest, DataBeforeTheOtherFieldsIsRead) {
  v1::ReduceRequest payload;
  payload.set_data(F32Ones(8).data());
  const std::string bytes = payload.SerializeAsString() + F32Request({8}).SerializeAsString();
  const RawReply reply = RawCall(client().channel(), "/warpfold.v1.ReductionService/Reduce", bytes);
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
}

TEST_F(BadInputTest, DataThatComesTwiceNamesData) {
  v1::ReduceRequest payload;
  payload.set_data("abcd");
  const std::string bytes = F32Ones(1).SerializeAsString() + payload.SerializeAsString();
  ExpectStatus(RawCall(client().channel(), "/warpfold.v1.ReductionService/Reduce", bytes).status,
               StatusCode::INVALID_ARGUMENT, "data: ");
}

TEST_F(BadInputTest, AMergeOfNothingNamesStates) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  ExpectStatus(client().stub().Merge(&context, {}, &response), StatusCode::INVALID_ARGUMENT,
               "states: ");
}

TEST_F(BadInputTest, AStateAboveTheLimitNeverFits) {
  v1::ReduceRequest request = F32Request({1 << 15, 2}, v1::OP_VAR);
  request.add_axes(1);
  request.set_return_state(true);
  ExpectRefused(request, StatusCode::RESOURCE_EXHAUSTED, "tensor: ");
}

TEST_F(BadInputTest, AnUnknownMethodIsUnimplemented) {
  EXPECT_EQ(
      RawCall(client().channel(), "/warpfold.v1.ReductionService/Nothing", "").status.error_code(),
      StatusCode::UNIMPLEMENTED);
}

TEST_F(BadInputTest, AnI64SumThatDoesNotFitIsOutOfRangeWithItsValue) {
  v1::ReduceRequest request = F32Request({3});
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
  const std::vector<std::int64_t> elements(3, std::numeric_limits<std::int64_t>::max());
  request.set_data(elements.data(), 24);
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::OUT_OF_RANGE) << status.error_message();
  EXPECT_NE(status.error_message().find("27670116110564327421"), std::string::npos)
      << status.error_message();
}

// The stream's own ways to be wrong.

TEST_F(BadInputTest, AStreamWithoutAnyMessageNamesTheHeader) {
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({}, &response), StatusCode::INVALID_ARGUMENT, "header: ");
}

TEST_F(BadInputTest, AChunkBeforeTheHeaderNamesTheHeader) {
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({Chunk("abcd")}, &response), StatusCode::INVALID_ARGUMENT,
               "header: ");
}

TEST_F(BadInputTest, AHeaderThatComesTwiceNamesTheHeader) {
  v1::ReduceResponse response;
  const v1::ReduceStreamRequest header = Header(F32Request({2}));
  ExpectStatus(client().ReduceStream({header, Chunk("abcd"), header}, &response),
               StatusCode::INVALID_ARGUMENT, "header: ");
}

TEST_F(BadInputTest, AHeaderWithASourceNamesTheHeader) {
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({Header(F32Ones(2))}, &response), StatusCode::INVALID_ARGUMENT,
               "header: ");
}

TEST_F(BadInputTest, ChunksPastThePromiseNameTheChunk) {
  v1::ReduceResponse response;
  ExpectStatus(
      client().ReduceStream({Header(F32Request({1})), Chunk("abcd"), Chunk("e")}, &response),
      StatusCode::INVALID_ARGUMENT, "chunk: ");
}

TEST_F(BadInputTest, ChunksPastThePromiseAreRefusedWhileTheClientStillSends) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({1}))));
  // Never half-closes: the answer alone ends the loop.
  while (writer->Write(Chunk(std::string(1 << 16, 'x')))) {
  }
  ExpectStatus(writer->Finish(), StatusCode::INVALID_ARGUMENT, "chunk: ");
}

TEST_F(BadInputTest, ChunksShortOfThePromiseNameTheChunk) {
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({Header(F32Request({2})), Chunk("abcd")}, &response),
               StatusCode::INVALID_ARGUMENT, "chunk: ");
  ExpectStatus(client().ReduceStream({Header(F32Request({2}))}, &response),
               StatusCode::INVALID_ARGUMENT, "chunk: ");
}

TEST_F(BadInputTest, AMessageWithNeitherHeaderNorChunkNamesTheChunk) {
  v1::ReduceResponse response;
  ExpectStatus(client().ReduceStream({Header(F32Request({2})), {}}, &response),
               StatusCode::INVALID_ARGUMENT, "chunk: ");
}

TEST_F(BadInputTest, AStreamedI64SumThatDoesNotFitIsOutOfRange) {
  v1::ReduceRequest request = F32Request({2});
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
  const std::vector<std::int64_t> elements(2, std::numeric_limits<std::int64_t>::min());
  v1::ReduceResponse response;
  const grpc::Status status = client().ReduceStream(
      {Header(request), Chunk(std::string(reinterpret_cast<const char*>(elements.data()), 16))},
      &response);
  EXPECT_EQ(status.error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_NE(status.error_message().find("-18446744073709551616"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace warpfold::e2e
