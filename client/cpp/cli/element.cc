#include "client/cpp/cli/element.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_format.h"
#include "client/cpp/catalogue.h"

namespace warpfold::client {
namespace {

template <typename T>
T Load(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

// A float of up to 16 bits, of which as many as `row` says are the exponent's.
float FromShortFloat(const DTypeRow& row, std::uint16_t bits) {
  const float sign = (bits >> (row.exponent_bits + row.mantissa_bits)) != 0 ? -1.0f : 1.0f;
  const int exponent_max = (1 << row.exponent_bits) - 1;
  const int exponent = bits >> row.mantissa_bits & exponent_max;
  const int fraction = bits & ((1 << row.mantissa_bits) - 1);
  const int fraction_of_nan = (1 << row.mantissa_bits) - 1;  // where there are no infinities
  if (exponent == exponent_max && (row.has_infinities || fraction == fraction_of_nan)) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  const int bias = exponent_max >> 1;
  const int significand = exponent == 0 ? fraction : fraction | 1 << row.mantissa_bits;
  return sign * std::ldexp(static_cast<float>(significand),
                           std::max(exponent, 1) - bias - row.mantissa_bits);
}

// The integer of `bytes` at `data`, of the type of that size among `Types`, as an `As`.
template <typename As, typename... Types>
As LoadInteger(std::size_t bytes, const char* data) {
  As value = 0;
  ((bytes == sizeof(Types) ? void(value = Load<Types>(data)) : void()), ...);
  return value;
}

// Calls `visitor` with the element as bool, std::int64_t, std::uint64_t, float or double.
template <typename Visitor>
auto VisitElement(DType dtype, const char* data, const Visitor& visitor) {
  const DTypeRow* row = RowOf(dtype);
  // proto3 enums are open; the library has refused results of unknown dtypes.
  if (row == nullptr) return visitor(std::numeric_limits<double>::quiet_NaN());
  switch (row->nature) {
    case Nature::kBool:
      return visitor(Load<char>(data) != 0);
    case Nature::kSigned:
      return visitor(
          LoadInteger<std::int64_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(
              row->bytes, data));
    case Nature::kUnsigned:
      return visitor(
          LoadInteger<std::uint64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
              row->bytes, data));
    case Nature::kFloat:
      if (row->bytes == sizeof(double)) return visitor(Load<double>(data));
      if (row->bytes == sizeof(float)) return visitor(Load<float>(data));
      return visitor(FromShortFloat(
          *row, LoadInteger<std::uint16_t, std::uint8_t, std::uint16_t>(row->bytes, data)));
  }
  __builtin_unreachable();
}

template <typename T>
std::string ShortestDigits(T value, std::chars_format format) {
  char buffer[512];  // the longest fixed f64 below 1e16 takes some 25
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value, format).ptr;
  return {std::begin(buffer), end};
}

template <typename T>
std::string FloatText(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const T magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < T(1e-4) || magnitude >= T(1e16))) {
    return ShortestDigits(value, std::chars_format::scientific);
  }
  std::string digits = ShortestDigits(value, std::chars_format::fixed);
  if (digits.find('.') == std::string::npos) digits += ".0";
  return digits;
}

template <typename T>
nlohmann::json FloatJson(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  // The double nearest to the shortest digits of `value`: an f32 then prints as 0.1, not as
  // 0.10000000149011612.
  const std::string digits = ShortestDigits(value, std::chars_format::scientific);
  double shortest = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), shortest);
  return shortest;
}

}  // namespace

std::string ElementText(DType dtype, const char* data) {
  return VisitElement(dtype, data, [](auto value) -> std::string {
    if constexpr (std::is_same_v<decltype(value), bool>) {
      return value ? "True" : "False";
    } else if constexpr (std::is_integral_v<decltype(value)>) {
      return std::to_string(value);
    } else {
      return FloatText(value);
    }
  });
}

std::string ElementShortText(DType dtype, const char* data) {
  return VisitElement(dtype, data, [&](auto value) -> std::string {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      return std::isnan(value) ? "nan" : absl::StrFormat("%.6g", value);  // not "-nan"
    } else {
      return ElementText(dtype, data);
    }
  });
}

double ElementDouble(DType dtype, const char* data) {
  return VisitElement(dtype, data, [](auto value) { return static_cast<double>(value); });
}

bool SameElement(DType dtype, const char* a, const char* b) {
  return VisitElement(dtype, a, [&]<typename T>(T x) {
    return VisitElement(dtype, b, [&]<typename U>(U y) {
      if constexpr (std::is_same_v<T, U>) {
        return x == y;
      } else {
        return false;  // never reached: both are of `dtype`
      }
    });
  });
}

nlohmann::json ElementJson(DType dtype, const char* data) {
  return VisitElement(dtype, data, [](auto value) -> nlohmann::json {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      return FloatJson(value);
    } else {
      return value;
    }
  });
}

nlohmann::json ElementsJson(const Tensor& tensor) {
  nlohmann::json list = nlohmann::json::array();
  const std::size_t element_bytes = ElementBytes(tensor.dtype);
  for (std::size_t at = 0; at + element_bytes <= tensor.data.size(); at += element_bytes) {
    list.push_back(ElementJson(tensor.dtype, tensor.data.data() + at));
  }
  return list;
}

std::string Printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace warpfold::client
