// What the server says and counts when it has waited too long for a client.
//
// Step of a request: 1 and the way back. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_WAIT_LIMITS_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_WAIT_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/frontend/requests/services.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

// Counts a message that was not whole in time. DEADLINE_EXCEEDED `message`, AsClientTimeout.
absl::Status MessageOverdue(Services& services);

// Counts a call that waited for its client while too many did. RESOURCE_EXHAUSTED with RetryLater.
absl::Status GaveWay(Services& services);

// Each counts what it says. DEADLINE_EXCEEDED `header`, `chunk`, AsClientTimeout.
absl::Status HeaderOverdue(Services& services);
absl::Status ChunkOverdue(Services& services);
absl::Status ChunksTooSlow(Services& services);

// Each counts, and writes to the log, that the client `peer`, of `method`, did not read its
// answer of `bytes` in time: in `limit`, a WriteTimeout, or in the time that it has while others
// are refused.
void CountWriteOverdue(Services& services, Method method, const Peer& peer,
                       std::chrono::milliseconds limit, std::size_t bytes);
void CountWritePressed(Services& services, Method method, const Peer& peer, std::size_t bytes);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_WAIT_LIMITS_H_
