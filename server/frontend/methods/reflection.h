// What grpc.reflection.v1alpha tells of the protos that are linked into the server: as gRPC's own
// plugin does.
//
// Step of a request: 1, wire to domain. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_H_

#include <string>

#include "absl/types/span.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace warpfold {

// `services`: their full names, as ListServices tells them. An answer that there is none, such as
// NOT_FOUND, is an answer, too.
grpc::reflection::v1alpha::ServerReflectionResponse Reflect(
    grpc::reflection::v1alpha::ServerReflectionRequest request,
    absl::Span<const std::string> services);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_H_
