#include "kernels/part.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

// What one step along each dimension of `shape` makes, where those that are not `counted` do not
// count.
template <typename Counted>
std::vector<std::int64_t> Strides(const std::vector<std::int64_t>& shape, Counted counted) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    if (counted(d)) stride *= shape[d];
  }
  return strides;
}

std::vector<std::int64_t> IndexStrides(const Plan& whole) {
  return Strides(whole.shape, [&](std::size_t d) { return whole.reduced.test(d); });
}

bool All(std::size_t /*dimension*/) { return true; }

}  // namespace

bool Box::is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

Box BoxOf(const Plan& whole) {
  return {std::vector<std::int64_t>(whole.shape.size()), whole.shape};
}

std::optional<BoxFault> FaultOf(const Plan& whole, const Box& box) {
  const std::size_t rank = whole.shape.size();
  if (box.shape.size() != rank) {
    return BoxFault{
        true, absl::StrCat("has ", box.shape.size(), " dimensions, but the whole has ", rank)};
  }
  if (box.offset.size() != rank) {
    return BoxFault{false, absl::StrCat("has ", box.offset.size(), " indices, but the whole has ",
                                        rank, " dimensions")};
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t length = box.shape[d];
    const std::int64_t offset = box.offset[d];
    if (length < 0) {
      return BoxFault{true, absl::StrCat("dimension ", d, " is negative: ", length)};
    }
    if (offset < 0) {
      return BoxFault{false, absl::StrCat("dimension ", d, " is negative: ", offset)};
    }
    if (!whole.reduced.test(d) && (length != whole.shape[d] || offset != 0)) {
      return BoxFault{length != whole.shape[d],
                      absl::StrCat("dimension ", d, " has ", length, " indices from ", offset,
                                   " on; it is kept, and a part has all ", whole.shape[d])};
    }
    if (length > whole.shape[d] || offset > whole.shape[d] - length) {
      return BoxFault{length > whole.shape[d],
                      absl::StrCat("dimension ", d, ": ", length, " indices from ", offset,
                                   " on are not in the whole's ", whole.shape[d])};
    }
  }
  return std::nullopt;
}

absl::StatusOr<Part> MakePart(ReduceSpec spec, Plan whole, Box box) {
  if (const std::optional<BoxFault> fault = FaultOf(whole, box); fault.has_value()) {
    return InvalidField(fault->is_of_shape ? Field::kTensorShape : Field::kPartOffset, fault->text);
  }
  return Part{std::move(spec), std::move(whole), std::move(box)};
}

bool ReducedElements::Has(std::int64_t index) const {
  if (index < 0 || index >= whole_count) return false;
  return std::all_of(cuts.begin(), cuts.end(), [&](const Cut& cut) {
    const std::int64_t at = index / cut.index_stride % cut.whole_length;
    return at >= cut.begin && at < cut.end;
  });
}

ReducedElements ReducedElementsOf(const Plan& whole, const Box& box) {
  ReducedElements elements{.count = 1, .whole_count = whole.reduced_count, .cuts = {}};
  if (box.is_empty()) elements.count = 0;
  const std::vector<std::int64_t> strides = IndexStrides(whole);
  for (std::size_t d = 0; d < box.shape.size(); ++d) {
    if (!whole.reduced.test(d)) continue;
    elements.count *= box.shape[d];
    if (box.shape[d] != whole.shape[d]) {
      elements.cuts.push_back({strides[d], whole.shape[d], box.offset[d], box.end(d)});
    }
  }
  return elements;
}

Plan CutPlan(const Plan& whole, const Box& box) {
  Plan plan = Reshaped(whole, box.shape);
  if (whole.element_count == 0) return plan;
  const std::vector<std::int64_t> strides = Strides(box.shape, All);
  const std::vector<std::int64_t> whole_strides = Strides(whole.shape, All);
  const std::vector<std::int64_t> index_strides = IndexStrides(whole);
  for (std::size_t d = 0; d < box.shape.size(); ++d) {
    plan.first_element += box.offset[d] * whole_strides[d];
    if (!whole.reduced.test(d)) continue;
    plan.index_map.first_index += box.offset[d] * index_strides[d];
    if (box.shape[d] > 1) {
      plan.index_map.dimensions.push_back({strides[d], box.shape[d], index_strides[d]});
    }
  }
  return plan;
}

Plan PlanOf(const Part& part) {
  Plan plan = CutPlan(part.whole, part.box);
  plan.leaves_states = true;
  return plan;
}

}  // namespace warpfold
