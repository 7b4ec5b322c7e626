#include "client/cpp/cli/describe_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/cli/color.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/finding.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/table.h"

namespace warpfold::client {
namespace {

std::string Cell(const std::optional<Tensor>& scalar) {
  return scalar.has_value() ? ElementShortText(scalar->dtype, scalar->data.data()) : "-";
}

nlohmann::json Value(const std::optional<Tensor>& scalar) {
  if (!scalar.has_value()) return nullptr;
  return ElementJson(scalar->dtype, scalar->data.data());
}

// NaN and infinity are damage, red; zeros and constants may be meant, yellow.
std::string FlagsCell(const TensorSummary& tensor, bool color) {
  const std::vector<Finding> findings = FindingsOf(tensor);
  const bool damaged = std::any_of(findings.begin(), findings.end(), [](Finding finding) {
    return finding == Finding::kNan || finding == Finding::kInf;
  });
  return Colored(NameList(findings), damaged ? Color::kRed : Color::kYellow, color);
}

// Null of a tensor of which nothing but its name is known.
template <typename T>
nlohmann::json Known(const TensorSummary& tensor, const T& value) {
  return tensor.is_unread ? nlohmann::json(nullptr) : nlohmann::json(value);
}

nlohmann::json FlagsJson(const TensorSummary& tensor) {
  nlohmann::json flags = nlohmann::json::array();
  for (const Finding finding : FindingsOf(tensor)) flags.push_back(Name(finding));
  return flags;
}

struct Total {
  std::size_t tensors = 0;
  std::int64_t bytes = 0;  // of the tensors that were reduced
  double seconds = 0;
  double gb_per_second = 0;
};

Total TotalOf(const std::vector<DescribeReport>& reports) {
  Total total;
  for (const DescribeReport& report : reports) {
    total.tensors += report.summaries.tensors.size();
    total.seconds += report.summaries.elapsed.count();
    for (const TensorSummary& tensor : report.summaries.tensors) {
      if (tensor.mean.has_value()) total.bytes += tensor.bytes;
    }
  }
  if (total.seconds > 0)
    total.gb_per_second = static_cast<double>(total.bytes) / total.seconds / 1e9;
  return total;
}

}  // namespace

std::string ReportText(const std::vector<DescribeReport>& reports, bool name_files, bool color,
                       int terminal_columns) {
  bool has_flags = false;
  bool has_notes = false;
  std::string device;
  for (const DescribeReport& report : reports) {
    for (const TensorSummary& tensor : report.summaries.tensors) {
      has_flags = has_flags || !FindingsOf(tensor).empty();
      has_notes = has_notes || !tensor.note.empty();
    }
    if (!report.summaries.device.empty()) device = report.summaries.device;
  }
  std::vector<Column> columns = {{"NAME"},
                                 {"SHAPE"},
                                 {"DTYPE"},
                                 {"COUNT", Align::kRight},
                                 {"MIN", Align::kRight},
                                 {"MAX", Align::kRight},
                                 {"MEAN", Align::kRight},
                                 {"STD", Align::kRight},
                                 {"NAN", Align::kRight},
                                 {"INF", Align::kRight}};
  if (name_files) columns.insert(columns.begin(), {"FILE"});
  if (has_flags) columns.push_back({"FLAGS"});
  if (has_notes) columns.push_back({"NOTE", Align::kLeft, /*wraps=*/true});
  Table table(columns);
  for (const DescribeReport& report : reports) {
    for (const TensorSummary& tensor : report.summaries.tensors) {
      std::vector<std::string> row = {Printable(tensor.name),
                                      tensor.is_unread ? "-" : ShapeText(tensor.shape),
                                      Printable(tensor.dtype_name),
                                      tensor.is_unread ? "-" : absl::StrCat(tensor.count),
                                      Cell(tensor.min),
                                      Cell(tensor.max),
                                      Cell(tensor.mean),
                                      Cell(tensor.std),
                                      Cell(tensor.nan_count),
                                      Cell(tensor.inf_count)};
      if (name_files) row.insert(row.begin(), Printable(report.file));
      if (has_flags) row.push_back(FlagsCell(tensor, color));
      if (has_notes) row.push_back(Printable(tensor.note));
      table.AddRow(std::move(row));
    }
  }
  const Total total = TotalOf(reports);
  return absl::StrCat(table.Text(terminal_columns),
                      absl::StrFormat("%d tensor%s, %s in %.3f s, %.2f GB/s", total.tensors,
                                      total.tensors == 1 ? "" : "s", BytesText(total.bytes),
                                      total.seconds, total.gb_per_second),
                      device.empty() ? "" : absl::StrCat(", on ", Printable(device)), "\n");
}

nlohmann::ordered_json ReportJson(const DescribeReport& report) {
  nlohmann::ordered_json tensors = nlohmann::json::array();
  for (const TensorSummary& tensor : report.summaries.tensors) {
    tensors.push_back(
        {{"name", tensor.name},
         {"dtype", tensor.dtype_name},
         {"shape", Known(tensor, tensor.shape)},
         {"count", Known(tensor, tensor.count)},
         {"bytes", Known(tensor, tensor.bytes)},
         {"min", Value(tensor.min)},
         {"max", Value(tensor.max)},
         {"mean", Value(tensor.mean)},
         {"std", Value(tensor.std)},
         {"sum", Value(tensor.sum)},
         {"l1_norm", Value(tensor.l1_norm)},
         {"l2_norm", Value(tensor.l2_norm)},
         {"nan_count", Value(tensor.nan_count)},
         {"inf_count", Value(tensor.inf_count)},
         {"flags", FlagsJson(tensor)},
         {"note", tensor.note.empty() ? nlohmann::json(nullptr) : nlohmann::json(tensor.note)}});
  }
  return {{"file", report.file},
          {"device", report.summaries.device},
          {"tensors", tensors},
          {"total", TotalJson({report})}};
}

nlohmann::ordered_json TotalJson(const std::vector<DescribeReport>& reports) {
  const Total total = TotalOf(reports);
  return {{"tensors", total.tensors},
          {"bytes", total.bytes},
          {"seconds", total.seconds},
          {"gb_per_second", total.gb_per_second}};
}

}  // namespace warpfold::client
