#include "client/cpp/cli/pipe_tensors.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/block_reduce.h"
#include "client/cpp/cli/npy.h"
#include "client/cpp/cli/raw.h"
#include "client/cpp/cli/safetensors.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kNoEnd = std::numeric_limits<std::int64_t>::max();
// NumPy itself reads no header above 10,000 bytes without being told to.
constexpr std::size_t kNpyHeaderBytesMax = 1 << 20;

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

// Reads the bytes of one tensor.
class PipeTensors::Reader final : public TensorReader {
 public:
  Reader(PipeTensors& from, std::size_t i) : from_(from), i_(i) {}

  absl::StatusOr<std::size_t> Read(std::span<std::byte> into) override {
    const absl::StatusOr<std::size_t> n = from_.pipe_.Read(into);
    if (!n.ok()) return n.status();
    from_.at_ += *n;
    if (*n == into.size()) return n;
    if (from_.ranges_[i_].end != kNoEnd) return from_.WrongLength(from_.at_);
    if (absl::Status whole = CheckWholeElements(from_.tensors_[i_].view.dtype, from_.at_);
        !whole.ok()) {
      return whole;
    }
    return n;
  }

 private:
  PipeTensors& from_;
  const std::size_t i_;
};

absl::StatusOr<std::unique_ptr<PipeTensors>> PipeTensors::OpenRaw(
    Pipe pipe, DType dtype, const std::vector<std::int64_t>& shape) {
  std::unique_ptr<PipeTensors> tensors(new PipeTensors(std::move(pipe), Kind::kRaw));
  if (shape.empty()) {
    const absl::StatusOr<std::span<const std::byte>> start = tensors->pipe_.Peek(1);
    if (!start.ok()) return start.status();
    const bool is_empty = start->empty();
    tensors->Add({"", Name(dtype), {dtype, {is_empty ? 0 : kUnknownLength}, {}}}, 0,
                 is_empty ? 0 : kNoEnd);
    return tensors;
  }
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(dtype, shape);
  if (!bytes.ok()) return bytes.status();
  tensors->Add({"", Name(dtype), {dtype, shape, {}}}, 0, static_cast<std::size_t>(*bytes));
  return tensors;
}

absl::StatusOr<std::unique_ptr<PipeTensors>> PipeTensors::Open(Pipe pipe,
                                                               std::optional<Format> format,
                                                               std::optional<DType> of_void) {
  const absl::StatusOr<std::span<const std::byte>> start = pipe.Peek(kFormatBytes);
  if (!start.ok()) return start.status();
  if (start->empty()) return absl::InvalidArgumentError("is empty");
  if (!format.has_value()) format = FormatOfBytes(*start);
  if (!format.has_value()) {
    return absl::InvalidArgumentError(
        "is no .npy, .npz or .safetensors file; raw bytes need --dtype");
  }
  if (*format == Format::kNpz) {
    return absl::InvalidArgumentError(
        "a .npz file has the list of its members at its end and cannot be read from a pipe: write "
        "it to a file first");
  }
  const Kind kind = *format == Format::kNpy ? Kind::kNpy : Kind::kSafetensors;
  std::unique_ptr<PipeTensors> tensors(new PipeTensors(std::move(pipe), kind));
  absl::Status read =
      kind == Kind::kNpy ? tensors->ReadNpyHeader(of_void) : tensors->ReadSafetensorsHeader();
  if (!read.ok()) return read;
  return tensors;
}

void PipeTensors::Add(NamedTensor tensor, std::size_t begin, std::size_t end) {
  tensors_.push_back(std::move(tensor));
  ranges_.push_back({begin, end});
}

