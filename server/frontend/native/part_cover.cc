#include "server/frontend/native/part_cover.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/field_error.h"

namespace warpfold {
namespace {

// Of all boxes together: 16 MiB, sorted within a tenth of a second.
constexpr std::size_t kCornersMax = std::size_t{1} << 19;

// How often an element is in the parts, less whether it is in their union, is the sum of weights at
// all corners that lie before it in every dimension: of a box each corner has 1 or, where an odd
// number of its coordinates are ends, -1. So the union is right if the weights cancel out at every
// corner. Where they do not, nothing lies before the first such corner but itself, and its weight
// is what is wrong with the element there.
struct Corner {
  absl::uint128 key;
  int weight;
};

class Cover {
 public:
  Cover(const std::vector<Box>& parts, const Box& all) : parts_(parts), all_(all) {
    for (std::size_t d = 0; d < all.shape.size(); ++d) {
      std::vector<std::int64_t> coordinates = {all.offset[d], all.end(d)};
      for (const Box& part : parts) {
        if (part.is_empty()) continue;
        coordinates.push_back(part.offset[d]);
        coordinates.push_back(part.end(d));
      }
      std::sort(coordinates.begin(), coordinates.end());
      coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
      if (coordinates.size() > 2) cuts_.push_back({d, std::move(coordinates)});
    }
  }

  absl::Status Check() {
    const std::size_t boxes = parts_.size() + 1;
    if (cuts_.size() >= 20 || boxes << cuts_.size() > kCornersMax) {
      return InvalidField(Field::kStates,
                          absl::StrCat(parts_.size(), " parts that are cut in ", cuts_.size(),
                                       " dimensions are too many to join at once; join some to "
                                       "a state first"));
    }
    std::vector<Corner> corners;
    corners.reserve(boxes << cuts_.size());
    for (const Box& part : parts_) {
      if (!part.is_empty()) AddCorners(part, 1, corners);
    }
    AddCorners(all_, -1, corners);
    std::sort(corners.begin(), corners.end(),
              [](const Corner& a, const Corner& b) { return a.key < b.key; });
    for (auto at = corners.begin(); at != corners.end();) {
      const absl::uint128 key = at->key;
      int weight = 0;
      for (; at != corners.end() && at->key == key; ++at) weight += at->weight;
      if (weight != 0) return FaultAt(ElementOf(key), weight > 0);
    }
    return absl::OkStatus();
  }

 private:
  // A dimension in which the parts differ, and all ends of parts there.
  struct Cut {
    std::size_t dimension;
    std::vector<std::int64_t> coordinates;
  };

  // Numbers corners in the order of their coordinates.
  void AddCorners(const Box& box, int weight, std::vector<Corner>& corners) const {
    const std::size_t first = corners.size();
    corners.push_back({0, weight});
    for (const Cut& cut : cuts_) {
      const auto number = [&](std::int64_t coordinate) {
        return std::lower_bound(cut.coordinates.begin(), cut.coordinates.end(), coordinate) -
               cut.coordinates.begin();
      };
      const auto begin = number(box.offset[cut.dimension]);
      const auto end = number(box.end(cut.dimension));
      const std::size_t count = corners.size();
      for (std::size_t c = first; c < count; ++c) {
        const absl::uint128 key = corners[c].key * cut.coordinates.size();
        corners.push_back({key + static_cast<std::uint64_t>(end), -corners[c].weight});
        corners[c].key = key + static_cast<std::uint64_t>(begin);
      }
    }
  }

  std::vector<std::int64_t> ElementOf(absl::uint128 key) const {
    std::vector<std::int64_t> element = all_.offset;
    for (auto cut = cuts_.rbegin(); cut != cuts_.rend(); ++cut) {
      const std::size_t count = cut->coordinates.size();
      element[cut->dimension] = cut->coordinates[static_cast<std::size_t>(key % count)];
      key /= count;
    }
    return element;
  }

  absl::Status FaultAt(const std::vector<std::int64_t>& element, bool is_in_several) const {
    const std::string name = absl::StrCat("[", absl::StrJoin(element, ", "), "]");
    if (!is_in_several) {
      return InvalidField(Field::kStates, absl::StrCat("none has the element at ", name));
    }
    const auto has = [&](const Box& part) {
      for (std::size_t d = 0; d < element.size(); ++d) {
        if (element[d] < part.offset[d] || element[d] >= part.end(d)) return false;
      }
      return true;
    };
    const auto one = std::find_if(parts_.begin(), parts_.end(), has);
    const auto other = std::find_if(one + 1, parts_.end(), has);
    return absl::InvalidArgumentError(
        absl::StrCat("states[", other - parts_.begin(), "].part_offset: the element at ", name,
                     " is in states[", one - parts_.begin(), "], too"));
  }

  const std::vector<Box>& parts_;
  const Box& all_;
  std::vector<Cut> cuts_;
};

// The smallest box around the parts that have elements; the first one, if none has.
Box Around(const std::vector<Box>& parts) {
  std::optional<Box> around;
  for (const Box& part : parts) {
    if (part.is_empty()) continue;
    if (!around.has_value()) around = part;
    for (std::size_t d = 0; d < part.shape.size(); ++d) {
      const std::int64_t end = std::max(around->end(d), part.end(d));
      around->offset[d] = std::min(around->offset[d], part.offset[d]);
      around->shape[d] = end - around->offset[d];
    }
  }
  return around.value_or(parts.front());
}

}  // namespace

absl::StatusOr<Box> UnionOf(const std::vector<Box>& parts, const std::optional<Box>& whole) {
  Box all = whole.has_value() ? *whole : Around(parts);
  if (all.is_empty()) return all;
  if (absl::Status status = Cover(parts, all).Check(); !status.ok()) return status;
  return all;
}

}  // namespace warpfold
