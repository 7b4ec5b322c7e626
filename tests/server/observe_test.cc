#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "server/observe/gpu/gpu_metrics.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/metrics/metrics_server.h"
#include "server/observe/metrics/occupancy.h"
#include "server/observe/metrics/process_metrics.h"
#include "server/observe/trace/span_collector.h"
#include "server/observe/trace/span_queue.h"
#include "server/system/nvml.h"

namespace warpfold {
namespace {

Plan ExamplePlan(std::vector<Op> ops) {
  return *MakePlan({.dtype = DType::kI32, .shape = {10}, .ops = std::move(ops), .axes = {}});
}

const prometheus::ClientMetric* Find(const std::vector<prometheus::MetricFamily>& families,
                                     const std::string& name,
                                     const std::map<std::string, std::string>& labels) {
  for (const prometheus::MetricFamily& family : families) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::map<std::string, std::string> found;
      for (const auto& label : metric.label) found[label.name] = label.value;
      if (found == labels) return &metric;
    }
  }
  return nullptr;
}

double Counted(const Metrics& metrics, const std::string& op, const std::string& code) {
  const auto families = metrics.registry()->Collect();
  const prometheus::ClientMetric* metric = Find(
      families, "warpfold_requests_total",
      {{"method", "Reduce"}, {"op", op}, {"dtype", op == "none" ? "none" : "i32"}, {"code", code}});
  return metric != nullptr ? metric->counter.value : -1;
}

TEST(MetricsTest, SeriesExistFromTheStartWithValueZero) {
  const Metrics metrics({});
  EXPECT_EQ(Counted(metrics, "sum", "OK"), 0);
  EXPECT_EQ(Counted(metrics, "multiple", "OK"), 0);
  EXPECT_EQ(Counted(metrics, "none", "InvalidArgument"), 0);
}

TEST(MetricsTest, AFailureOfAnOpAndDTypeHasItsSeriesFromTheFirstOn) {
  Metrics metrics({});
  EXPECT_EQ(Counted(metrics, "sum", "OutOfRange"), -1);
  const Plan plan = ExamplePlan({Op::kSum});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        metrics.CountRequest({.plan = &plan, .code = absl::StatusCode::kOutOfRange});
      }
    });
  }
  threads.clear();
  EXPECT_EQ(Counted(metrics, "sum", "OutOfRange"), 400);
}

TEST(MetricsTest, ARequestCountsUnderItsOneOpOrUnderMultiple) {
  Metrics metrics({});
  const Plan one = ExamplePlan({Op::kMean});
  const Plan two = ExamplePlan({Op::kMean, Op::kMax});
  metrics.CountRequest({.method = Method::kReduce, .plan = &one});
  metrics.CountRequest({.method = Method::kReduce, .plan = &two});
  metrics.CountRequest({.plan = &two, .code = absl::StatusCode::kOutOfRange});
  metrics.CountRequest({.plan = nullptr, .code = absl::StatusCode::kInvalidArgument});
  EXPECT_EQ(Counted(metrics, "mean", "OK"), 1);
  EXPECT_EQ(Counted(metrics, "multiple", "OK"), 1);
  EXPECT_EQ(Counted(metrics, "multiple", "OutOfRange"), 1);
  EXPECT_EQ(Counted(metrics, "none", "InvalidArgument"), 1);
  const auto families = metrics.registry()->Collect();
  const auto payload_bytes = [&families](const std::string& op_class) {
    return Find(families, "warpfold_payload_bytes_total",
                {{"dtype", "i32"}, {"op_class", op_class}})
        ->counter.value;
  };
  EXPECT_EQ(payload_bytes("sum"), 40);
  EXPECT_EQ(payload_bytes("range"), 40);
  EXPECT_EQ(payload_bytes("max"), 0);
  int stages = 0;
  for (const prometheus::MetricFamily& family : families) {
    if (family.name != "warpfold_stage_duration_seconds") continue;
    for (const prometheus::ClientMetric& stage : family.metric) {
      EXPECT_EQ(stage.histogram.sample_count, 2U) << stage.label.front().value;
      ++stages;
    }
  }
  EXPECT_EQ(stages, kStageCount);
}

