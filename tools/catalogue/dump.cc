// Prints the catalogues of ops and dtypes as JSON. tools/catalogue/generate.py makes of it what
// other languages, the clients and the documents have of them.
#include <cstddef>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/dtypes/catalogue.h"
#include "kernels/exact/rounding.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/describe.h"
#include "kernels/ops/fusions.h"
#include "kernels/values.h"
#include "nlohmann/json.hpp"

namespace warpfold {
namespace {

using json = nlohmann::ordered_json;

template <typename T>
const char* NatureOf() {
  if (std::is_same_v<T, Bool>) return "bool";
  if (kIsFloat<T>) return "float";
  return kIsUnsigned<T> ? "unsigned" : "signed";
}

json DTypes() {
  json rows = json::array();
  for (const DTypeRow& row : kDTypeRows) {
    json one = {{"number", row.number},
                {"name", row.name},
                {"numpy", row.numpy},
                {"npy", row.npy},
                {"safetensors", row.safetensors},
                {"kserve", row.kserve},
                {"bytes", ElementBytes(row.dtype)}};
    VisitDType(row.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      one["nature"] = NatureOf<T>();
      if constexpr (kIsFloat<T>) {
        one["exponent_bits"] = exact::FloatFormat<T>::kExponentBits;
        one["mantissa_bits"] = exact::FloatFormat<T>::kPrecision - 1;
        one["has_infinities"] = kHasInfinities<T>;
      }
    });
    rows.push_back(std::move(one));
  }
  return rows;
}

std::vector<std::string> NamesIn(KindSet kinds) {
  std::vector<std::string> names;
  for (const ValueKind kind : kAllValueKinds) {
    if (kinds.Has(kind)) names.emplace_back(Name(kind));
  }
  return names;
}

// The most that a state has of one output.
std::size_t StateBytesMax(Op op, DType dtype) {
  std::size_t bytes = 0;
  for (const ValueKind kind : ValueKindsOf(dtype, {op}, NanPolicy::kPropagate)) {
    bytes += ValueBytesMax(kind, dtype);
  }
  return bytes;
}

json ParamsOf(const OpInfo& info) {
  if (info.params == nullptr) return nullptr;
  json params = json::array();
  for (const ParamInfo& param : info.params->params) {
    params.push_back({{"name", param.name}, {"summary", param.summary}, {"preset", param.preset}});
  }
  return {{"name", info.params->name}, {"params", params}};
}

json AllOpRows() {
  json rows = json::array();
  for (const Op op : kAllOps) {
    const OpInfo& info = InfoOf(op);
    json results, state_bytes, may_be_refused = json::array();
    for (const DTypeRow& row : kDTypeRows) {
      results[row.name] = Name(ResultDType(op, row.dtype));
      state_bytes[row.name] = StateBytesMax(op, row.dtype);
      if (MayBeRefused(op, row.dtype)) may_be_refused.push_back(row.name);
    }
    rows.push_back({{"number", info.number},
                    {"name", info.name},
                    {"summary", info.summary},
                    {"numpy", info.numpy},
                    {"numpy_nan", info.numpy_nan},
                    {"needs", NamesIn(info.needs)},
                    {"has_empty", info.has_empty},
                    {"params", ParamsOf(info)},
                    {"trailing_dims", TrailingDims(op)},
                    {"results", results},
                    {"may_be_refused", may_be_refused},
                    {"state_bytes_max", state_bytes}});
  }
  return rows;
}

json Fusions() {
  json rows = json::array();
  for (const FusionRow& row : kFusionRows) {
    rows.push_back({{"name", row.name}, {"holds", NamesIn(row.holds)}, {"reason", row.reason}});
  }
  return rows;
}

json Catalogue() {
  json describe = json::array();
  for (const Op op : kDescribeOps) describe.push_back(Name(op));
  return {
      {"dtypes", DTypes()}, {"ops", AllOpRows()}, {"describe", describe}, {"fusions", Fusions()}};
}

}  // namespace
}  // namespace warpfold

int main() {
  std::cout << warpfold::Catalogue().dump(1) << "\n";
  return std::cout.flush() ? 0 : 1;
}
