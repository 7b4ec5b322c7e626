// The seam between the scheduler and a device: what a device offers, CUDA or not.
//
// Step of a request: 3, own the device. The scheduler gives a request one Worker for as long as it
// runs; the front end's payload is written once, straight into the worker's memory, while the
// device copies and folds what is already there.
//
// Errors are absl's; DeviceLostError (device_error.h) says that no call will succeed any more.
//
// An Executor is safe from any thread. A Worker belongs to one thread at a time. Nothing here calls
// back.
#ifndef WARPFOLD_SERVER_DEVICE_EXECUTOR_H_
#define WARPFOLD_SERVER_DEVICE_EXECUTOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/field_error.h"
#include "kernels/plan.h"
#include "server/device/device_use.h"
#include "server/device/host_bytes.h"

namespace warpfold {

// Where a device's time went on one request. A stage that the device does not have is zero: a
// batch has one, the kernel, which fetches what it reads and leaves its results where they are
// awaited.
struct DeviceTimes {
  std::chrono::nanoseconds host_to_device{0};
  std::chrono::nanoseconds kernel{0};
  std::chrono::nanoseconds device_to_host{0};

  DeviceTimes& operator+=(const DeviceTimes& other) {
    host_to_device += other.host_to_device;
    kernel += other.kernel;
    device_to_host += other.device_to_host;
    return *this;
  }
};

struct Outcome {
  // One per op of the plan, in its order: the bytes of that op's result. Of a plan that leaves
  // states (a part) one per kind of its values (part_values.h).
  std::vector<std::string> results;
  DeviceTimes times;
  HostCharge charge = {};  // for the results, while they are here
};

// Memory that workers use and that outlives requests: of one device, where a resident tensor lies,
// or a client's, mapped. Any thread may destroy it once no worker uses it, before its executor
// goes.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  // Where it begins, for the workers of its device; aligned for every element type.
  virtual std::byte* data() const = 0;
};

// Another process's memory on a device.
class PeerMemory : public TensorMemory {
 public:
  // Puts `bytes` at `offset_bytes`, which lie within it; waits until they are there.
  // DeviceLostError.
  virtual absl::Status Write(std::int64_t offset_bytes, absl::string_view bytes) = 0;
};

// What a device that keeps no tensors answers.
inline absl::Status KeepsNoTensors() {
  return absl::UnimplementedError("the device keeps no resident tensors");
}

// What was begun on a worker, without the worker (Worker::Suspend). Destroying it drops the
// reduction or the write, and may wait for the device.
class Suspended {
 public:
  virtual ~Suspended() = default;
};

// One request at a time on an exclusive slice of the device: a CUDA stream, pinned staging buffers
// and device staging buffers; on a CPU, the staging buffers alone. Use: Begin, then {Buffer,
// write, Commit} until all plan.input_bytes are in, then Finish. Abandon ends the reduction early
// from any state. After Finish or Abandon the worker is idle and Begin may come again.
class Worker {
 public:
  virtual ~Worker() = default;

  // Takes what `plan` needs beside the staging_buffers. `plan` must live until Finish or Abandon.
  // RESOURCE_EXHAUSTED: the reduction needs more scratch memory than the device has set aside.
  virtual absl::Status Begin(const Plan& plan) = 0;

  // Where the next payload bytes go; never empty while some are missing. May wait for the device to
  // let go of a staging buffer, never for the client. DeviceLostError.
  virtual absl::StatusOr<absl::Span<std::byte>> Buffer() = 0;

  // `byte_count` bytes, at most Buffer().size(), were written to the front of the last Buffer().
  // Work on them may start.
  virtual absl::Status Commit(std::size_t byte_count) = 0;

  // Instead of writing to the last Buffer(): as many bytes as it holds lie at `data`, in memory
  // that the executor mapped (MapShared), and stay there until Finish or Abandon.
  virtual absl::Status CommitInPlace(const std::byte* /*data*/) {
    return absl::InternalError("the device maps no shared memory");
  }

  // REQUIRES: all plan.input_bytes were committed. Waits for the device and returns the results.
  // OUT_OF_RANGE: an integer sum does not fit. DeviceLostError.
  virtual absl::StatusOr<Outcome> Finish() = 0;