TEST(MetricsTest, AMethodOfTheInferenceServiceHasItsSeriesFromItsFirstCallOn) {
  Metrics metrics({});
  const auto has_series = [&metrics] {
    const auto families = metrics.registry()->Collect();
    return Find(families, "grpc_server_handled_total",
                {{"grpc_service", "inference.GRPCInferenceService"},
                 {"grpc_method", "ModelInfer"},
                 {"grpc_type", "unary"},
                 {"grpc_code", "OK"}}) != nullptr;
  };
  EXPECT_FALSE(has_series());
  metrics.CountCallHandled(Method::kModelInfer, absl::StatusCode::kOk, {});
  EXPECT_TRUE(has_series());
  const Plan plan = ExamplePlan({Op::kMean});
  metrics.CountRequest({.method = Method::kModelInfer, .plan = &plan});
  metrics.CountCallHandled(Method::kServerLive, absl::StatusCode::kOk, {});
  const auto families = metrics.registry()->Collect();
  EXPECT_EQ(Find(families, "warpfold_requests_total",
                 {{"method", "ModelInfer"}, {"op", "mean"}, {"dtype", "i32"}, {"code", "OK"}})
                ->counter.value,
            1);
}

TEST(MetricsTest, ACodeThatNoRequestEndsWithIsCountedAsUnknown) {
  Metrics metrics({});
  metrics.CountRequest({.plan = nullptr, .code = absl::StatusCode::kAborted});
  EXPECT_EQ(Counted(metrics, "none", "Unknown"), 1);
}

TEST(MetricsTest, AClientThatWasTooSlowIsNoDeadlineExceeded) {
  Metrics metrics({});
  EXPECT_EQ(Counted(metrics, "none", "ClientTimeout"), 0);
  const absl::StatusCode code = absl::StatusCode::kDeadlineExceeded;
  metrics.CountRequest({.plan = nullptr, .code = code, .client_timed_out = true});
  metrics.CountRequest({.plan = nullptr, .code = code});
  metrics.CountRequest({.plan = nullptr, .code = code});
  EXPECT_EQ(Counted(metrics, "none", "ClientTimeout"), 1);
  EXPECT_EQ(Counted(metrics, "none", "DeadlineExceeded"), 2);
}

TEST(MetricsServerTest, ATakenPortIsAnErrorThatNamesIt) {
  const Metrics metrics({});
  auto first = MetricsServer::Start({.address = "127.0.0.1:0"}, {metrics.registry()});
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  const absl::Status status = MetricsServer::Start({.address = address}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find(address), std::string::npos);
}

// An end that has to be waited for takes up to 2 s.
TEST(MetricsServerTest, EndsAtOnceWhereverItListens) {
  for (const char* address : {"127.0.0.1:0", "0.0.0.0:0", "127.0.0.2:0"}) {
    std::chrono::steady_clock::duration ends{0};
    for (int i = 0; i < 5; ++i) {
      auto server = MetricsServer::Start({.address = address}, {});
      ASSERT_TRUE(server.ok()) << server.status();
      const auto start = std::chrono::steady_clock::now();
      server->reset();
      ends += std::chrono::steady_clock::now() - start;
    }
    EXPECT_LT(ends, std::chrono::seconds(2)) << address;
  }
}

// A connection to a page.
class PageClient {
 public:
  explicit PageClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~PageClient() { close(socket_); }
  PageClient(const PageClient&) = delete;
  PageClient& operator=(const PageClient&) = delete;

