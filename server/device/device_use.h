// What a device has done since the start: bytes brought to it, bytes reduced, the time that each
// took, and the waits for a staging staging_buffer.
//
// Step of a request: 3, counted by the workers, for step 4 to report. Safe from any thread; counts
// that are read while a worker adds may lack its last addition.
#ifndef WARPFOLD_SERVER_DEVICE_DEVICE_USE_H_
#define WARPFOLD_SERVER_DEVICE_DEVICE_USE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace warpfold {

class DeviceUse {
 public:
  struct Counts {
    std::int64_t copied_bytes = 0;  // from the host to the device; 0 on devices that need no copy
    std::chrono::nanoseconds copy_time{0};  // the device's own, summed over workers that overlap
    std::int64_t reduced_bytes = 0;         // of tensors and parts, wherever they lay
    std::chrono::nanoseconds kernel_time{0};
    // For staging buffers that a worker wanted to fill and the device still held.
    std::chrono::nanoseconds staging_buffer_wait_time{0};
  };

  void AddCopy(std::size_t bytes, std::chrono::nanoseconds time) {
    Add(copied_bytes_, static_cast<std::int64_t>(bytes));
    Add(copy_ns_, time.count());
  }
  // `bytes` is 0 for kernels that read states only.
  void AddKernels(std::size_t bytes, std::chrono::nanoseconds time) {
    Add(reduced_bytes_, static_cast<std::int64_t>(bytes));
    Add(kernel_ns_, time.count());
  }
  void AddStagingBufferWait(std::chrono::nanoseconds time) {
    Add(staging_buffer_wait_ns_, time.count());
  }

  Counts counts() const {
    using std::chrono::nanoseconds;
    return {.copied_bytes = Get(copied_bytes_),
            .copy_time = nanoseconds(Get(copy_ns_)),
            .reduced_bytes = Get(reduced_bytes_),
            .kernel_time = nanoseconds(Get(kernel_ns_)),
            .staging_buffer_wait_time = nanoseconds(Get(staging_buffer_wait_ns_))};
  }

 private:
  using Count = std::atomic<std::int64_t>;
  static void Add(Count& count, std::int64_t more) {
    count.fetch_add(more, std::memory_order_relaxed);
  }
  static std::int64_t Get(const Count& count) { return count.load(std::memory_order_relaxed); }

  Count copied_bytes_{0};
  Count copy_ns_{0};
  Count reduced_bytes_{0};
  Count kernel_ns_{0};
  Count staging_buffer_wait_ns_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_DEVICE_USE_H_