absl::Status PipeTensors::ReadNpyHeader(std::optional<DType> of_void) {
  std::span<const std::byte> start;
  while (true) {
    const absl::StatusOr<std::size_t> needed = NpyHeaderBytes(start);
    if (!needed.ok()) return needed.status();
    if (*needed == start.size()) break;
    if (*needed > kNpyHeaderBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an npy header of ", *needed, " bytes is over the limit of ", kNpyHeaderBytesMax));
    }
    const absl::StatusOr<std::span<const std::byte>> more = pipe_.Peek(*needed);
    if (!more.ok()) return more.status();
    if (more->size() < *needed) {
      return absl::InvalidArgumentError("truncated in its npy header");
    }
    start = *more;
  }
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(start, of_void);
  if (!header.ok()) return header.status();
  if (absl::StatusOr<std::int64_t> read = pipe_.Skip(static_cast<std::int64_t>(start.size()));
      !read.ok()) {
    return read.status();
  }
  // By steps: GCC 12 takes the shape of a braced temporary for one that may not be initialized.
  NamedTensor tensor;
  tensor.dtype_name = Name(header->dtype);
  tensor.view.dtype = header->dtype;
  tensor.view.shape = std::move(header->shape);
  tensor.layout = header->layout;
  Add(std::move(tensor), 0, header->data_bytes);
  return absl::OkStatus();
}

absl::Status PipeTensors::ReadSafetensorsHeader() {
  absl::StatusOr<std::span<const std::byte>> start = pipe_.Peek(kSafetensorsLengthBytes);
  if (!start.ok()) return start.status();
  if (start->size() < kSafetensorsLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("truncated: ", start->size(), " bytes, and a header length takes 8"));
  }
  const absl::StatusOr<std::size_t> header_bytes = SafetensorsHeaderBytes(*start);
  if (!header_bytes.ok()) return header_bytes.status();
  const std::size_t data_at = kSafetensorsLengthBytes + *header_bytes;
  start = pipe_.Peek(data_at);
  if (!start.ok()) return start.status();
  if (start->size() < data_at) {
    return absl::InvalidArgumentError(
        absl::StrCat("header: a length of ", *header_bytes, " bytes, but only ",
                     start->size() - kSafetensorsLengthBytes, " follow"));
  }
  absl::StatusOr<std::vector<SafetensorsEntry>> entries =
      ParseSafetensorsHeader(TextOf(start->subspan(kSafetensorsLengthBytes)), kNoEnd);
  if (!entries.ok()) return entries.status();
  for (SafetensorsEntry& entry : *entries) Add(std::move(entry.tensor), entry.begin, entry.end);
  return pipe_.Skip(static_cast<std::int64_t>(data_at)).status();
}

std::int64_t PipeTensors::BytesOf(std::size_t i) const {
  const Range& range = ranges_[i];
  return range.end == kNoEnd ? 0 : static_cast<std::int64_t>(range.end - range.begin);
}

absl::StatusOr<std::unique_ptr<TensorReader>> PipeTensors::ReaderOf(std::size_t i) {
  if (absl::Status skipped = SkipTo(ranges_[i].begin); !skipped.ok()) return skipped;
  return std::make_unique<Reader>(*this, i);
}

absl::Status PipeTensors::SkipTo(std::size_t at) {
  const absl::StatusOr<std::int64_t> n = pipe_.Skip(static_cast<std::int64_t>(at - at_));
  if (!n.ok()) return n.status();
  at_ += static_cast<std::size_t>(*n);
  return at_ == at ? absl::OkStatus() : WrongLength(at_);
}

absl::Status PipeTensors::Finish() {
  const std::size_t end = ranges_.empty() ? 0 : ranges_.back().end;
  if (end == kNoEnd) return absl::OkStatus();
  if (absl::Status all = SkipTo(end); !all.ok()) return all;
  const absl::StatusOr<std::int64_t> rest = pipe_.Skip(kNoEnd - static_cast<std::int64_t>(end));
  if (!rest.ok()) return rest.status();
  return *rest == 0 ? absl::OkStatus() : WrongLength(end + static_cast<std::size_t>(*rest));
}

absl::Status PipeTensors::WrongLength(std::size_t bytes) const {
  if (kind_ == Kind::kSafetensors) {
    const std::size_t end = ranges_.empty() ? 0 : ranges_.back().end;
    if (bytes > end) return CheckSafetensorsRest(bytes - end);
    return absl::InvalidArgumentError(absl::StrCat("truncated: the header is of ", end,
                                                   " bytes of data, but ", bytes, " follow it"));
  }
  const TensorView& view = tensors_[0].view;
  if (kind_ == Kind::kRaw) return CheckRawBytes(view.dtype, view.shape, bytes);
  return CheckNpyData({view.dtype, view.shape, ranges_[0].end}, bytes);
}

}  // namespace warpfold::client
