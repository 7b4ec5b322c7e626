// Requests with a few bytes changed: each is planned or refused by a field's name, never worse.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "server/core/base/limits.h"
#include "server/core/request/request.h"
#include "server/frontend/native/native_codec.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/draw.h"

namespace warpfold {
namespace {

// All that a request can say.
v1::ReduceRequest Example() {
  v1::ReduceRequest request;
  request.set_request_id("id");
  v1::TensorSpec& tensor = *request.add_sources()->mutable_tensor();
  tensor.set_dtype(v1::DTYPE_F32);
  for (const std::int64_t length : {3, 5, 2}) tensor.add_shape(length);
  request.mutable_sources(0)->mutable_memory()->set_name("region");
  request.mutable_sources(0)->mutable_memory()->set_size_bytes(120);
  for (const v1::Op op : {v1::OP_SUM, v1::OP_VAR, v1::OP_MAX_ABS, v1::OP_STD}) {
    request.add_ops()->set_op(op);
  }
  for (const int i : {1, 3}) request.mutable_ops(i)->mutable_variance()->set_correction(1.5);
  request.add_axes(-1);
  request.set_keepdims(true);
  request.set_nan_policy(v1::NAN_POLICY_OMIT);
  return request;
}

std::string Mutated(std::string bytes, testing::Draw& draw) {
  for (long n = draw.Between(1, 3); n > 0 && !bytes.empty(); --n) {
    const auto at = static_cast<std::size_t>(draw.Between(0, std::ssize(bytes) - 1));
    const auto count = static_cast<std::size_t>(
        std::min<long>(draw.Between(1, 12), std::ssize(bytes) - static_cast<long>(at)));
    switch (draw.Between(0, 4)) {
      case 0:
        bytes.erase(at, count);
        break;
      case 1:
        bytes.insert(at, bytes.substr(at, count));
        break;
      case 2:
        bytes.replace(at, count, count, draw.OneIn(2) ? '\xff' : '\x7f');
        break;
      case 3:
        bytes[at] = static_cast<char>(draw.Bits());
        break;
      case 4:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw.Between(0, 7)));
        break;
    }
  }
  return bytes;
}

absl::StatusOr<Request> Planned(const std::string& bytes, RequestSpec* asked) {
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  Decoded decoded;
  NativeCodec codec(NativeCodec::Of::kCall);
  if (absl::Status read = codec.Decode(&buffer, &decoded); !read.ok()) return read;
  *asked = decoded.spec;
  return PlanRequest(std::move(decoded.spec), Limits());
}

TEST(RequestFuzzTest, ARequestWithOtherBytesIsPlannedOrRefusedByName) {
  std::mt19937_64 random(20261128);
  testing::Draw draw(random);
  const std::string good = Example().SerializeAsString();
  std::set<std::string> refused;
  int planned = 0;
  for (int round = 0; round < testing::Rounds(200'000); ++round) {
    RequestSpec asked;
    const absl::StatusOr<Request> request = Planned(Mutated(good, draw), &asked);
    if (request.ok()) {
      ++planned;
      ASSERT_EQ(request->plan.ops, asked.reduce.ops);
      ASSERT_TRUE(std::isfinite(request->plan.correction));
      continue;
    }
    const absl::Status& status = request.status();
    ASSERT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
                absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status))
        << status;
    const std::string text(status.message());
    ASSERT_NE(text.find(": "), std::string::npos) << status;
    refused.insert(text.substr(0, text.find_first_of("[.:")));
  }
  EXPECT_GT(planned, 0);
  // The mutations reach them all.
  for (const char* field : {"sources", "ops", "tensor", "axes", "message", "nan_policy"}) {
    EXPECT_TRUE(refused.contains(field)) << field;
  }
}

}  // namespace
}  // namespace warpfold
