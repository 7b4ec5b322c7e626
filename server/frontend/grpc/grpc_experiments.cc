#include "server/frontend/grpc/grpc_experiments.h"

#include <cstdlib>

#include "server/frontend/wire/grpc_compat.h"

namespace warpfold {

void ChooseGrpcExperiments() {
  // Of names that it does not know, 1.51 logs an error.
  if constexpr (kGrpcIsNewerThan151) {
    // Without gRPC's event engine a call of 4 KiB takes the server a tenth less of a processor, and
    // is answered after 216 us, not 221; after 260 where the client, too, has it (1.83, 2 busy
    // processors, 2026-11-29; with 1.51 138).
    setenv("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener", /*overwrite=*/0);
  }
}

}  // namespace warpfold
