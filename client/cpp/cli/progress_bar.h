// A line on stderr that says how far a transfer is: bytes, rate, time to go. Silent when stderr is
// not a terminal.
//
// Thread safety: Advance may be called from any thread.
#ifndef WARPFOLD_CLIENT_CPP_CLI_PROGRESS_BAR_H_
#define WARPFOLD_CLIENT_CPP_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace warpfold::client {

// "1.5 MiB": three significant digits at most.
std::string BytesText(std::int64_t bytes);

// "[=====>    ]  55%": `part` of 1.
std::string BarText(double part);

// "[=====>    ]  55%  48.1 MiB of 86.7 MiB  2.10 GB/s  0:12 left". Rates are decimal, sizes binary,
// as everywhere here.
std::string ProgressLine(std::int64_t done_bytes, std::int64_t total_bytes,
                         std::chrono::duration<double> elapsed);

// Back to the line's start, and wipes it.
inline constexpr char kWipeLine[] = "\r\x1b[K";

// As many parts of `line`, which two spaces tell apart, as a terminal of so many columns shows
// without a second line, which nothing would wipe; without room for the bar its percentage alone.
std::string Fitted(const std::string& line, int columns);

// Of the terminal that stderr is; 80 when it does not say.
int StderrColumns();

class ProgressBar {
 public:
  // `shown` false makes every method a no-op.
  ProgressBar(std::int64_t total_bytes, bool shown);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `bytes` more are done; negative when a call starts over. Paints at most every 100 ms.
  void Advance(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::int64_t total_bytes_;
  const bool shown_;
  const std::chrono::steady_clock::time_point start_;
  absl::Mutex mutex_;
  std::int64_t done_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point painted_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_PROGRESS_BAR_H_
