#include "client/cpp/cli/array_text.h"

#include <algorithm>
#include <functional>

#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

// Digits before the point, and from the point on.
struct Columns {
  std::size_t before = 0;
  std::size_t after = 0;
};

class ArrayPrinter {
 public:
  explicit ArrayPrinter(const Tensor& tensor)
      : tensor_(tensor), element_bytes_(ElementBytes(tensor.dtype)) {
    const auto count = static_cast<std::int64_t>(tensor.data.size() / element_bytes_);
    summarised_ = count > kSummaryThreshold;
  }

  std::string Print() {
    if (tensor_.shape.empty()) return ElementText(tensor_.dtype, tensor_.data.data());
    if (tensor_.data.empty()) return "[]";
    ForEachShown(0, 0, [&](std::int64_t index) { Widen(Text(index)); });
    PrintAxis(0, 0);
    return out_;
  }

 private:
  // "1.0" is "1." in an array, as in NumPy.
  std::string Text(std::int64_t index) const {
    std::string text = ElementText(tensor_.dtype, tensor_.data.data() + index * element_bytes_);
    if (text.ends_with(".0")) text.pop_back();
    return text;
  }

  static Columns Measure(const std::string& text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    return {point, text.size() - point};
  }

  void Widen(const std::string& text) {
    const Columns needed = Measure(text);
    columns_.before = std::max(columns_.before, needed.before);
    columns_.after = std::max(columns_.after, needed.after);
  }

  bool Skipped(std::size_t axis, std::int64_t i) const {
    return summarised_ && i >= kSummaryEdge && i < tensor_.shape[axis] - kSummaryEdge;
  }

  void ForEachShown(std::size_t axis, std::int64_t index,
                    const std::function<void(std::int64_t)>& visit) {
    if (axis == tensor_.shape.size()) return visit(index);
    for (std::int64_t i = 0; i < tensor_.shape[axis]; ++i) {
      if (Skipped(axis, i)) i = tensor_.shape[axis] - kSummaryEdge;
      ForEachShown(axis + 1, index * tensor_.shape[axis] + i, visit);
    }
  }

  void PrintAxis(std::size_t axis, std::int64_t index) {
    if (axis == tensor_.shape.size()) {
      const std::string text = Text(index);
      const Columns used = Measure(text);
      out_.append(columns_.before - used.before, ' ');
      out_ += text;
      out_.append(columns_.after - used.after, ' ');
      return;
    }
    const bool innermost = axis + 1 == tensor_.shape.size();
    // Between rows: one line break for each axis that ends with them, then an indent.
    const std::string separator =
        innermost ? " "
                  : std::string(tensor_.shape.size() - axis - 1, '\n') + std::string(axis + 1, ' ');
    out_ += '[';
    for (std::int64_t i = 0; i < tensor_.shape[axis]; ++i) {
      if (i > 0) out_ += separator;
      if (Skipped(axis, i)) {
        out_ += "..." + separator;
        i = tensor_.shape[axis] - kSummaryEdge;
      }
      PrintAxis(axis + 1, index * tensor_.shape[axis] + i);
    }
    out_ += ']';
  }

  const Tensor& tensor_;
  std::size_t element_bytes_;
  bool summarised_ = false;
  Columns columns_;
  std::string out_;
};

}  // namespace

std::string ArrayText(const Tensor& tensor) { return ArrayPrinter(tensor).Print(); }

}  // namespace warpfold::client
