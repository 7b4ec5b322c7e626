// Results over the wire, against an oracle that only knows loops: every op and dtype, axes,
// streams, many.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/contract/values_of.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr std::uint32_t kSeed = 20240229;

template <typename T>
struct Proto;
template <>
struct Proto<std::int32_t> {
  static constexpr v1::DType kDType = v1::DTYPE_I32;
};
template <>
struct Proto<std::int64_t> {
  static constexpr v1::DType kDType = v1::DTYPE_I64;
};
template <>
struct Proto<float> {
  static constexpr v1::DType kDType = v1::DTYPE_F32;
};
template <>
struct Proto<double> {
  static constexpr v1::DType kDType = v1::DTYPE_F64;
};

constexpr v1::Op kOps[] = {v1::OP_MEAN, v1::OP_SUM, v1::OP_MIN, v1::OP_MAX};

template <typename T>
std::vector<T> RandomElements(std::size_t count, std::mt19937_64& random) {
  std::vector<T> elements(count);
  if constexpr (std::is_integral_v<T>) {
    std::uniform_int_distribution<T> distribution(std::numeric_limits<T>::min() / 4096,
                                                  std::numeric_limits<T>::max() / 4096);
    for (T& element : elements) element = distribution(random);
  } else {
    std::uniform_real_distribution<T> distribution(T{-1000}, T{1000});
    for (T& element : elements) element = distribution(random);
  }
  return elements;
}

template <typename T>
v1::ReduceRequest MakeRequest(const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& axes) {
  v1::ReduceRequest request;
  ValuesOf(request).mutable_tensor()->set_dtype(Proto<T>::kDType);
  for (const std::int64_t length : shape) ValuesOf(request).mutable_tensor()->add_shape(length);
  for (const std::int64_t axis : axes) request.add_axes(axis);
  for (const v1::Op op : kOps) request.add_ops()->set_op(op);
  return request;
}

// What one result element is made of.
struct Cell {
  __int128 integer_sum = 0;
  long double sum = 0;
  long double magnitude = 0;
  long double min = std::numeric_limits<long double>::infinity();
  long double max = -std::numeric_limits<long double>::infinity();
  std::int64_t count = 0;
};

// One cell per result element, keyed by its C-order index: walks the tensor element by element.
template <typename T>
std::map<std::int64_t, Cell> Oracle(const std::vector<T>& elements,
                                    const std::vector<std::int64_t>& shape,
                                    const std::vector<bool>& reduced) {
  std::map<std::int64_t, Cell> cells;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t at = rest % shape[d];
      rest /= shape[d];
      if (reduced[d]) continue;
      index += at * stride;
      stride *= shape[d];
    }
    Cell& cell = cells[index];
    const long double value = static_cast<long double>(elements[i]);
    if constexpr (std::is_integral_v<T>) cell.integer_sum += elements[i];
    cell.sum += value;
    cell.magnitude += std::abs(value);
    cell.min = std::min(cell.min, value);
    cell.max = std::max(cell.max, value);
    ++cell.count;
  }
  return cells;
}

template <typename T>
T At(const std::string& bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// n - 1 additions in float64, each within 2^-53 of the sum of magnitudes, then one rounding to T's
// precision.
template <typename T>
long double SumBound(const Cell& cell) {
  const long double additions = static_cast<long double>(cell.count) * 0x1p-53L * cell.magnitude;
  return additions +
         (std::abs(cell.sum) + additions) * (std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L);
}

template <typename T>
void ExpectCell(v1::Op op, const std::string& data, std::int64_t index, const Cell& cell) {
  SCOPED_TRACE(testing::Message() << v1::Op_Name(op) << " of result element " << index);
  if (op == v1::OP_MIN || op == v1::OP_MAX) {
    EXPECT_EQ(static_cast<long double>(At<T>(data, index)), op == v1::OP_MIN ? cell.min : cell.max);
    return;
  }
  const long double count = static_cast<long double>(cell.count);
  if constexpr (std::is_integral_v<T>) {
    if (op == v1::OP_SUM) {
      EXPECT_TRUE(At<std::int64_t>(data, index) == cell.integer_sum);
    } else {
      const long double mean = static_cast<long double>(cell.integer_sum) / count;
      EXPECT_NEAR(static_cast<double>(At<double>(data, index)), static_cast<double>(mean),
                  static_cast<double>(std::abs(mean) * 0x1p-51L));
    }
  } else {
    const long double divisor = op == v1::OP_MEAN ? count : 1.0L;
    const long double wanted = cell.sum / divisor;
    const long double bound = SumBound<T>(cell) / divisor + std::abs(wanted) * 0x1p-53L +
                              (std::is_same_v<T, float> ? std::abs(wanted) * 0x1p-24L : 0.0L);
    EXPECT_LE(std::abs(static_cast<long double>(At<T>(data, index)) - wanted), bound);
  }
}

template <typename T>
void ExpectAnswer(const v1::ReduceResponse& response, const std::vector<T>& elements,
                  const std::vector<std::int64_t>& shape, const std::vector<bool>& reduced) {
  ASSERT_EQ(response.results_size(), static_cast<int>(std::size(kOps)));
  const std::map<std::int64_t, Cell> cells = Oracle(elements, shape, reduced);
  for (int i = 0; i < response.results_size(); ++i) {
    const v1::Result& result = response.results(i);
    ASSERT_EQ(result.spec().op(), kOps[i]);
    for (const auto& [index, cell] : cells)
      ExpectCell<T>(result.spec().op(), result.data(), index, cell);
  }
  EXPECT_FALSE(response.device().empty());
  EXPECT_GT(response.timing().total_ns(), 0);
}

template <typename T>
class ReduceTest : public ServedTest {};
using ElementTypes = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ReduceTest, ElementTypes);

