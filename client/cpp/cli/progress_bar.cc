#include "client/cpp/cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace warpfold::client {
namespace {

using std::chrono::steady_clock;

constexpr int kBarCells = 24;
constexpr std::chrono::milliseconds kRepaintInterval(100);

}  // namespace

std::string BytesText(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return absl::StrFormat("%.*f %s", decimals, value, kUnits[unit]);
}

std::string BarText(double part) {
  part = std::clamp(part, 0.0, 1.0);
  const int cells = static_cast<int>(part * kBarCells);
  std::string bar(cells, '=');
  if (cells < kBarCells) bar += '>';
  bar.resize(kBarCells, ' ');
  return absl::StrFormat("[%s] %3d%%", bar, static_cast<int>(part * 100));
}

std::string ProgressLine(std::int64_t done_bytes, std::int64_t total_bytes,
                         std::chrono::duration<double> elapsed) {
  const double part = total_bytes > 0 ? static_cast<double>(done_bytes) / total_bytes : 1.0;
  std::string line =
      absl::StrCat(BarText(part), "  ", BytesText(done_bytes), " of ", BytesText(total_bytes));
  if (elapsed.count() > 0 && done_bytes > 0) {
    const double rate = static_cast<double>(done_bytes) / elapsed.count();
    const auto left_s =
        static_cast<std::int64_t>(static_cast<double>(total_bytes - done_bytes) / rate);
    absl::StrAppendFormat(&line, "  %.2f GB/s  %d:%02d left", rate / 1e9, left_s / 60, left_s % 60);
  }
  return line;
}

std::string Fitted(const std::string& line, int columns) {
  const auto most = static_cast<std::size_t>(std::max(columns - 1, 0));
  if (line.size() <= most) return line;
  const std::size_t bar_end = line.find('%') + 1;
  std::size_t end = line.size();
  while (end != line.npos && end > most && end > bar_end) end = line.rfind("  ", end - 1);
  if (end != line.npos && end >= bar_end && end <= most) return line.substr(0, end);
  const std::size_t begin = line.find_first_not_of("] ", std::min(line.find(']'), line.size()));
  if (begin >= bar_end || bar_end - begin > most) return "";
  return line.substr(begin, bar_end - begin);
}

int StderrColumns() {
  winsize size = {};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

ProgressBar::ProgressBar(std::int64_t total_bytes, bool shown)
    : total_bytes_(total_bytes), shown_(shown), start_(steady_clock::now()), painted_at_(start_) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs(kWipeLine, stderr);
}

void ProgressBar::Advance(std::int64_t bytes) {
  if (!shown_) return;
  const absl::MutexLock lock(&mutex_);
  done_bytes_ += bytes;
  const auto now = steady_clock::now();
  if (now - painted_at_ < kRepaintInterval) return;
  painted_at_ = now;
  const std::string line = ProgressLine(done_bytes_, total_bytes_, now - start_);
  std::fprintf(stderr, "%s%s", kWipeLine, Fitted(line, StderrColumns()).c_str());
}

}  // namespace warpfold::client
