#include "server/frontend/calls/authentication.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpc/grpc_security_constants.h"

namespace warpfold {
namespace {

// What a method asks of its caller.
struct Asks {
  bool for_a_caller = true;
  std::optional<Scope> scope = std::nullopt;
};

Asks AsksOf(Method method) {
  switch (method) {
    case Method::kReduce:
    case Method::kReduceStream:
    case Method::kReduceMany:
    case Method::kModelInfer:
    case Method::kModelStreamInfer:
    case Method::kMerge:
      return {.scope = Scope::kReduce};
    case Method::kCreateTensor:
    case Method::kWriteTensor:
    case Method::kDeleteTensor:
    case Method::kListTensors:
      return {.scope = Scope::kResident};
    case Method::kRegisterSharedMemory:
    case Method::kRegisterCudaMemory:
    case Method::kUnregisterMemory:
    case Method::kListMemory:
    case Method::kSystemSharedMemoryStatus:
    case Method::kSystemSharedMemoryRegister:
    case Method::kSystemSharedMemoryUnregister:
    case Method::kCudaSharedMemoryStatus:
    case Method::kCudaSharedMemoryRegister:
    case Method::kCudaSharedMemoryUnregister:
      return {.scope = Scope::kMemory};
    // What load balancers and orchestrators ask, who have no token to give.
    case Method::kServerLive:
    case Method::kServerReady:
    case Method::kHealthCheck:
    case Method::kHealthWatch:
      return {.for_a_caller = false};
    case Method::kGetServerInfo:
    case Method::kModelReady:
    case Method::kServerMetadata:
    case Method::kModelMetadata:
    case Method::kModelConfig:
    case Method::kModelStatistics:
    case Method::kRepositoryIndex:
    case Method::kServerReflectionInfo:
      return {};
  }
  __builtin_unreachable();
}

// Names of other kinds before the common one, which is the oldest and means the least.
const Caller* OfCertificate(const CallerTable& callers,
                            const grpc::CallbackServerContext& context) {
  // gRPC makes the connection's properties anew for each call that asks.
  if (!callers.has_certificates()) return nullptr;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection == nullptr || !connection->IsPeerAuthenticated()) return nullptr;
  for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : connection->FindPropertyValues(property)) {
      const Caller* caller = callers.OfCertificate(std::string(name.data(), name.size()));
      if (caller != nullptr) return caller;
    }
  }
  return nullptr;
}

absl::Status Unauthenticated(absl::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("authorization: ", why));
}

// What is behind 'Bearer '; none: there is no such header.
absl::StatusOr<std::optional<absl::string_view>> TokenOf(
    const grpc::CallbackServerContext& context) {
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  if (first == last) return std::nullopt;
  if (std::next(first) != last) return Unauthenticated("is there more than once");
  const absl::string_view value(first->second.data(), first->second.size());
  const std::optional<absl::string_view> token = BearerToken(value);
  if (!token.has_value()) return Unauthenticated("is no bearer token: 'Bearer TOKEN'");
  return token;
}

absl::StatusOr<const Caller*> Identify(const CallerTable& callers, const std::string& listener,
                                       const grpc::CallbackServerContext& context) {
  if (const Caller* caller = OfCertificate(callers, context); caller != nullptr) return caller;
  const absl::StatusOr<std::optional<absl::string_view>> token = TokenOf(context);
  if (!token.ok()) return token.status();
  if (token->has_value()) {
    if (const Caller* caller = callers.OfToken(**token); caller != nullptr) return caller;
    return Unauthenticated("the token is unknown");
  }
  if (const Caller* caller = callers.OfListener(listener); caller != nullptr) return caller;
  if (callers.anonymous() != nullptr) return callers.anonymous();
  return Unauthenticated("is missing: this server asks its callers for a token");
}

// Whether the caller's scopes hold the method's.
absl::Status CheckScope(const Caller& caller, Method method, const std::optional<Scope>& scope) {
  if (!scope.has_value() || caller.scopes.Has(*scope)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "caller '", caller.name, "' may not ", Name(method), ": it lacks the scope ", Name(*scope)));
}

}  // namespace

Authenticated Authenticate(const CallerTable& callers, Connections& connections,
                           const std::string& listener, Method method,
                           const grpc::CallbackServerContext& context) {
  const Asks asks = AsksOf(method);
  if (!asks.for_a_caller) return {&Everyone(), absl::OkStatus()};
  const absl::StatusOr<const Caller*> caller = Identify(callers, listener, context);
  if (!caller.ok()) return {&Nobody(), caller.status()};
  Authenticated found{*caller, CheckScope(**caller, method, asks.scope)};
  if (found.caller == callers.anonymous()) {
    found.at_address = connections.AtAddressOf(context.peer());
    found.caller = &found.at_address->As(*found.caller);
  }
  return found;
}

}  // namespace warpfold
