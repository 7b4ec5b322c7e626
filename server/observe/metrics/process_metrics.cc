#include "server/observe/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "server/observe/metrics/families.h"

namespace warpfold {
namespace {

using prometheus::MetricType;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

struct Memory {
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

Memory MemoryNow() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages_virtual = 0;
  std::int64_t pages_resident = 0;
  statm >> pages_virtual >> pages_resident;
  const double page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {static_cast<double>(pages_virtual) * page_bytes,
          static_cast<double>(pages_resident) * page_bytes};
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (error) return 0;
  // Without the one that reads the folder.
  return static_cast<double>(std::distance(begin(descriptors), end(descriptors)) - 1);
}

double MostDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

// The boot's time and the process' in clock ticks after it: fields "btime" of /proc/stat and 22 of
// /proc/self/stat, counted from behind the name, which may hold anything.
double StartSeconds() {
  std::int64_t boot_seconds = 0;
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    if (line.rfind("btime ", 0) == 0) boot_seconds = std::stoll(line.substr(6));
  }
  std::ifstream self("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(self), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::int64_t start_ticks = 0;
  fields >> start_ticks;
  return static_cast<double>(boot_seconds) +
         static_cast<double>(start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  static const double start_seconds = StartSeconds();
  const Memory memory = MemoryNow();
  return {
      Plain(MetricType::Counter, "process_cpu_seconds_total",
            "CPU time of the process, in user and system mode.", CpuSeconds()),
      Plain(MetricType::Gauge, "process_resident_memory_bytes", "Resident memory of the process.",
            memory.resident_bytes),
      Plain(MetricType::Gauge, "process_virtual_memory_bytes", "Virtual memory of the process.",
            memory.virtual_bytes),
      Plain(MetricType::Gauge, "process_open_fds", "Open file descriptors.", OpenDescriptors()),
      Plain(MetricType::Gauge, "process_max_fds", "Most file descriptors that may be open.",
            MostDescriptors()),
      Plain(MetricType::Gauge, "process_start_time_seconds",
            "When the process started, in seconds since the epoch.", start_seconds),
  };
}

}  // namespace warpfold
