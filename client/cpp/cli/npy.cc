#include "client/cpp/cli/npy.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/catalogue.h"
#include "client/cpp/cli/text_cursor.h"

namespace warpfold::client {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderAlignment = 64;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

// Reads the one kind of Python literal that a header is. Every method leaves `text_` at the next
// token.
class HeaderParser : private TextCursor {
 public:
  explicit HeaderParser(std::string_view text) : TextCursor(text, " \n") {}

  absl::StatusOr<Header> Parse() {
    if (!Take('{')) return Broken("a '{'");
    while (!Take('}')) {
      const std::optional<std::string> key = String();
      if (!key.has_value() || !Take(':')) return Broken("a key and a ':'");
      if (absl::Status value = Value(*key); !value.ok()) return value;
      if (!Take(',') && !Next('}')) return Broken("a ',' or a '}'");
    }
    SkipSpace();
    if (!text_.empty()) return Broken("nothing after the '}'");
    if (!header_.descr || !header_.fortran_order || !header_.shape) {
      return absl::InvalidArgumentError(
          "npy header: needs the keys descr, fortran_order and shape");
    }
    return header_;
  }

 private:
  absl::Status Value(const std::string& key) {
    if (key == "descr" && !header_.descr) {
      if (Next('[')) {
        return absl::UnimplementedError(
            "descr: the file holds records (a structured dtype); save one field by itself");
      }
      header_.descr = String();
      return header_.descr ? absl::OkStatus() : Broken("descr as a string");
    }
    if (key == "fortran_order" && !header_.fortran_order) {
      if (TakeWord("True")) header_.fortran_order = true;
      if (TakeWord("False")) header_.fortran_order = false;
      return header_.fortran_order ? absl::OkStatus() : Broken("True or False");
    }
    if (key == "shape" && !header_.shape) {
      header_.shape = Tuple();
      return header_.shape ? absl::OkStatus()
                           : Broken("shape as a tuple of lengths that fit 63 bits");
    }
    return absl::InvalidArgumentError(
        absl::StrCat("npy header: the key '", key, "' is unknown or comes twice"));
  }

  absl::Status Broken(const char* expected) const {
    return absl::InvalidArgumentError(absl::StrCat("npy header: expected ", expected, " at '",
                                                   std::string(text_.substr(0, 20)), "'"));
  }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> String() {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  std::optional<std::vector<std::int64_t>> Tuple() {
    std::vector<std::int64_t> lengths;
    if (!Take('(')) return std::nullopt;
    while (!Take(')')) {
      SkipSpace();
      std::int64_t length = 0;
      const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), length);
      if (parsed.ec != std::errc()) return std::nullopt;
      text_.remove_prefix(static_cast<std::size_t>(parsed.ptr - text_.data()));
      TakeWord("L");  // Python 2 wrote its long integers so
      if (!Take(',') && !Next(')')) return std::nullopt;
      lengths.push_back(length);
    }
    return lengths;
  }

  Header header_;
};

// What NumPy's kinds of dtypes are that hold no numbers of the contract, and what to do.
struct OtherKind {
  char kind;
  const char* text;
};
constexpr OtherKind kOtherKinds[] = {
    {'c', "complex numbers; save a.real and a.imag by themselves"},
    {'U', "text, not numbers"},
    {'S', "text (bytes), not numbers"},
    {'M', "dates; save a.astype('i8'), their ticks since 1970"},
    {'m', "time differences; save a.astype('i8'), their ticks"},
    {'V',
     "bytes of a dtype that NumPy does not have; --dtype says which it is: bf16, f8_e4m3 or "
     "f8_e5m2"},
};
// As ml_dtypes calls its float8_e5m2 in a file.
constexpr std::string_view kE5M2 = "f1";

struct Element {
  DType dtype;
  bool is_big_endian;
};

// What `descr` says by itself; `name` is all of it but the order of bytes.
absl::StatusOr<Element> OwnElement(const std::string& descr, std::string_view name, char order) {
  if (name == kE5M2) return Element{v1::DTYPE_F8_E5M2, false};
  if (name.starts_with('O')) {
    return absl::UnimplementedError("descr: the file holds Python objects, not numbers");
  }
  for (const OtherKind& other : kOtherKinds) {
    if (!name.starts_with(other.kind)) continue;
    return absl::UnimplementedError(
        absl::StrCat("descr: '", descr, "': the file holds ", other.text));
  }
  const auto* known = std::find_if(std::begin(kDTypeRows), std::end(kDTypeRows),
                                   [&](const DTypeRow& row) { return name == row.npy; });
  if (name.empty() || known == std::end(kDTypeRows)) {
    return absl::UnimplementedError(
        absl::StrCat("descr: '", descr, "' is not a dtype that warpfold knows"));
  }
  return Element{known->dtype, order == '>' && ElementBytes(known->dtype) > 1};
}

