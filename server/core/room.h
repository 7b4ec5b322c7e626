// A limit that all clients' calls share.
#ifndef WARPFOLD_SERVER_CORE_ROOM_H_
#define WARPFOLD_SERVER_CORE_ROOM_H_

#include <cstdint>

namespace warpfold {

// So many a connection has of the last quarter, whoever takes the rest.
inline constexpr std::int64_t kFewCalls = 8;

// Whether a connection that has `own` may have one more, where all have `all` of `limit`: to stop
// the others takes as many connections as have the last quarter by kFewCalls.
constexpr bool HasRoom(std::int64_t all, std::int64_t own, std::int64_t limit) {
  return all < (own < kFewCalls ? limit : limit - limit / 4);
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ROOM_H_
