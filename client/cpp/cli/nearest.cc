#include "client/cpp/cli/nearest.h"

#include <algorithm>
#include <numeric>

namespace warpfold::client {
namespace {

// Levenshtein's.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the letters of `a` so far, to each start of `b`
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& names) {
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  const auto longer = std::find_if(names.begin(), names.end(), begins);
  if (!word.empty() && std::count_if(names.begin(), names.end(), begins) == 1) return *longer;
  std::optional<std::string> nearest;
  std::size_t least = (word.size() + 1) / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = Distance(word, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace warpfold::client
