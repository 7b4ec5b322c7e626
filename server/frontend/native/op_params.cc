#include "server/frontend/native/op_params.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "kernels/field_error.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

constexpr char kOneof[] = "params";

absl::Status Wrong(std::int64_t i, absl::string_view member, absl::string_view text) {
  return FieldStatus(Field::kOps, i, member, absl::InvalidArgumentError(text));
}

// Of a client that knows more than this server.
absl::Status CheckAllKnown(std::int64_t i, absl::string_view member, const Message& message,
                           absl::string_view known) {
  const int unknown = FirstUnknownField(message);
  if (unknown == 0) return absl::OkStatus();
  return Wrong(i, member, absl::StrCat("field ", unknown, " is unknown; there is ", known));
}

std::string NamesOf(const ParamSet& set) {
  return absl::StrJoin(set.params, ", ", [](std::string* out, const ParamInfo& param) {
    absl::StrAppend(out, param.name);
  });
}

}  // namespace

absl::StatusOr<std::vector<double>> DecodeParams(std::int64_t i, const Message& spec,
                                                 const ParamSet* known) {
  const std::string own = known != nullptr ? known->name : "";
  absl::Status all_known = CheckAllKnown(i, "", spec, own.empty() ? "op" : "op, " + own);
  if (!all_known.ok()) return all_known;
  std::vector<double> values;
  if (known != nullptr) {
    for (const ParamInfo& param : known->params) values.push_back(param.preset);
  }
  const OneofDescriptor* oneof = spec.GetDescriptor()->FindOneofByName(kOneof);
  const FieldDescriptor* given = spec.GetReflection()->GetOneofFieldDescriptor(spec, oneof);
  if (given == nullptr) return values;
  const std::string member = "." + std::string(given->name());
  if (own != given->name()) {
    return Wrong(i, member,
                 own.empty() ? "the op has no parameters" : absl::StrCat("the op's are ", own));
  }
  const Message& params = spec.GetReflection()->GetMessage(spec, given);
  all_known = CheckAllKnown(i, member, params, NamesOf(*known));
  if (!all_known.ok()) return all_known;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::string name = known->params[k].name;
    const FieldDescriptor* field = params.GetDescriptor()->FindFieldByName(name);
    values[k] = params.GetReflection()->GetDouble(params, field);
    if (!std::isfinite(values[k])) {
      return Wrong(i, absl::StrCat(member, ".", name),
                   absl::StrCat(values[k], " is not a finite number"));
    }
  }
  return values;
}

}  // namespace warpfold
