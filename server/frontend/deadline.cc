#include "server/frontend/deadline.h"

#include "grpc/support/time.h"

namespace warpfold {

std::chrono::system_clock::time_point DeadlineOf(const grpc::ServerContextBase& context) {
  using std::chrono::system_clock;
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
  const auto seconds_max = std::chrono::duration_cast<std::chrono::seconds>(
      system_clock::time_point::max().time_since_epoch());
  if (deadline.tv_sec >= seconds_max.count()) return system_clock::time_point::max();
  return context.deadline();
}

}  // namespace warpfold