  void Say(const std::string& text) {
    EXPECT_EQ(send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  // All that comes until the server closes.
  std::string Hear() {
    std::string heard;
    char buffer[4096];
    for (ssize_t count = 0; (count = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      heard.append(buffer, static_cast<std::size_t>(count));
    }
    return heard;
  }

  // The first line of the answer.
  std::string Ask(const std::string& request) {
    Say(request);
    const std::string answer = Hear();
    return answer.substr(0, answer.find("\r\n"));
  }

 private:
  const int socket_;
};

std::unique_ptr<MetricsServer> StartPage() {
  const Metrics metrics({});
  auto server = MetricsServer::Start({.address = "127.0.0.1:0"}, {metrics.registry()});
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

constexpr char kAskForPage[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(MetricsServerTest, AnswersNothingButGetAndHeadOfItsPage) {
  const auto server = StartPage();
  const std::pair<std::string, std::string> cases[] = {
      {kAskForPage, "HTTP/1.1 200 OK"},
      {"GET /metrics?name=x HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK"},
      {"HEAD /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"},
      {"GET /metricsx HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"},
      {"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"},
      {"\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"GET /metrics\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {std::string("\0 \0 \xff\r\n\r\n", 9), "HTTP/1.1 400 Bad Request"},
      {std::string(MetricsServer::kRequestBytesMax + 1, 'x'),
       "HTTP/1.1 431 Request Header Fields Too Large"}};
  for (const auto& [request, answer] : cases) {
    EXPECT_EQ(PageClient(server->port()).Ask(request), answer) << request.substr(0, 40);
  }
}

TEST(MetricsServerTest, ARequestMayComeInPieces) {
  const auto server = StartPage();
  PageClient client(server->port());
  for (const char c : std::string(kAskForPage)) client.Say(std::string(1, c));
  EXPECT_NE(client.Hear().find("\nwarpfold_requests_total{"), std::string::npos);
}

TEST(MetricsServerTest, TheOldestOfTooManyConnectionsMakesRoomForTheNext) {
  const auto server = StartPage();
  std::vector<std::unique_ptr<PageClient>> halves;
  for (std::size_t i = 0; i < MetricsServer::kConnectionsMax; ++i) {
    halves.push_back(std::make_unique<PageClient>(server->port()));
    halves.back()->Say("GET /metrics HTTP/1.1\r\nX-Half: ");
  }
  EXPECT_EQ(PageClient(server->port()).Ask(kAskForPage), "HTTP/1.1 200 OK");
  EXPECT_EQ(halves.front()->Hear(), "");  // closed
  EXPECT_EQ(halves.back()->Ask("\r\n\r\n"), "HTTP/1.1 200 OK");
}

const char* TypeName(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "other";
  }
}

Occupancy AnOccupancy() {
  Occupancy occupancy;
  occupancy.devices_usable = {{"cuda:0", true}, {"cuda:1", false}};
  occupancy.devices = {{.device = "cuda:0", .copied_bytes = 8e9, .copy_seconds = 0.25}};
  return occupancy;
}

TEST(OccupancyCollectorTest, GivesEachDevicesBytesAndSeconds) {
  const auto families = OccupancyCollector(AnOccupancy).Collect();
  const auto counted = [&families](const std::string& name) {
    return Find(families, name, {{"device", "cuda:0"}})->counter.value;
  };
  EXPECT_EQ(counted("warpfold_host_to_device_bytes_total"), 8e9);
  EXPECT_EQ(counted("warpfold_host_to_device_seconds_total"), 0.25);
  EXPECT_EQ(counted("warpfold_kernel_bytes_total"), 0);
}

// "name | type | labels" of every family, and of every row of the table in docs/metrics.md.
std::set<std::string> Registered() {
  std::set<std::string> rows;
  for (const auto& page :
       {Metrics({}).registry()->Collect(), OccupancyCollector(AnOccupancy).Collect(),
        ProcessCollector().Collect(), GpuCollector(*Nvml::Open(WARPFOLD_FAKE_NVML)).Collect(),
        SpanCollector(SpanQueue([](const auto&) { return true; }, [](bool) {})).Collect()}) {
    for (const prometheus::MetricFamily& family : page) {
      std::set<std::string> labels;
      for (const auto& metric : family.metric) {
        for (const auto& label : metric.label) labels.insert(label.name);
      }
      std::string joined;
      for (const std::string& label : labels) joined += (joined.empty() ? "" : ", ") + label;
      rows.insert(family.name + " | " + TypeName(family.type) + " | " + joined);
    }
  }
  return rows;
}

std::set<std::string> Documented() {
  std::ifstream file(WARPFOLD_METRICS_DOC);
  EXPECT_TRUE(file.good()) << WARPFOLD_METRICS_DOC;
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    // | `name` | type | labels | unit | meaning |
    std::vector<std::string> cells;
    for (const absl::string_view cell : absl::StrSplit(line, '|')) {
      cells.emplace_back(absl::StripAsciiWhitespace(cell));
    }
    if (cells.size() < 7 || cells[1].size() < 2 || cells[1].front() != '`') continue;
    rows.insert(cells[1].substr(1, cells[1].size() - 2) + " | " + cells[2] + " | " + cells[3]);
  }
  return rows;
}

TEST(MetricsDocTest, TheTableListsExactlyWhatIsServed) { EXPECT_EQ(Documented(), Registered()); }

double Gauge(const std::vector<prometheus::MetricFamily>& families, const std::string& name,
             const std::map<std::string, std::string>& labels = {}) {
  const prometheus::ClientMetric* metric = Find(families, name, labels);
  return metric != nullptr ? metric->gauge.value : -1;
}

TEST(ProcessCollectorTest, SaysWhatTheKernelSays) {
  const auto before = ProcessCollector().Collect();
  const double now = static_cast<double>(std::time(nullptr));
  EXPECT_NEAR(Gauge(before, "process_start_time_seconds"), now, 60);
  EXPECT_GT(Gauge(before, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Gauge(before, "process_virtual_memory_bytes"),
            Gauge(before, "process_resident_memory_bytes"));
  EXPECT_GT(Gauge(before, "process_max_fds"), Gauge(before, "process_open_fds"));
  std::vector<std::ifstream> open(10);
  for (std::ifstream& file : open) file.open("/proc/self/stat");
  EXPECT_EQ(Gauge(ProcessCollector().Collect(), "process_open_fds"),
            Gauge(before, "process_open_fds") + 10);
  const auto cpu_seconds = [] {
    const auto families = ProcessCollector().Collect();
    return Find(families, "process_cpu_seconds_total", {})->counter.value;
  };
  const double start = cpu_seconds();
  EXPECT_GT(start, 0);
  while (cpu_seconds() == start) {  // asking takes time of its own
  }
}

TEST(GpuCollectorTest, GivesWhatEachGpuSupports) {
  auto nvml = Nvml::Open(WARPFOLD_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const auto families = GpuCollector(*std::move(nvml)).Collect();
  EXPECT_EQ(
      Gauge(families, "warpfold_gpu_info", {{"gpu", "1"}, {"model", "Second"}, {"uuid", "GPU-2"}}),
      1);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_memory_bytes", {{"gpu", "0"}, {"state", "used"}}), 400);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_memory_bytes", {{"gpu", "0"}, {"state", "total"}}), 1000);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_utilization_ratio", {{"gpu", "0"}}), 0.75);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_temperature_celsius", {{"gpu", "0"}}), 41);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_power_watts", {{"gpu", "0"}}), 123.456);
  EXPECT_EQ(Find(families, "warpfold_gpu_ecc_errors_total", {{"gpu", "0"}, {"type", "corrected"}})
                ->counter.value,
            7);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_throttled", {{"gpu", "0"}, {"reason", "hw_thermal"}}), 1);
  EXPECT_EQ(Gauge(families, "warpfold_gpu_throttled", {{"gpu", "0"}, {"reason", "sw_power_cap"}}),
            0);
  EXPECT_EQ(Find(families, "warpfold_gpu_power_watts", {{"gpu", "1"}}), nullptr);
}

TEST(GpuCollectorTest, GivesTheSameUnderTritonsNames) {
  const auto families = GpuCollector(*Nvml::Open(WARPFOLD_FAKE_NVML)).Collect();
  EXPECT_EQ(Gauge(families, "nv_gpu_utilization", {{"gpu_uuid", "GPU-1"}}), 0.75);
  EXPECT_EQ(Gauge(families, "nv_gpu_power_usage", {{"gpu_uuid", "GPU-1"}}), 123.456);
  EXPECT_EQ(Gauge(families, "nv_gpu_memory_used_bytes", {{"gpu_uuid", "GPU-1"}}), 400);
  EXPECT_EQ(Gauge(families, "nv_gpu_memory_total_bytes", {{"gpu_uuid", "GPU-1"}}), 1000);
  EXPECT_EQ(Find(families, "nv_gpu_power_usage", {{"gpu_uuid", "GPU-2"}}), nullptr);
}

TEST(GpuCollectorTest, WithoutADriverThereIsNone) {
  EXPECT_EQ(Nvml::Open("libno-such-driver.so.1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Nvml::Open("libm.so.6").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace warpfold
