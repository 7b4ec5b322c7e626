// What `warpfold diff` found between two files, as a table for people and as JSON for programs.
//
// Thread safety: pure functions over values.
#ifndef WARPFOLD_CLIENT_CPP_CLI_DIFF_REPORT_H_
#define WARPFOLD_CLIENT_CPP_CLI_DIFF_REPORT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/cli/difference.h"
#include "client/cpp/cli/named_tensor.h"
#include "client/cpp/cli/summarize.h"

namespace warpfold::client {

enum class Change {
  kIdentical,  // the same dtype and shape, and every element has the same bits; or the same bytes
  kValues,     // the same dtype and shape, other bits
  kDType,      // another dtype; the shape may differ, too
  kShape,      // another shape
  kBytes,      // arrays that cannot be read, and whose bytes in the files are not the same
  kOnlyInA,
  kOnlyInB,
};

// One name that is in either file. A side that does not have it is null; statistics are there for
// kValues, kDType and kShape only, absent where the server cannot reduce the dtype.
struct TensorDiff {
  std::string name;
  Change change = Change::kIdentical;
  std::optional<NamedTensor> a, b;
  std::optional<TensorSummary> a_summary, b_summary;
  // Of kValues, where this program knows the dtype, and of kDType when both are floats of one
  // shape.
  std::optional<Difference> difference;
};

struct DiffReport {
  std::string a, b;  // the files
  std::vector<TensorDiff> tensors;
  std::optional<double> tolerance;  // of |a - b|; none: of bits
};

// Pairs the tensors of two files by name, in the order of `a`, then what is only in `b`. Compares
// bytes and elements; statistics are not filled in. REQUIRES: no name comes twice in one file.
std::vector<TensorDiff> PairTensors(const std::vector<NamedTensor>& a,
                                    const std::vector<NamedTensor>& b);

// First what changed its values, by how much it did (relative L2, NaN first), then the others.
void SortByHowMuch(std::vector<TensorDiff>& diffs);

// Whether the files differ; with a tolerance, by more than that: values are no difference when no
// |a - b| is above it, other dtypes, shapes and tensors that one file has not are.
bool Differs(const DiffReport& report);

// A row per tensor that is not identical, "old -> new" where a value changed, then a line of
// totals; with a tolerance it tells what is within it from what changed. A NOTE says why an array
// could not be read. Where six digits hide a change the extremes have more, and mean and std a "≈":
// they are rounded.
// Coloured when `color`: what only one file has is red (a) or green (b), the rest yellow.
// Notes are wrapped to `terminal_columns` (wrap.h).
std::string DiffText(const DiffReport& report, bool color, int terminal_columns = 0);

// {"a", "b", "tolerance", "tensors": [{"name", "change", "difference", "a": SIDE, "b": SIDE}],
// "total": {"identical", "within_tolerance", "changed", "only_in_a", "only_in_b"}}; SIDE is null or
// {"dtype", "shape", "min", "max", "mean", "std", "nan_count", "note"}, shape and note null where
// there is none. "difference" is null or {"changed", "max_abs", "max_at", "relative_l2"}, max_at
// null where no value changed (another dtype). "change" is identical, within_tolerance, values,
// dtype, shape, bytes, only_in_a or only_in_b.
nlohmann::ordered_json DiffJson(const DiffReport& report);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_DIFF_REPORT_H_