absl::StatusOr<Element> ParseDescr(const std::string& descr, std::optional<DType> of_void) {
  std::string_view name = descr;
  char order = '|';
  if (!name.empty() && std::string_view("<>|=").find(name[0]) != std::string_view::npos) {
    order = name[0];
    name.remove_prefix(1);
  }
  if (!of_void.has_value()) return OwnElement(descr, name, order);
  const std::size_t bytes = ElementBytes(*of_void);
  if (!name.starts_with('V')) {
    absl::StatusOr<Element> own = OwnElement(descr, name, order);
    if (own.ok() && own->dtype == *of_void) return own;
    return absl::InvalidArgumentError(absl::StrCat("--dtype: the file says its own, '", descr,
                                                   "'; it is for raw bytes, and for '|V", bytes,
                                                   "'"));
  }
  if (name.substr(1) != absl::StrCat(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("--dtype: ", Name(*of_void), " is '|V", bytes,
                                                   "', and the file holds '", descr, "'"));
  }
  return Element{*of_void, false};
}

}  // namespace

absl::StatusOr<std::size_t> NpyHeaderBytes(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!kMagic.starts_with(text.substr(0, kMagic.size()))) {
    return absl::InvalidArgumentError("is not a .npy file");
  }
  const std::size_t version_at = kMagic.size();
  if (text.size() <= version_at) return version_at + 1;
  const int version = static_cast<int>(start[version_at]);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t header_start = version_at + 2 + length_bytes;
  if (text.size() < header_start) return header_start;
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(absl::StrCat("npy version ", version, " is unknown"));
  }
  std::size_t header_bytes = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | static_cast<std::size_t>(start[version_at + 2 + i]);
  }
  return header_start + header_bytes;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> start,
                                         std::optional<DType> of_void) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const std::size_t header_start =
      kMagic.size() + (static_cast<int>(start[kMagic.size()]) == 1 ? 4 : 6);
  const absl::StatusOr<Header> header = HeaderParser(text.substr(header_start)).Parse();
  if (!header.ok()) return header.status();
  const absl::StatusOr<Element> element = ParseDescr(*header->descr, of_void);
  if (!element.ok()) return element.status();
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(element->dtype, *header->shape);
  if (!bytes.ok()) return bytes.status();
  return NpyHeader{element->dtype,
                   *header->shape,
                   static_cast<std::size_t>(*bytes),
                   {element->is_big_endian, *header->fortran_order && header->shape->size() > 1}};
}

absl::Status CheckNpyData(const NpyHeader& header, std::size_t data_bytes) {
  if (data_bytes == header.data_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      data_bytes < header.data_bytes ? "truncated: " : "bytes left over: ", Name(header.dtype), " ",
      ShapeText(header.shape), " is ", header.data_bytes, " bytes, but ", data_bytes,
      " follow the header"));
}

absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> file, std::optional<DType> of_void) {
  if (file.size() < kMagic.size()) return absl::InvalidArgumentError("is not a .npy file");
  const absl::StatusOr<std::size_t> data_at = NpyHeaderBytes(file);
  if (!data_at.ok()) return data_at.status();
  if (*data_at > file.size()) {
    return absl::InvalidArgumentError(absl::StrCat("truncated: an npy header of ", *data_at,
                                                   " bytes, but only ", file.size(), " are there"));
  }
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(file.first(*data_at), of_void);
  if (!header.ok()) return header.status();
  const std::span<const std::byte> data = file.subspan(*data_at);
  if (absl::Status whole = CheckNpyData(*header, data.size()); !whole.ok()) return whole;
  return NpyArray{{header->dtype, std::move(header->shape), data}, header->layout};
}

absl::StatusOr<std::string> NpyBytes(const Tensor& tensor) {
  const DTypeRow* row = RowOf(tensor.dtype);
  if (row == nullptr || *row->npy == '\0') {
    return absl::UnimplementedError(absl::StrCat("NumPy has no dtype for ", Name(tensor.dtype)));
  }
  std::string header =
      absl::StrCat("{'descr': '", ElementBytes(tensor.dtype) > 1 ? "<" : "|", row->npy,
                   "', 'fortran_order': False, 'shape': ", ShapeText(tensor.shape), ", }");
  const std::size_t fixed_bytes = kMagic.size() + 4;
  const std::size_t unpadded = fixed_bytes + header.size() + 1;
  header.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  header.push_back('\n');
  std::string file(kMagic);
  file.append(
      {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)});
  return file + header + tensor.data;
}

}  // namespace warpfold::client