  // Drops the reduction, or the write, and everything it holds; waits for the device to stop
  // touching the staging buffers and what is written.
  virtual void Abandon() = 0;

  // Takes the reduction, or the write, off the worker, which is idle then. Waits for the device,
  // which goes on with nothing of it until Resume. REQUIRES: some bytes are missing, and nothing
  // was written to the last Buffer(). On an error the reduction is abandoned. RESOURCE_EXHAUSTED:
  // the device has no room for what it has to keep. DeviceLostError.
  virtual absl::StatusOr<std::unique_ptr<Suspended>> Suspend() {
    return absl::InternalError("the device suspends nothing");
  }

  // Goes on, on this idle worker, with what any worker of the same device has suspended. On an
  // error it is abandoned. DeviceLostError.
  virtual absl::Status Resume(std::unique_ptr<Suspended> /*suspended*/) {
    return absl::InternalError("the device suspends nothing");
  }

  // For tensors that lie on the device (Executor::AllocateTensor), each on an idle worker.

  // Reduces the tensor at `data` where it lies and leaves the worker idle, whatever happened. Waits
  // for the device. Errors as Begin's and Finish's.
  virtual absl::StatusOr<Outcome> Reduce(const Plan& /*plan*/, const std::byte* /*data*/) {
    return KeepsNoTensors();
  }

  // Of a tensor in shards on several devices like this one, a part of the first dimension on
  // each: whether Reduce leaves, by slices of `plan` with leaves_partials, what JoinPartials takes.
  // Faster than exact states, but it may not tell a result.
  virtual bool JoinsPartials(const Plan& /*plan*/) const { return false; }

  // The results from what Reduce left of each shard, in any order; none: some of them are
  // undecided, and the exact states have to be joined. Leaves the worker idle. Errors as Reduce's.
  virtual absl::StatusOr<std::optional<Outcome>> JoinPartials(
      const Plan& /*plan*/, absl::Span<const std::vector<std::string>> /*partials*/) {
    return KeepsNoTensors();
  }

  // Begins to write `size_bytes` > 0 to `to`: {Buffer, write, Commit} as above until all are in,
  // then FinishWrite.
  virtual absl::Status BeginWrite(std::byte* /*to*/, std::size_t /*size_bytes*/) {
    return KeepsNoTensors();
  }

  // Waits until the bytes are where they belong, for every worker to read. DeviceLostError.
  virtual absl::Status FinishWrite() { return KeepsNoTensors(); }
};

// Small tensors that a device takes together.
struct BatchLimits {
  int tensors = 0;        // of one batch; 0: the device takes none together
  std::size_t bytes = 0;  // of one batch
  // Batches of up to so many bytes, table and all, a GPU reads where they were staged; more of them
  // it copies to itself first; docs/notes/small_requests.md says which was faster.
  std::size_t in_place_bytes_max = std::size_t{64} << 10;
};

// Batches, one at a time: many small tensors, which the device reduces for little more than one
// costs. Use: {Add, fill what it gave, or DropLast}, Launch, {Poll} until it says yes, or Wait,
// then Collect. Only Wait waits for the device. Belongs to one thread at a time.
class BatchWorker {
 public:
  virtual ~BatchWorker() = default;

  // Where all bytes of one more tensor go, reduced by `plan`; none when it does not fit beside
  // those that are there. One always fits alone. `plan` must live until Collect. REQUIRES:
  // Executor::Batches(plan).
  virtual std::optional<absl::Span<std::byte>> Add(const Plan& plan) = 0;

  // Takes back the tensor that was added last, and only that.
  virtual void DropLast() = 0;

  // Begins to reduce what was added, at least one tensor. Errors are Collect's.
  virtual void Launch() = 0;

  // Whether the device is done with it. May never say yes of a device that is lost.
  virtual bool Poll() = 0;

  // Waits until the device is done with it, or is lost.
  virtual void Wait() = 0;

  // Leaves the worker empty. One answer for each tensor, in order: Worker::Finish's, its own. The
  // times are the whole batch's. REQUIRES: Poll has said yes, or Wait has returned.
  virtual std::vector<absl::StatusOr<Outcome>> Collect() = 0;
};

