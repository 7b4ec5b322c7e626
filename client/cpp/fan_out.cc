#include "client/cpp/fan_out.h"

#include <atomic>
#include <thread>

namespace warpfold::client {

absl::Status FanOut(int workers, std::size_t pieces, const std::stop_token& stop,
                    const PieceOfWork& work) {
  std::stop_source stop_all;
  const std::stop_callback on_stop(stop, [&] { stop_all.request_stop(); });
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::mutex mutex;
  absl::Status failure;
  const auto run = [&](int worker) {
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      if (stop_all.stop_requested()) return;
      const absl::Status status = work(worker, piece, stop_all.get_token());
      if (status.ok()) {
        ++done;
        continue;
      }
      const std::lock_guard lock(mutex);
      failure.Update(status);  // keeps the first: the others were stopped because of it
      stop_all.request_stop();
      return;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int worker = 1; worker < workers && static_cast<std::size_t>(worker) < pieces; ++worker) {
      threads.emplace_back(run, worker);
    }
    run(0);
  }
  if (failure.ok() && done < pieces) return absl::CancelledError("stopped");
  return failure;
}

ProgressCallback SharedProgress::Of(std::size_t piece) {
  if (!callback_) return {};
  return [this, piece](std::int64_t sent_bytes) {
    const std::lock_guard lock(mutex_);
    total_bytes_ += sent_bytes - sent_bytes_[piece];
    sent_bytes_[piece] = sent_bytes;
    callback_(total_bytes_);
  };
}

}  // namespace warpfold::client
