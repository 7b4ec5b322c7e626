#include "server/frontend/kserve/model_counts.h"

namespace warpfold::kserve {
namespace {

void Add(std::atomic<std::uint64_t>& to, std::int64_t amount) {
  to.fetch_add(static_cast<std::uint64_t>(amount), std::memory_order_relaxed);
}

std::uint64_t NowMs() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

void Set(inference::StatisticDuration* out, std::uint64_t count, std::uint64_t ns) {
  out->set_count(count);
  out->set_ns(ns);
}

}  // namespace

void ModelCounts::CountSuccess(const Model& model, const AnswerTimes& times) {
  Counts& counts = models_[model.index];
  Add(counts.success, 1);
  Add(counts.success_ns, times.total.count());
  Add(counts.queue_ns, times.queue.count());
  Add(counts.input_ns, (times.receive + times.host_to_device).count());
  Add(counts.infer_ns, times.kernel.count());
  Add(counts.output_ns, times.device_to_host.count());
  counts.last_ms.store(NowMs(), std::memory_order_relaxed);
}

void ModelCounts::CountFailure(const Model& model, std::chrono::nanoseconds took) {
  Counts& counts = models_[model.index];
  Add(counts.fail, 1);
  Add(counts.fail_ns, took.count());
}

void ModelCounts::Fill(const Model& model, inference::ModelStatistics* statistics) const {
  const Counts& counts = models_[model.index];
  const std::uint64_t success = counts.success;
  statistics->set_name(model.name);
  statistics->set_version(kModelVersion);
  statistics->set_last_inference(counts.last_ms);
  statistics->set_inference_count(success);
  statistics->set_execution_count(success);
  inference::InferStatistics* stages = statistics->mutable_inference_stats();
  Set(stages->mutable_success(), success, counts.success_ns);
  Set(stages->mutable_fail(), counts.fail, counts.fail_ns);
  Set(stages->mutable_queue(), success, counts.queue_ns);
  Set(stages->mutable_compute_input(), success, counts.input_ns);
  Set(stages->mutable_compute_infer(), success, counts.infer_ns);
  Set(stages->mutable_compute_output(), success, counts.output_ns);
  Set(stages->mutable_cache_hit(), 0, 0);
  Set(stages->mutable_cache_miss(), 0, 0);
}

}  // namespace warpfold::kserve