TYPED_TEST(ReduceTest, AllOpsOverAllAxesMatchTheOracle) {
  std::cout << "seed " << kSeed << '\n';
  std::mt19937_64 random(kSeed);
  for (const std::size_t count : {1UL, 31UL, 1000UL, 16385UL, 200000UL}) {
    SCOPED_TRACE(count);
    const std::vector<TypeParam> elements = RandomElements<TypeParam>(count, random);
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(count)};
    v1::ReduceRequest request = MakeRequest<TypeParam>(shape, {});
    request.set_request_id("all");
    request.set_data(elements.data(), count * sizeof(TypeParam));
    v1::ReduceResponse response;
    const grpc::Status status = this->client().Reduce(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.request_id(), "all");
    ExpectAnswer(response, elements, shape, {true});
  }
}

TYPED_TEST(ReduceTest, AnySetOfAxesMatchesTheOracle) {
  std::mt19937_64 random(kSeed);
  const std::vector<std::int64_t> shape{5, 7, 11, 13};
  const std::vector<TypeParam> elements = RandomElements<TypeParam>(5 * 7 * 11 * 13, random);
  for (unsigned set = 1; set < 16; ++set) {
    SCOPED_TRACE(set);
    std::vector<std::int64_t> axes;
    std::vector<bool> reduced(4);
    for (unsigned d = 0; d < 4; ++d) {
      reduced[d] = (set >> d & 1) != 0;
      if (reduced[d]) axes.push_back(d % 2 == 0 ? d : static_cast<std::int64_t>(d) - 4);
    }
    v1::ReduceRequest request = MakeRequest<TypeParam>(shape, axes);
    request.set_keepdims(set % 2 == 0);
    request.set_data(elements.data(), elements.size() * sizeof(TypeParam));
    v1::ReduceResponse response;
    const grpc::Status status = this->client().Reduce(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ExpectAnswer(response, elements, shape, reduced);
    const int kept = 4 - static_cast<int>(axes.size());
    EXPECT_EQ(response.results(0).tensor().shape_size(), request.keepdims() ? 4 : kept);
  }
}

TYPED_TEST(ReduceTest, AStreamGivesTheBitsOfOneMessage) {
  std::mt19937_64 random(kSeed);
  const std::size_t count = 3'000'001;
  const std::vector<TypeParam> elements = RandomElements<TypeParam>(count, random);
  const std::string bytes(reinterpret_cast<const char*>(elements.data()),
                          count * sizeof(TypeParam));
  const v1::ReduceRequest header = MakeRequest<TypeParam>({static_cast<std::int64_t>(count)}, {});
  v1::ReduceRequest whole = header;
  whole.set_data(bytes);
  v1::ReduceResponse at_once;
  ASSERT_TRUE(this->client().Reduce(whole, &at_once).ok());
  ExpectAnswer(at_once, elements, {static_cast<std::int64_t>(count)}, {true});

  std::vector<v1::ReduceStreamRequest> messages{Header(header)};
  std::uniform_int_distribution<std::size_t> chunk_bytes(0, 1 << 20);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min(chunk_bytes(random), bytes.size() - at);
    messages.push_back(Chunk(bytes.substr(at, size)));
    at += size;
  }
  v1::ReduceResponse streamed;
  const grpc::Status status = this->client().ReduceStream(messages, &streamed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(streamed.results_size(), at_once.results_size());
  for (int i = 0; i < streamed.results_size(); ++i) {
    EXPECT_EQ(streamed.results(i).data(), at_once.results(i).data());
  }
}

class EmptyTest : public ServedTest {};

TEST_F(EmptyTest, SumOfNothingIsZeroAndMeanOfNothingIsNaN) {
  v1::ReduceRequest request = F32Request({0});
  request.add_ops()->set_op(v1::OP_MEAN);
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(At<float>(response.results(0).data(), 0), 0.0F);
  EXPECT_TRUE(std::isnan(At<float>(response.results(1).data(), 0)));
  EXPECT_TRUE(client().ReduceStream({Header(request)}, &response).ok());
}

}  // namespace
}  // namespace warpfold::e2e
