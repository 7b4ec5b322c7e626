#include "client/cpp/cli/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr int kDepthMax = 4;  // {name: {shape: [ ]}}, and one to spare
constexpr char kMetadataKey[] = "__metadata__";

struct SafetensorsDType {
  const char* name;
  DType dtype;
};
constexpr SafetensorsDType kSafetensorsDTypes[] = {
    {"BOOL", v1::DTYPE_BOOL}, {"I8", v1::DTYPE_I8},     {"U8", v1::DTYPE_U8},
    {"I16", v1::DTYPE_I16},   {"U16", v1::DTYPE_U16},   {"I32", v1::DTYPE_I32},
    {"U32", v1::DTYPE_U32},   {"I64", v1::DTYPE_I64},   {"U64", v1::DTYPE_U64},
    {"F16", v1::DTYPE_F16},   {"BF16", v1::DTYPE_BF16}, {"F32", v1::DTYPE_F32},
    {"F64", v1::DTYPE_F64},
};

absl::Status Invalid(const std::string& name, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "': ", problem));
}

// What the JSON parser itself lets through: a name that comes twice, and depth without end.
struct HeaderError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HeaderGuard {
 public:
  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (depth > kDepthMax) throw HeaderError("nested too deeply");
    const auto level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start) {
      names_.resize(level + 1);
      names_[level].clear();
    } else if (event == json::parse_event_t::key) {
      if (!names_[level - 1].insert(value.get<std::string>()).second) {
        throw HeaderError("the name '" + value.get<std::string>() + "' comes twice");
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> names_;  // of the open objects, by depth
};

absl::StatusOr<json> ParseHeader(std::string_view text) {
  try {
    HeaderGuard guard;
    json header = json::parse(text.begin(), text.end(), std::ref(guard));
    if (!header.is_object()) return absl::InvalidArgumentError("header: is not a JSON object");
    return header;
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("header: ", error.what()));
  } catch (const HeaderError& error) {
    return absl::InvalidArgumentError(absl::StrCat("header: ", error.what()));
  }
}

absl::Status CheckMetadata(const json& metadata) {
  const bool strings =
      metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                          [](const json& value) { return value.is_string(); });
  return strings ? absl::OkStatus()
                 : absl::InvalidArgumentError("header: __metadata__ is not a map of strings");
}

// `entry[key]` as non-negative integers.
absl::StatusOr<std::vector<std::int64_t>> Integers(const std::string& name, const json& entry,
                                                   const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) {
    return Invalid(name, absl::StrCat(key, " is missing or not a list"));
  }
  std::vector<std::int64_t> values;
  for (const json& value : *found) {
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      return Invalid(name, absl::StrCat(key, " holds what is not a length that fits 63 bits"));
    }
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

absl::StatusOr<NamedTensor> ParseEntry(const std::string& name, const json& entry,
                                       std::span<const std::byte> data) {
  if (!entry.is_object()) return Invalid(name, "its entry is not a JSON object");
  const auto dtype_entry = entry.find("dtype");
  if (dtype_entry == entry.end() || !dtype_entry->is_string()) {
    return Invalid(name, "dtype is missing or not a string");
  }
  const absl::StatusOr<std::vector<std::int64_t>> shape = Integers(name, entry, "shape");
  if (!shape.ok()) return shape.status();
  const absl::StatusOr<std::vector<std::int64_t>> offsets = Integers(name, entry, "data_offsets");
  if (!offsets.ok()) return offsets.status();
  if (offsets->size() != 2) return Invalid(name, "data_offsets is not [begin, end]");
  const auto begin = static_cast<std::size_t>((*offsets)[0]);
  const auto end = static_cast<std::size_t>((*offsets)[1]);
  if (begin > end || end > data.size()) {
    return Invalid(name, absl::StrCat("data_offsets [", begin, ", ", end, "] are outside the ",
                                      data.size(), " bytes of data"));
  }
  NamedTensor tensor{name, dtype_entry->get<std::string>(), {}};
  tensor.view.shape = *shape;
  tensor.view.data = data.subspan(begin, end - begin);
  const auto* known =
      std::find_if(std::begin(kSafetensorsDTypes), std::end(kSafetensorsDTypes),
                   [&](const SafetensorsDType& d) { return tensor.dtype_name == d.name; });
  if (known == std::end(kSafetensorsDTypes)) {  // a newer dtype: its size cannot be checked
    const absl::StatusOr<std::int64_t> count = ElementCount(*shape);
    if (!count.ok()) return Invalid(name, std::string(count.status().message()));
    return tensor;
  }
  tensor.view.dtype = known->dtype;
  tensor.dtype_name = Name(known->dtype);
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(known->dtype, *shape);
  if (!bytes.ok()) return Invalid(name, std::string(bytes.status().message()));
  if (static_cast<std::size_t>(*bytes) != end - begin) {
    return Invalid(name, absl::StrCat("data_offsets span ", end - begin, " bytes, but ",
                                      tensor.dtype_name, " ", ShapeText(*shape), " is ", *bytes));
  }
  return tensor;
}

// The tensors, sorted by offset, must cover the data without overlap, hole or rest.
absl::Status CheckCover(const std::vector<NamedTensor>& tensors, std::span<const std::byte> data) {
  const std::byte* covered_to = data.data();
  for (const NamedTensor& tensor : tensors) {
    const std::byte* begin = tensor.view.data.data();
    if (begin < covered_to) return Invalid(tensor.name, "its data overlap another tensor's");
    if (begin > covered_to) {
      return Invalid(tensor.name, absl::StrCat("the ", begin - covered_to,
                                               " bytes before its data belong to no tensor"));
    }
    covered_to += tensor.view.data.size();
  }
  const auto rest = static_cast<std::size_t>(data.data() + data.size() - covered_to);
  if (rest == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bytes left over: the last ", rest, " bytes belong to no tensor"));
}

}  // namespace

absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("truncated: ", file.size(), " bytes, and a header length takes 8"));
  }
  std::uint64_t header_bytes = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | static_cast<std::uint64_t>(file[i]);
  }
  if (header_bytes > kSafetensorsHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("header: a length of ", header_bytes,
                                                   " bytes is over the format's limit of ",
                                                   kSafetensorsHeaderBytesMax));
  }
  if (header_bytes > file.size() - kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrCat("header: a length of ", header_bytes,
                                                   " bytes, but only ", file.size() - kLengthBytes,
                                                   " follow"));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                              header_bytes);
  if (!text.starts_with('{')) return absl::InvalidArgumentError("header: does not start with '{'");
  const absl::StatusOr<json> header = ParseHeader(text);
  if (!header.ok()) return header.status();

  const std::span<const std::byte> data = file.subspan(kLengthBytes + header_bytes);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadataKey) {
      if (absl::Status metadata = CheckMetadata(entry); !metadata.ok()) return metadata;
      continue;
    }
    absl::StatusOr<NamedTensor> tensor = ParseEntry(name, entry, data);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return std::make_tuple(a.view.data.data(), a.view.data.size(), std::string_view(a.name)) <
           std::make_tuple(b.view.data.data(), b.view.data.size(), std::string_view(b.name));
  });
  if (absl::Status cover = CheckCover(tensors, data); !cover.ok()) return cover;
  return tensors;
}

}  // namespace warpfold::client
