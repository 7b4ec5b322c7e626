#include "client/cpp/cli/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/catalogue.h"

namespace warpfold::client {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 4;  // {name: {shape: [ ]}}, and one to spare
constexpr char kMetadataKey[] = "__metadata__";

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

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const json& entry,
                                            std::size_t data_bytes) {
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
  SafetensorsEntry tensor;
  tensor.begin = static_cast<std::size_t>((*offsets)[0]);
  tensor.end = static_cast<std::size_t>((*offsets)[1]);
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    return Invalid(name, absl::StrCat("data_offsets [", tensor.begin, ", ", tensor.end,
                                      "] are outside the ", data_bytes, " bytes of data"));
  }
  tensor.tensor = {name, dtype_entry->get<std::string>(), {}};
  tensor.tensor.view.shape = *shape;
  const auto* known = std::find_if(
      std::begin(kDTypeRows), std::end(kDTypeRows),
      [&](const DTypeRow& row) { return tensor.tensor.dtype_name == row.safetensors; });
  if (known == std::end(kDTypeRows)) {  // a newer dtype: its size cannot be checked
    const absl::StatusOr<std::int64_t> count = ElementCount(*shape);
    if (!count.ok()) return Invalid(name, std::string(count.status().message()));
    return tensor;
  }
  tensor.tensor.view.dtype = known->dtype;
  tensor.tensor.dtype_name = Name(known->dtype);
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(known->dtype, *shape);
  if (!bytes.ok()) return Invalid(name, std::string(bytes.status().message()));
  const std::size_t span_bytes = tensor.end - tensor.begin;
  if (static_cast<std::size_t>(*bytes) != span_bytes) {
    return Invalid(name,
                   absl::StrCat("data_offsets span ", span_bytes, " bytes, but ",
                                tensor.tensor.dtype_name, " ", ShapeText(*shape), " is ", *bytes));
  }
  return tensor;
}

// The tensors, sorted by offset, must cover the data without overlap or hole.
absl::Status CheckCover(const std::vector<SafetensorsEntry>& tensors) {
  std::size_t covered_to = 0;
  for (const SafetensorsEntry& entry : tensors) {
    if (entry.begin < covered_to) {
      return Invalid(entry.tensor.name, "its data overlap another tensor's");
    }
    if (entry.begin > covered_to) {
      return Invalid(entry.tensor.name, absl::StrCat("the ", entry.begin - covered_to,
                                                     " bytes before its data belong to no tensor"));
    }
    covered_to = entry.end;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::size_t> SafetensorsHeaderBytes(std::span<const std::byte> start) {
  std::uint64_t header_bytes = 0;
  for (std::size_t i = kSafetensorsLengthBytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | static_cast<std::uint64_t>(start[i]);
  }
  if (header_bytes > kSafetensorsHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("header: a length of ", header_bytes,
                                                   " bytes is over the format's limit of ",
                                                   kSafetensorsHeaderBytesMax));
  }
  return header_bytes;
}

absl::StatusOr<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view text,
                                                                     std::size_t data_bytes) {
  if (!text.starts_with('{')) return absl::InvalidArgumentError("header: does not start with '{'");
  const absl::StatusOr<json> header = ParseHeader(text);
  if (!header.ok()) return header.status();
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadataKey) {
      if (absl::Status metadata = CheckMetadata(entry); !metadata.ok()) return metadata;
      continue;
    }
    absl::StatusOr<SafetensorsEntry> tensor = ParseEntry(name, entry, data_bytes);
    if (!tensor.ok()) return tensor.status();
    entries.push_back(*std::move(tensor));
  }
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::make_tuple(a.begin, a.end, std::string_view(a.tensor.name)) <
                     std::make_tuple(b.begin, b.end, std::string_view(b.tensor.name));
            });
  if (absl::Status cover = CheckCover(entries); !cover.ok()) return cover;
  return entries;
}

absl::Status CheckSafetensorsRest(std::size_t rest) {
  if (rest == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bytes left over: the last ", rest, " bytes belong to no tensor"));
}

absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> file) {
  if (file.size() < kSafetensorsLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("truncated: ", file.size(), " bytes, and a header length takes 8"));
  }
  const absl::StatusOr<std::size_t> header_bytes = SafetensorsHeaderBytes(file);
  if (!header_bytes.ok()) return header_bytes.status();
  const std::span<const std::byte> after = file.subspan(kSafetensorsLengthBytes);
  if (*header_bytes > after.size()) {
    return absl::InvalidArgumentError(absl::StrCat("header: a length of ", *header_bytes,
                                                   " bytes, but only ", after.size(), " follow"));
  }
  const std::span<const std::byte> data = after.subspan(*header_bytes);
  absl::StatusOr<std::vector<SafetensorsEntry>> entries = ParseSafetensorsHeader(
      {reinterpret_cast<const char*>(after.data()), *header_bytes}, data.size());
  if (!entries.ok()) return entries.status();
  std::vector<NamedTensor> tensors;
  std::size_t covered = 0;
  for (SafetensorsEntry& entry : *entries) {
    entry.tensor.view.data = data.subspan(entry.begin, entry.end - entry.begin);
    tensors.push_back(std::move(entry.tensor));
    covered = entry.end;
  }
  if (absl::Status all = CheckSafetensorsRest(data.size() - covered); !all.ok()) return all;
  return tensors;
}

}  // namespace warpfold::client
