#include "server/frontend/grpc/grpc_experiments.h"

#include <cstdlib>

#include "server/frontend/wire/grpc_compat.h"

namespace warpfold {

void ChooseGrpcExperiments() {
  // Of names that it does not know, 1.51 logs an error.
  if constexpr (kGrpcIsNewerThan151) {
    // Not gRPC's event engine: it hands each event from thread to thread.
    setenv("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener", /*overwrite=*/0);
  }
}

}  // namespace warpfold
