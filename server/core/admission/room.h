// A limit that all clients' calls share.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_ROOM_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_ROOM_H_

#include <cstdint>

namespace warpfold {

// So many a connection may have where others have reached the limit.
inline constexpr std::int64_t kFewCalls = 8;

// The limit on all calls for the next one of a connection that has `own`: beyond it there is a
// quarter more for those that have few. To stop the others takes as many connections as fill that.
constexpr std::int64_t LimitFor(std::int64_t own, std::int64_t limit) {
  return own < kFewCalls ? limit + limit / 4 : limit;
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_ROOM_H_
