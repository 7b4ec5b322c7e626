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
    // Once the quota of received bytes was full, gRPC turns away new connections and calls, for 4 s
    // after it is empty again: who fills it would keep all others out. Above 1, never; who waits
    // longest is ended all the same, by gRPC and by this server.
    for (const char* name : {"GRPC_EXPERIMENTAL_MEMORY_PRESSURE_THRESHOLD",
                             "GRPC_EXPERIMENTAL_TARGET_MEMORY_PRESSURE"}) {
      setenv(name, "2", /*overwrite=*/0);
    }
  }
}

}  // namespace warpfold
