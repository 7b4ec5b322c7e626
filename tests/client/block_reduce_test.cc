// What is read block by block has the bits of one call, whatever is reduced; by the real server.
#include "client/cpp/cli/block_reduce.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/e2e/served_test.h"

namespace warpfold::client {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSmallBlock = 64 << 10;

// Memory, read from its beginning on.
class MemoryReader final : public TensorReader {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) : left_(bytes) {}

  absl::StatusOr<std::size_t> Read(std::span<std::byte> into) override {
    const std::size_t n = std::min(into.size(), left_.size());
    std::copy_n(left_.begin(), n, into.begin());
    left_ = left_.subspan(n);
    return n;
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

class BlockReduceTest : public e2e::ServedTest {
 protected:
  void SetUp() override {
    ServedTest::SetUp();
    auto connected = Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
    ASSERT_TRUE(connected.ok()) << connected.status();
    client_ = *std::move(connected);
    std::mt19937_64 random(20261125);
    for (float& x : elements_) {  // adds up to other bits in another order
      x = std::ldexp(static_cast<float>(random() % 100'000) - 5e4F,
                     static_cast<int>(random() % 30) - 15);
    }
  }

  TensorView View(const std::vector<std::int64_t>& shape) const {
    const std::int64_t count = *ElementCount(shape);
    return {v1::DTYPE_F32, shape,
            std::as_bytes(std::span(elements_).first(static_cast<std::size_t>(count)))};
  }

  static void ExpectSame(const ReduceAnswer& got, const ReduceAnswer& expected,
                         const std::string& what) {
    ASSERT_EQ(got.results.size(), expected.results.size()) << what;
    for (std::size_t i = 0; i < got.results.size(); ++i) {
      EXPECT_EQ(got.results[i].op, expected.results[i].op) << what;
      EXPECT_EQ(got.results[i].tensor.shape, expected.results[i].tensor.shape) << what;
      EXPECT_TRUE(got.results[i].tensor.data == expected.results[i].tensor.data)
          << what << " " << Name(got.results[i].op);
    }
  }

  std::vector<float> elements_ = std::vector<float>(300'000);
  std::unique_ptr<Client> client_;
};

TEST_F(BlockReduceTest, BlocksHaveTheBitsOfOneCall) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {300'000},    {262'144},     {1, 299, 1, 1003}, {3000, 100},    {100, 3000},
      {3, 100'000}, {60, 5, 1000}, {2, 3, 50'000},    {1, 2, 150'000}};
  int compared = 0;
  for (const auto& shape : shapes) {
    for (std::uint32_t mask = 0; mask < 1U << shape.size(); ++mask) {
      ReduceOptions options{.ops = {v1::OP_SUM, v1::OP_STD, v1::OP_MAX, v1::OP_L2_NORM},
                            .keepdims = mask % 2 == 1};
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if ((mask >> d & 1) != 0) options.axes.push_back(static_cast<std::int64_t>(d));
      }
      const std::string what = ShapeText(shape) + " axes " + ShapeText(options.axes);
      MemoryReader reader(View(shape).data);
      const auto got = ReduceByBlocks(*client_, v1::DTYPE_F32, shape, reader, options, std::nullopt,
                                      kSmallBlock);
      if (absl::IsInvalidArgument(got.status())) {
        EXPECT_THAT(std::string(got.status().message()), HasSubstr("block by block")) << what;
        continue;
      }
      ASSERT_TRUE(got.ok()) << what << got.status();
      EXPECT_EQ(reader.left(), 0u) << what;
      EXPECT_EQ(got->shape, shape);
      const auto expected = client_->Reduce(View(shape), options);
      ASSERT_TRUE(expected.ok()) << what << expected.status();
      ExpectSame(got->answer, *expected, what);
      ++compared;
    }
  }
  EXPECT_GE(compared, 40);
}

TEST_F(BlockReduceTest, TheLengthMayBeUnknown) {
  const ReduceOptions options{.ops = {v1::OP_SUM, v1::OP_STD, v1::OP_ARGMAX, v1::OP_L1_NORM}};
  const std::int64_t block = kSmallBlock / 4;
  for (const std::int64_t count :
       {std::int64_t{1}, block - 1, block, block + 1, 3 * block, std::int64_t{299'999}}) {
    MemoryReader reader(View({count}).data);
    const auto got = ReduceByBlocks(*client_, v1::DTYPE_F32, {kUnknownLength}, reader, options,
                                    std::nullopt, kSmallBlock);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->shape, std::vector<std::int64_t>{count});
    const auto expected = client_->Reduce(View({count}), options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ExpectSame(got->answer, *expected, std::to_string(count));
  }
}

TEST_F(BlockReduceTest, ASumThatDoesNotFitLeavesTheOtherAnswers) {
  const std::vector<std::int64_t> values(100'000, std::numeric_limits<std::int64_t>::max());
  const auto bytes = std::as_bytes(std::span(values));
  const ReduceOptions options{.ops = {v1::OP_SUM, v1::OP_MEAN, v1::OP_MAX}};
  for (const std::int64_t length : {std::int64_t{100'000}, kUnknownLength}) {
    MemoryReader reader(bytes);
    const auto got =
        ReduceByBlocks(*client_, v1::DTYPE_I64, {length}, reader, options, v1::OP_SUM, kSmallBlock);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(absl::IsOutOfRange(got->left_out)) << got->left_out;
    const auto expected =
        client_->Reduce({v1::DTYPE_I64, {100'000}, bytes}, {.ops = {v1::OP_MEAN, v1::OP_MAX}});
    ASSERT_TRUE(expected.ok()) << expected.status();
    ExpectSame(got->answer, *expected, "without the sum");
    MemoryReader again(bytes);
    EXPECT_TRUE(absl::IsOutOfRange(
        ReduceByBlocks(*client_, v1::DTYPE_I64, {length}, again, options, std::nullopt, kSmallBlock)
            .status()));
  }
}

TEST_F(BlockReduceTest, AnErrorNamesTheWholesElement) {
  std::vector<std::int64_t> values(80'000, 1);
  values[60'000] = std::numeric_limits<std::int64_t>::max();
  const auto bytes = std::as_bytes(std::span(values));
  const ReduceOptions options{.ops = {v1::OP_SUM}, .axes = {1}};
  // Rows that are larger than a block, and several in one.
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{4, 20'000}, {40, 2000}}) {
    MemoryReader reader(bytes);
    const absl::Status whole = client_->Reduce({v1::DTYPE_I64, shape, bytes}, options).status();
    EXPECT_TRUE(absl::IsOutOfRange(whole)) << whole;
    EXPECT_EQ(
        ReduceByBlocks(*client_, v1::DTYPE_I64, shape, reader, options, std::nullopt, kSmallBlock)
            .status(),
        whole);
  }
}

TEST_F(BlockReduceTest, AxesThatNobodyTakesAreRefusedInTheServersWords) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{3}, {0, 0}, {-3}}) {
    MemoryReader reader(View({3, 100'000}).data);
    const ReduceOptions options{.ops = {v1::OP_SUM}, .axes = axes};
    EXPECT_EQ(ReduceByBlocks(*client_, v1::DTYPE_F32, {3, 100'000}, reader, options, std::nullopt,
                             kSmallBlock)
                  .status(),
              client_->Reduce(View({3, 100'000}), options).status());
  }
}

}  // namespace
}  // namespace warpfold::client
