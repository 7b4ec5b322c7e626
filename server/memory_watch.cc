#include "server/memory_watch.h"

#include <malloc.h>

#include <utility>

#include "absl/time/time.h"

// tcmalloc's, which the server's binary has and a test's or a sanitizer's has not.
extern "C" void MallocExtension_ReleaseFreeMemory() __attribute__((weak));

namespace warpfold {
namespace {

// The part of the limit at which a level begins, and the one at which it is left.
struct Level {
  Pressure pressure;
  double begins;
  double ends;
};
constexpr Level kLevels[] = {{Pressure::kCritical, 0.92, 0.87}, {Pressure::kHigh, 0.85, 0.80}};

}  // namespace

Pressure NextPressure(Pressure now, std::int64_t used_bytes, std::int64_t limit_bytes) {
  const double part = static_cast<double>(used_bytes) / static_cast<double>(limit_bytes);
  for (const Level& level : kLevels) {
    if (part >= level.begins || (now >= level.pressure && part > level.ends)) return level.pressure;
  }
  return Pressure::kNone;
}

MemoryWatch::MemoryWatch(Parts parts, std::chrono::milliseconds interval)
    : parts_(std::move(parts)), thread_([this, interval] {
        do {
          Look();
        } while (!stopped_.WaitForNotificationWithTimeout(absl::FromChrono(interval)));
      }) {}

void MemoryWatch::Look() {
  const std::int64_t used = parts_.read_used();
  used_bytes_ = used;
  const Pressure before = pressure_;
  const Pressure now = NextPressure(before, used, parts_.limit_bytes);
  if (now != before) {
    pressure_ = now;
    parts_.on_change(now, used);
  }
  if (now != Pressure::kNone) parts_.give_back();
}

void GiveBackFreeMemory() {
  if (MallocExtension_ReleaseFreeMemory != nullptr) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    malloc_trim(0);
  }
}

}  // namespace warpfold