struct DeviceInfo {
  std::string name;   // "cuda:0", "cpu"
  std::string model;  // "NVIDIA H200", the processor's name
  std::int64_t memory_bytes = 0;
  int ordinal = 0;  // CUDA's number of a GPU, which its name ends in
};

// One device. Workers are made at start and live as long as the server: nothing on the serving path
// allocates pinned memory, streams or events. Resident tensors alone take memory while it serves.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& info() const = 0;

  // What its workers have done since the start, those that are gone too.
  virtual DeviceUse::Counts use() const { return {}; }

  // Tensors of at most so many bytes take less time than waking another thread: whoever brings one
  // may run it. 0 on devices whose workers wait for anything.
  virtual std::int64_t inline_bytes_max() const { return 0; }

  // "sm_120" where the driver has to compile the kernels for the GPU, which takes minutes, once;
  // empty where they are ready.
  virtual std::string compiles_for() const { return ""; }
  // Loads all kernels of `dtype`, so that no request waits for that; compiles them first where
  // compiles_for says so. Waits. Once for each dtype before the first worker begins.
  virtual absl::Status LoadKernels(DType /*dtype*/) { return absl::OkStatus(); }

  virtual absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() = 0;

  // Devices that batch: how much, which reductions, and the workers for it. A device that does
  // takes less time for one small tensor by a batch worker than waking another thread takes, so
  // whoever brings one may run it.
  virtual BatchLimits batch_limits() const { return {}; }
  virtual bool Batches(const Plan& /*plan*/) const { return false; }
  virtual absl::StatusOr<std::unique_ptr<BatchWorker>> MakeBatchWorker() {
    return absl::UnimplementedError("the device does not batch");
  }

  // Memory for a tensor of `size_bytes` > 0, its contents undefined. RESOURCE_EXHAUSTED: there is
  // not so much now. UNIMPLEMENTED: the device keeps no tensors, and its workers answer so too.
  virtual absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t /*size_bytes*/) {
    return KeepsNoTensors();
  }

  // Maps `size_bytes` > 0 from `offset_bytes` on of the shared memory behind `descriptor`, for the
  // workers of every device to read in place, whoever truncates it later; data() is where they
  // begin. Null: this device, or this memory, cannot be read so; its bytes have to be staged. Waits
  // until the pages are there. RESOURCE_EXHAUSTED, FAILED_PRECONDITION: the system cannot.
  virtual absl::StatusOr<std::unique_ptr<TensorMemory>> MapShared(int /*descriptor*/,
                                                                  std::int64_t /*offset_bytes*/,
                                                                  std::size_t /*size_bytes*/) {
    return nullptr;
  }

  // Opens another process's memory on this device by its `handle`, and checks that `size_bytes` > 0
  // of it are there. INVALID_ARGUMENT `handle`, `size_bytes`. UNIMPLEMENTED: there is none to open.
  virtual absl::StatusOr<std::unique_ptr<PeerMemory>> OpenPeer(absl::string_view /*handle*/,
                                                               std::int64_t /*size_bytes*/) {
    return FieldStatus(Field::kDeviceOrdinal, absl::UnimplementedError("the server has no GPU"));
  }
};

// How much a worker owns; the same for every device.
struct WorkerOptions {
  std::size_t staging_buffer_bytes = std::size_t{4}
                                     << 20;  // one host-to-device copy; a multiple of 64 KiB
  int staging_buffers_per_worker = 4;        // copies in flight and being filled
  // The most that one reduction may hold in partial states and results; a GPU sets as much aside.
  std::size_t scratch_bytes = std::size_t{256} << 20;
  // The most on a GPU, where it is set; 0: a sixteenth of the GPU's memory, of one below 40 GiB up
  // to 2.5 GiB and a sixth, and no less than scratch_bytes.
  std::optional<std::size_t> gpu_scratch_bytes;
  BatchLimits batch{.tensors = 256, .bytes = std::size_t{1} << 20};
  // Tests only. False: passes run one after another, as on GPUs before Hopper.
  bool overlaps_passes = true;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_EXECUTOR_H_
