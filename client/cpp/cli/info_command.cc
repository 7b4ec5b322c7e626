// `warpfold info`: what a server is. Also what the commands share.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/catalogue.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/table.h"
#include "client/cpp/cli/wrap.h"
#include "client/cpp/exchange.h"

namespace warpfold::client {
namespace {

using Limit = std::pair<std::string, std::int64_t>;

// Every field of Limits by its name in the contract, so that a new limit shows without a change
// here.
std::vector<Limit> LimitsOf(const v1::GetServerInfoResponse& info) {
  std::vector<Limit> limits;
  const google::protobuf::Descriptor& fields = *v1::Limits::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i)->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_INT64) continue;
    limits.emplace_back(fields.field(i)->name(),
                        info.limits().GetReflection()->GetInt64(info.limits(), fields.field(i)));
  }
  return limits;
}

std::string OpNames(const v1::GetServerInfoResponse& info) {
  return absl::StrJoin(info.ops(), ", ", [](std::string* out, int op) {
    absl::StrAppend(out, Name(static_cast<Op>(op)));
  });
}

// A newer server may list what this client has no name for.
std::string KindName(v1::PartialState::Kind kind) {
  if (v1::PartialState::Kind_IsValid(kind)) return v1::PartialState::Kind_Name(kind);
  return absl::StrCat("kind ", static_cast<int>(kind));
}

nlohmann::ordered_json InfoJson(const std::string& target, const v1::GetServerInfoResponse& info) {
  nlohmann::ordered_json out = {{"server", target},
                                {"version", info.version()},
                                {"numerics_version", info.numerics_version()},
                                {"backend", info.backend()},
                                {"devices", nlohmann::json::array()},
                                {"ops", nlohmann::json::array()},
                                {"dtypes", nlohmann::json::array()},
                                {"state_revisions", nlohmann::json::object()},
                                {"limits", nlohmann::json::object()},
                                {"security_warnings", info.security_warnings()}};
  for (const v1::Device& device : info.devices()) {
    out["devices"].push_back({{"name", device.name()},
                              {"model", device.model()},
                              {"memory_bytes", device.memory_bytes()}});
  }
  for (const int op : info.ops()) out["ops"].push_back(Name(static_cast<Op>(op)));
  for (const int dtype : info.dtypes()) out["dtypes"].push_back(Name(static_cast<DType>(dtype)));
  for (const v1::KindRevisions& of : info.state_revisions()) {
    out["state_revisions"][KindName(of.kind())] = {of.oldest(), of.newest()};
  }
  for (const auto& [name, value] : LimitsOf(info)) out["limits"][name] = value;
  return out;
}

std::string InfoText(const std::string& target, const v1::GetServerInfoResponse& info) {
  Table table({{"SERVER"}, {target, Align::kLeft, /*wraps=*/true}});
  table.AddRow({"version", Printable(info.version())});
  table.AddRow({"numerics version", absl::StrCat(info.numerics_version())});
  table.AddRow({"backend", Printable(info.backend())});
  for (const v1::Device& device : info.devices()) {
    table.AddRow({"device", Printable(absl::StrCat(device.name(), ": ", device.model(), ", ",
                                                   BytesText(device.memory_bytes())))});
  }
  table.AddRow({"ops", OpNames(info)});
  table.AddRow({"dtypes", DTypeNames(info)});
  for (const auto& [name, value] : LimitsOf(info)) {
    const bool bytes = absl::EndsWith(name, "bytes") || absl::StrContains(name, "_bytes_");
    table.AddRow(
        {name, bytes ? absl::StrCat(value, " (", BytesText(value), ")") : absl::StrCat(value)});
  }
  for (const std::string& warning : info.security_warnings()) {
    table.AddRow({"warning", Printable(warning)});
  }
  return table.Text(StdoutColumns());
}

}  // namespace

void SetStatistics(const StatisticsFlags& flags, DType dtype, ReduceOptions& options) {
  if (flags.omit_nan && IsFloat(dtype)) options.nan_policy = v1::NAN_POLICY_OMIT;
  options.correction = flags.ddof;
}

bool ServerHas(const v1::GetServerInfoResponse& info, DType dtype) {
  return std::find(info.dtypes().begin(), info.dtypes().end(), dtype) != info.dtypes().end();
}

bool ServerHas(const v1::GetServerInfoResponse& info, Op op) {
  return std::find(info.ops().begin(), info.ops().end(), op) != info.ops().end();
}

std::string DTypeNames(const v1::GetServerInfoResponse& info) {
  return absl::StrJoin(info.dtypes(), ", ", [](std::string* out, int dtype) {
    absl::StrAppend(out, Name(static_cast<DType>(dtype)));
  });
}

bool IsInputFault(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
      return true;
    case absl::StatusCode::kResourceExhausted:
      return !RetryDelayOf(status).has_value();
    default:  // gRPC may add codes; what is not known to be the input's is not blamed on it
      return false;
  }
}

absl::Status Prefixed(const std::string& what, const absl::Status& status) {
  absl::Status prefixed(status.code(), absl::StrCat(what, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view key, const absl::Cord& value) { prefixed.SetPayload(key, value); });
  return prefixed;
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return IsInputFault(status) ? Prefixed(path, status) : status;
}

absl::Status RunInfo(const ServerFlags& server) {
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(server);
  if (!client.ok()) return client.status();
  const v1::GetServerInfoResponse& info = (*client)->server_info();
  absl::Status right = CheckNumerics(info.numerics_version(), server.numerics_version,
                                     absl::StrCat(server.server, " has"));
  if (!right.ok()) return right;
  if (server.json) {
    std::cout << JsonText(InfoJson(server.server, info)) << "\n";
  } else {
    std::cout << InfoText(server.server, info);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
