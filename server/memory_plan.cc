#include "server/memory_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/frontend/grpc/grpc_server.h"

namespace warpfold {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
// Code, threads, gRPC, the log's queue and the driver; an idle server on the CPU took 37 MB
// (2026-11-25).
constexpr std::int64_t kProcessBytes = 256 * kMiB;

std::string MiB(std::int64_t bytes) {
  return absl::StrCat(bytes / kMiB + (bytes % kMiB != 0 ? 1 : 0), " MiB");
}

std::int64_t ShareOf(const MemoryLimit& limit) {
  return static_cast<std::int64_t>(kMemoryShare * static_cast<double>(limit.bytes));
}

}  // namespace

MemoryPlan::MemoryPlan(const Config& config, Backend backend, int devices) {
  const bool is_cpu = backend == Backend::kCpu;
  const std::int64_t workers = std::int64_t{devices} * config.workers(backend);
  const std::int64_t staging_buffers = is_cpu ? 1 : config.staging_buffers_per_worker;
  terms_.push_back({kProcessBytes, "process"});
  terms_.push_back(
      {workers * staging_buffers * config.staging_buffer_bytes,
       absl::StrCat("staging (", workers, " workers x ", staging_buffers,
                    " x --staging-buffer-bytes ", MiB(config.staging_buffer_bytes), ")")});
  if (!is_cpu && config.max_batch_requests > 0) {
    terms_.push_back(
        {std::int64_t{devices} * config.batch_workers * config.max_batch_bytes,
         absl::StrCat("batches (", devices, " x --batch-workers ", config.batch_workers,
                      " x --max-batch-bytes ", MiB(config.max_batch_bytes), ")")});
  }
  const auto received_bytes = static_cast<std::int64_t>(ReceivedBytesMax(config.limits()));
  const std::int64_t beside_bytes = received_bytes - 2 * config.max_bytes_in_flight;
  terms_.push_back({received_bytes,
                    absl::StrCat("received (2 x --max-bytes-in-flight ",
                                 MiB(config.max_bytes_in_flight), " + ", MiB(beside_bytes), ")")});
  // A GPU's scratch memory is its own; the results come to the host.
  const std::int64_t scratch_bytes = is_cpu ? config.scratch_bytes : config.max_result_bytes;
  reduction_bytes_ = scratch_bytes + config.max_result_bytes;
  terms_.push_back({reduction_bytes_,
                    is_cpu
                        ? absl::StrCat("one reduction (--scratch-bytes ", MiB(config.scratch_bytes),
                                       " + --max-result-bytes ", MiB(config.max_result_bytes), ")")
                        : absl::StrCat("one reduction (2 x --max-result-bytes ",
                                       MiB(config.max_result_bytes), ")")});
}

std::int64_t MemoryPlan::bytes() const {
  std::int64_t sum = 0;
  for (const Term& term : terms_) sum += term.bytes;
  return sum;
}

std::string MemoryPlan::Sum() const {
  return absl::StrCat(absl::StrJoin(terms_, " + ",
                                    [](std::string* out, const Term& term) {
                                      absl::StrAppend(out, MiB(term.bytes), " ", term.of);
                                    }),
                      " = ", MiB(bytes()));
}

absl::Status MemoryPlan::Fits(const MemoryLimit& limit) const {
  if (bytes() <= ShareOf(limit)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory: ", Sum(), ", which is above ", ShareText(limit), ", ", MiB(ShareOf(limit)),
      "; lower --max-bytes-in-flight, which counts twice, or other options of the "
      "sum, or raise the limit"));
}

std::int64_t MemoryPlan::LeftForRequests(const MemoryLimit& limit) const {
  return std::max<std::int64_t>(0, ShareOf(limit) - bytes() + reduction_bytes_);
}

std::string ShareText(const MemoryLimit& limit) {
  return absl::StrCat(kMemoryShare, " of ", MiB(limit.bytes), " (", limit.source, ")");
}

}  // namespace warpfold
