#include "client/cpp/cli/diff_report.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/cli/color.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/table.h"

namespace warpfold::client {
namespace {

constexpr int kShortDigits = 6;  // of ElementShortText

struct Statistic {
  const char* json_name;
  const char* title;
  std::optional<Tensor> TensorSummary::*value;
  bool is_rounded;  // its last digits depend on how the elements lie
};
constexpr Statistic kStatistics[] = {
    {"min", "MIN", &TensorSummary::min, false},
    {"max", "MAX", &TensorSummary::max, false},
    {"mean", "MEAN", &TensorSummary::mean, true},
    {"std", "STD", &TensorSummary::std, true},
    {"nan_count", "NAN", &TensorSummary::nan_count, false},
};

// Of values alone, none of which differ by more than the tolerance.
bool IsWithinTolerance(const TensorDiff& diff, std::optional<double> tolerance) {
  return tolerance.has_value() && diff.change == Change::kValues && diff.difference.has_value() &&
         !IsMore(diff.difference->max_abs, *tolerance);
}

const char* ChangeName(const TensorDiff& diff, std::optional<double> tolerance) {
  if (IsWithinTolerance(diff, tolerance)) return "within_tolerance";
  switch (diff.change) {
    case Change::kIdentical:
      return "identical";
    case Change::kValues:
      return "values";
    case Change::kDType:
      return "dtype";
    case Change::kShape:
      return "shape";
    case Change::kBytes:
      return "bytes";
    case Change::kOnlyInA:
      return "only_in_a";
    case Change::kOnlyInB:
      return "only_in_b";
  }
  return "";
}

// What a person reads, in colour.
std::string ChangeCell(const TensorDiff& diff, std::optional<double> tolerance, bool color) {
  if (IsWithinTolerance(diff, tolerance)) return "tolerated";
  switch (diff.change) {
    case Change::kIdentical:
      return "identical";
    case Change::kValues:
      return Colored("values", Color::kYellow, color);
    case Change::kDType:
      return Colored("dtype", Color::kYellow, color);
    case Change::kShape:
      return Colored("shape", Color::kYellow, color);
    case Change::kBytes:
      return Colored("bytes", Color::kYellow, color);
    case Change::kOnlyInA:
      return Colored("only in A", Color::kRed, color);
    case Change::kOnlyInB:
      return Colored("only in B", Color::kGreen, color);
  }
  return "";
}

bool HasSameBytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Says of a tensor that both files have what changed.
void Compare(TensorDiff& diff) {
  const NamedTensor& a = *diff.a;
  const NamedTensor& b = *diff.b;
  if (!a.problem.empty() && !b.problem.empty()) {
    diff.change = HasSameBytes(a.unread, b.unread) ? Change::kIdentical : Change::kBytes;
    return;
  }
  if (a.dtype_name != b.dtype_name || a.view.shape != b.view.shape) {
    diff.change = a.dtype_name != b.dtype_name ? Change::kDType : Change::kShape;
    const bool is_of_values = a.problem.empty() && b.problem.empty() &&
                              a.view.shape == b.view.shape &&
                              AreComparable(a.view.dtype, b.view.dtype);
    if (is_of_values) diff.difference = DifferenceOf(a, b);
    return;
  }
  if (a.layout == b.layout && HasSameBytes(a.view.data, b.view.data)) {
    diff.change = Change::kIdentical;
    return;
  }
  diff.change = Change::kValues;
  if (!AreComparable(a.view.dtype, b.view.dtype)) return;
  const Difference difference = DifferenceOf(a, b);
  if (difference.changed > 0) {
    diff.difference = difference;
  } else {
    diff.change = Change::kIdentical;
  }
}

// "x" when both are, else "x -> y".
std::string Pair(const std::string& a, const std::string& b) {
  return a == b ? a : absl::StrCat(a, " -> ", b);
}

// The text of the sides that are there.
template <typename Text>
std::string SidesCell(const TensorDiff& diff, Text text) {
  if (!diff.a.has_value()) return text(*diff.b);
  if (!diff.b.has_value()) return text(*diff.a);
  return Pair(text(*diff.a), text(*diff.b));
}

std::string ShapeOf(const NamedTensor& tensor) {
  return tensor.problem.empty() ? ShapeText(tensor.view.shape) : "-";
}
std::string DTypeOf(const NamedTensor& tensor) { return Printable(tensor.dtype_name); }

// Why one of the sides could not be read; empty: both could.
std::string NoteOf(const TensorDiff& diff) {
  for (const auto* side : {&diff.a, &diff.b}) {
    if (side->has_value() && !(*side)->problem.empty()) return (*side)->problem;
  }
  return "";
}

// "a -> b" with the fewest digits that tell them apart.
std::string ClosePair(const Tensor& a, const Tensor& b) {
  const double x = ElementDouble(a.dtype, a.data.data());
  const double y = ElementDouble(b.dtype, b.data.data());
  std::string cell;
  for (int digits = kShortDigits + 1; digits <= std::numeric_limits<double>::max_digits10;
       ++digits) {
    cell = Pair(absl::StrFormat("%.*g", digits, x), absl::StrFormat("%.*g", digits, y));
    if (absl::StrContains(cell, "->")) break;
  }
  return cell;
}

std::string StatisticCell(const TensorDiff& diff, const Statistic& statistic) {
  if (!diff.a_summary.has_value() || !diff.b_summary.has_value()) return "-";
  const std::optional<Tensor>& a = (*diff.a_summary).*statistic.value;
  const std::optional<Tensor>& b = (*diff.b_summary).*statistic.value;
  const auto text = [](const std::optional<Tensor>& value, auto write) -> std::string {
    return value.has_value() ? write(value->dtype, value->data.data()) : "-";
  };
  std::string cell = Pair(text(a, ElementShortText), text(b, ElementShortText));
  // Six digits may hide a change.
  const bool is_hidden = diff.change == Change::kValues && !absl::StrContains(cell, "->") &&
                         text(a, ElementText) != text(b, ElementText);
  if (!is_hidden) return cell;
  return statistic.is_rounded ? absl::StrCat("\u2248 ", cell) : ClosePair(*a, *b);
}

// Of the columns CHANGED to REL L2.
std::vector<std::string> DifferenceCells(const TensorDiff& diff) {
  if (!diff.difference.has_value()) return {"-", "-", "-", "-"};
  const auto text = [](double value) {
    return ElementShortText(v1::DTYPE_F64, reinterpret_cast<const char*>(&value));
  };
  return {absl::StrCat(diff.difference->changed), text(diff.difference->max_abs),
          diff.difference->changed == 0
              ? "-"
              : ShapeText(IndexOf(diff.difference->max_at, diff.a->view.shape)),
          text(diff.difference->relative_l2)};
}

nlohmann::ordered_json DifferenceJson(const TensorDiff& diff) {
  if (!diff.difference.has_value()) return nullptr;
  const auto number = [](double value) {
    return ElementJson(v1::DTYPE_F64, reinterpret_cast<const char*>(&value));
  };
  return {{"changed", diff.difference->changed},
          {"max_abs", number(diff.difference->max_abs)},
          {"max_at", diff.difference->changed == 0
                         ? nlohmann::json()
                         : nlohmann::json(IndexOf(diff.difference->max_at, diff.a->view.shape))},
          {"relative_l2", number(diff.difference->relative_l2)}};
}

nlohmann::ordered_json SideJson(const std::optional<NamedTensor>& tensor,
                                const std::optional<TensorSummary>& summary) {
  if (!tensor.has_value()) return nullptr;
  const bool is_read = tensor->problem.empty();
  nlohmann::ordered_json side = {
      {"dtype", tensor->dtype_name},
      {"shape", is_read ? nlohmann::json(tensor->view.shape) : nlohmann::json()}};
  for (const Statistic& statistic : kStatistics) {
    const std::optional<Tensor>* value = nullptr;
    if (summary.has_value()) value = &((*summary).*statistic.value);
    const bool there = value != nullptr && value->has_value();
    side[statistic.json_name] =
        there ? ElementJson((*value)->dtype, (*value)->data.data()) : nlohmann::json(nullptr);
  }
  side["note"] = is_read ? nlohmann::json() : nlohmann::json(tensor->problem);
  return side;
}

struct Totals {
  std::size_t identical = 0, within_tolerance = 0, changed = 0, only_in_a = 0, only_in_b = 0;
};

Totals Count(const DiffReport& report) {
  Totals totals;
  for (const TensorDiff& diff : report.tensors) {
    if (IsWithinTolerance(diff, report.tolerance)) {
      ++totals.within_tolerance;
      continue;
    }
    switch (diff.change) {
      case Change::kIdentical:
        ++totals.identical;
        break;
      case Change::kValues:
      case Change::kDType:
      case Change::kShape:
      case Change::kBytes:
        ++totals.changed;
        break;
      case Change::kOnlyInA:
        ++totals.only_in_a;
        break;
      case Change::kOnlyInB:
        ++totals.only_in_b;
        break;
    }
  }
  return totals;
}

}  // namespace

std::vector<TensorDiff> PairTensors(const std::vector<NamedTensor>& a,
                                    const std::vector<NamedTensor>& b) {
  std::map<std::string, const NamedTensor*> left_in_b;
  for (const NamedTensor& tensor : b) left_in_b[tensor.name] = &tensor;
  std::vector<TensorDiff> diffs;
  for (const NamedTensor& tensor : a) {
    TensorDiff diff{tensor.name, Change::kOnlyInA, tensor, {}, {}, {}, {}};
    if (const auto other = left_in_b.find(tensor.name); other != left_in_b.end()) {
      diff.b = *other->second;
      Compare(diff);
      left_in_b.erase(other);
    }
    diffs.push_back(std::move(diff));
  }
  for (const NamedTensor& tensor : b) {
    if (!left_in_b.contains(tensor.name)) continue;
    diffs.push_back({tensor.name, Change::kOnlyInB, {}, tensor, {}, {}, {}});
  }
  return diffs;
}

void SortByHowMuch(std::vector<TensorDiff>& diffs) {
  std::stable_sort(diffs.begin(), diffs.end(), [](const TensorDiff& left, const TensorDiff& right) {
    if (!left.difference.has_value() || !right.difference.has_value()) {
      return left.difference.has_value() && !right.difference.has_value();
    }
    return IsMore(left.difference->relative_l2, right.difference->relative_l2);
  });
}

bool Differs(const DiffReport& report) {
  return std::any_of(report.tensors.begin(), report.tensors.end(), [&](const TensorDiff& diff) {
    return diff.change != Change::kIdentical && !IsWithinTolerance(diff, report.tolerance);
  });
}

std::string DiffText(const DiffReport& report, bool color, int terminal_columns) {
  std::vector<Column> columns = {{"NAME"},
                                 {"CHANGE"},
                                 {"SHAPE"},
                                 {"DTYPE"},
                                 {"CHANGED", Align::kRight},
                                 {"MAX |A-B|", Align::kRight},
                                 {"AT"},
                                 {"REL L2", Align::kRight}};
  for (const Statistic& statistic : kStatistics) {
    columns.push_back({statistic.title, Align::kRight});
  }
  const bool has_notes =
      std::any_of(report.tensors.begin(), report.tensors.end(), [](const TensorDiff& diff) {
        return diff.change != Change::kIdentical && !NoteOf(diff).empty();
      });
  if (has_notes) columns.push_back({"NOTE", Align::kLeft, /*wraps=*/true});
  Table table(columns);
  const Totals totals = Count(report);
  for (const TensorDiff& diff : report.tensors) {
    if (diff.change == Change::kIdentical) continue;
    std::vector<std::string> row = {Printable(diff.name), ChangeCell(diff, report.tolerance, color),
                                    SidesCell(diff, ShapeOf), SidesCell(diff, DTypeOf)};
    for (std::string& cell : DifferenceCells(diff)) row.push_back(std::move(cell));
    for (const Statistic& statistic : kStatistics) row.push_back(StatisticCell(diff, statistic));
    if (has_notes) row.push_back(Printable(NoteOf(diff)));
    table.AddRow(std::move(row));
  }
  const std::string within = report.tolerance.has_value()
                                 ? absl::StrCat(totals.within_tolerance, " within the tolerance, ")
                                 : std::string();
  return absl::StrCat(
      totals.identical < report.tensors.size() ? table.Text(terminal_columns) : "",
      absl::StrFormat("A: %s\nB: %s\n%d identical, %s%d changed, %d only in A, %d only in B\n",
                      Printable(report.a), Printable(report.b), totals.identical, within,
                      totals.changed, totals.only_in_a, totals.only_in_b));
}

nlohmann::ordered_json DiffJson(const DiffReport& report) {
  nlohmann::ordered_json tensors = nlohmann::json::array();
  for (const TensorDiff& diff : report.tensors) {
    tensors.push_back({{"name", diff.name},
                       {"change", ChangeName(diff, report.tolerance)},
                       {"difference", DifferenceJson(diff)},
                       {"a", SideJson(diff.a, diff.a_summary)},
                       {"b", SideJson(diff.b, diff.b_summary)}});
  }
  const Totals totals = Count(report);
  return {{"a", report.a},
          {"b", report.b},
          {"tolerance", report.tolerance.has_value() ? nlohmann::ordered_json(*report.tolerance)
                                                     : nlohmann::ordered_json()},
          {"tensors", tensors},
          {"total",
           {{"identical", totals.identical},
            {"within_tolerance", totals.within_tolerance},
            {"changed", totals.changed},
            {"only_in_a", totals.only_in_a},
            {"only_in_b", totals.only_in_b}}}};
}

}  // namespace warpfold::client
