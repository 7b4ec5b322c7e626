#include "server/check/report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "kernels/cpu/tile_loops.h"
#include "nlohmann/json.hpp"
#include "server/version.h"

namespace warpfold {
namespace {

using Result = Finding::Result;

const char* Name(Result result) {
  switch (result) {
    case Result::kOk:
      return "ok";
    case Result::kWarn:
      return "warn";
    case Result::kFail:
      return "FAIL";
  }
  __builtin_unreachable();
}

std::string Padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string Counted(int count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string Summary(const CheckReport& report) {
  const int failures = report.Count(Result::kFail);
  std::string text = failures > 0
                         ? Counted(failures, "failure")
                         : absl::StrCat("ready to serve on ", report.backend, ", ",
                                        Counted(static_cast<int>(report.devices.size()), "device"));
  if (const int warnings = report.Count(Result::kWarn); warnings > 0) {
    absl::StrAppend(&text, ", ", Counted(warnings, "warning"));
  }
  return text;
}

// "pass", or the names of the checks that the device failed. A device that nothing was asked of,
// because it could not be opened, has not passed.
std::string ResultOf(const CheckReport& report, const std::string& device) {
  std::vector<std::string> failed;
  bool was_asked = false;
  for (const Finding& finding : report.findings) {
    if (finding.subject != device) continue;
    if (finding.result == Result::kFail) failed.push_back(finding.check);
    was_asked |= absl::StartsWith(finding.check, "self-test");
  }
  if (failed.empty() && !was_asked) return "FAIL: not opened";
  return failed.empty() ? "pass" : absl::StrCat("FAIL: ", absl::StrJoin(failed, ", "));
}

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json ToJsonObject(const CheckedDevice& device) {
  return {{"device", device.name},
          {"model", device.model},
          {"compute_capability", device.capability},
          {"code", device.code},
          {"memory_bytes", device.memory_bytes},
          {"free_bytes", OrNull(device.free_bytes)},
          {"uncorrected_ecc_errors", OrNull(device.uncorrected_ecc_errors)},
          {"mig", OrNull(device.is_mig)}};
}

}  // namespace

void CheckReport::Ok(std::string subject, std::string check, std::string text) {
  findings.push_back({Result::kOk, std::move(subject), std::move(check), std::move(text), ""});
}

void CheckReport::Warn(std::string subject, std::string check, std::string text,
                       std::string remedy) {
  findings.push_back(
      {Result::kWarn, std::move(subject), std::move(check), std::move(text), std::move(remedy)});
}

void CheckReport::Fail(std::string subject, std::string check, std::string text,
                       std::string remedy) {
  findings.push_back(
      {Result::kFail, std::move(subject), std::move(check), std::move(text), std::move(remedy)});
}

int CheckReport::Count(Result result) const {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [result](const Finding& finding) { return finding.result == result; }));
}

std::string ToText(const CheckReport& report) {
  std::size_t width = 0;
  for (const Finding& finding : report.findings) width = std::max(width, finding.subject.size());
  std::string text;
  for (const Finding& finding : report.findings) {
    absl::StrAppend(&text, Padded(Name(finding.result), 4), " ", Padded(finding.subject, width),
                    "  ", finding.check, ": ", finding.text,
                    finding.remedy.empty() ? "" : absl::StrCat("; ", finding.remedy), "\n");
  }
  absl::StrAppend(&text, Summary(report), "\n");
  return text;
}

std::string ToJson(const CheckReport& report) {
  nlohmann::ordered_json out = {{"ok", report.ok()},
                                {"version", kVersion},
                                {"backend", report.backend},
                                {"simd", cpu::SimdTargetName()},
                                {"driver_version", report.driver_version},
                                {"devices", nlohmann::ordered_json::array()},
                                {"checks", nlohmann::ordered_json::array()}};
  for (const CheckedDevice& device : report.devices) out["devices"].push_back(ToJsonObject(device));
  for (const Finding& finding : report.findings) {
    out["checks"].push_back(
        {{"result", finding.result == Result::kFail ? "fail" : Name(finding.result)},
         {"subject", finding.subject},
         {"check", finding.check},
         {"text", finding.text},
         {"remedy", finding.remedy}});
  }
  // What a file's name holds may be no UTF-8.
  return absl::StrCat(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
}

std::string ToRows(const CheckReport& report, const std::string& date) {
  std::string rows;
  for (const CheckedDevice& device : report.devices) {
    std::vector<std::string> cells = {device.model};
    std::string what = "`warpfold-server --check`";
    if (device.capability.empty()) {
      cells.emplace_back(cpu::SimdTargetName());
    } else {
      cells.insert(cells.end(), {device.capability, device.code});
      absl::StrAppend(&what, ", driver ",
                      report.driver_version.empty() ? "unknown" : report.driver_version, ", SIMD ",
                      cpu::SimdTargetName());
    }
    cells.insert(cells.end(),
                 {what, ResultOf(report, device.name), absl::StrCat(date, ", ", kVersion)});
    for (std::string& cell : cells) absl::StrReplaceAll({{"|", "\\|"}, {"\n", " "}}, &cell);
    absl::StrAppend(&rows, "| ", absl::StrJoin(cells, " | "), " |\n");
  }
  return rows;
}

}  // namespace warpfold
