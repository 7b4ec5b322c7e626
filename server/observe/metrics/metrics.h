// Counters and histograms of the serving path, by method, op, dtype, code and stage.
// docs/metrics.md lists every series.
//
// Step of a request: 4, report. Series are reached through a table of child pointers: counting a
// request costs a few atomic adds and one short lock per histogram, no look-up, no allocation.
// Labels come from closed sets only, whatever clients send. Every series exists from the start with
// value 0, but for the failures by op and dtype: those are 13,260, of which a server sees a few,
// and each scrape would carry them all (measured with 5,850: 619 KB instead of 100). For the same
// reason the methods of the inference service have their series from their first call on. Safe
// from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/call_once.h"
#include "absl/status/status.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/plan.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

enum class Stage { kReceive, kQueue, kHostToDevice, kKernel, kDeviceToHost, kReply };
inline constexpr std::size_t kStageCount = 6;
// "host_to_device".
const char* Name(Stage stage);

// What a client did not do in time.
enum class Timeout { kMessage, kWrite, kStreamIdle, kRate, kWritePressed, kCallPressed };
inline constexpr std::size_t kTimeoutCount = 6;

// One tensor's way through the server. `plan` is null when the request was refused before it could
// be understood.
struct RequestRecord {
  Method method = Method::kReduce;
  const Plan* plan = nullptr;
  absl::StatusCode code = absl::StatusCode::kOk;
  bool client_timed_out = false;  // counted as this, not as the code
  std::chrono::nanoseconds total{0};
  std::array<std::chrono::nanoseconds, kStageCount> stages{};  // counted only when the code is OK
};

struct BuildInfo {
  std::string version;
  std::string backend;  // "cuda" or "cpu"
  std::string compiler;
};

class Metrics {
 public:
  explicit Metrics(const BuildInfo& build);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A tensor was answered; an item of a stream of requests counts as one.
  void CountRequest(const RequestRecord& record);

  // An RPC ended. A stream of requests counts as one.
  void CountCallHandled(Method method, absl::StatusCode code, std::chrono::nanoseconds duration);

  // A device took `requests` small tensors together.
  void CountBatch(int requests);

  // A call, or a request, was ended because its client was too slow.
  void CountTimeout(Timeout timeout);

  // SIGHUP came, and the new configuration was taken or refused.
  void CountReload(bool taken);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  static constexpr std::size_t kCodeCount = 17;
  // A request's ends: the codes, and a client that was too slow.
  static constexpr std::size_t kClientTimeout = kCodeCount;
  static constexpr std::size_t kEndCount = kCodeCount + 1;
  // Each op alone, or several in one request.
  static constexpr std::size_t kOpLabelCount = kOpCount + 1;

  void AddRequestFamilies();
  void AddStageSeries();
  void AddPayloadSeries();
  void AddCallFamilies();
  // The series of `method`, once.
  void HaveSeriesOf(Method method);
  void AddRequestSeries(Method method);
  void AddCallSeries(Method method);
  void AddInfoSeries(const BuildInfo& build);
  void AddReloadSeries();
  void AddBatchSeries();
  void AddTimeoutSeries();
  static const char* EndName(std::size_t end);
  prometheus::Counter& LazyRequestCounter(Method method, std::size_t op, std::size_t dtype,
                                          std::size_t end);
  prometheus::Counter& RequestCounter(const RequestRecord& record);

  const std::shared_ptr<prometheus::Registry> registry_;
  using ByCode = std::array<prometheus::Counter*, kCodeCount>;
  using ByEnd = std::array<prometheus::Counter*, kEndCount>;
  using LazyByEnd = std::array<std::atomic<prometheus::Counter*>, kEndCount>;
  struct MethodSeries {
    // Null where no request has ended so yet.
    std::array<std::array<LazyByEnd, kDTypeCount>, kOpLabelCount> requests{};
    ByEnd refused_undecoded{};
    prometheus::Histogram* duration = nullptr;
  };
  struct CallSeries {
    ByCode handled{};
    prometheus::Histogram* duration = nullptr;
  };
  prometheus::Family<prometheus::Counter>* requests_ = nullptr;
  prometheus::Family<prometheus::Histogram>* request_durations_ = nullptr;
  prometheus::Family<prometheus::Counter>* calls_handled_ = nullptr;
  prometheus::Family<prometheus::Histogram>* call_durations_ = nullptr;
  std::array<absl::once_flag, kMethodCount> have_series_;
  std::array<MethodSeries, kTensorMethodCount> methods_;
  std::array<CallSeries, kMethodCount> calls_;
  std::array<prometheus::Histogram*, kStageCount> stages_{};
  std::array<std::array<prometheus::Counter*, kFusionCount>, kDTypeCount> payload_bytes_{};
  std::array<prometheus::Counter*, 2> reloads_{};  // refused, taken
  prometheus::Histogram* batch_requests_ = nullptr;
  std::array<prometheus::Counter*, kTimeoutCount> timeouts_{};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_H_
