// What `warpfold-server --check` found, as text for people, as JSON and as rows that can be sent.
//
// Plain values and pure functions.
#ifndef WARPFOLD_SERVER_CHECK_REPORT_H_
#define WARPFOLD_SERVER_CHECK_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpfold {

struct Finding {
  enum class Result { kOk, kWarn, kFail };
  Result result = Result::kOk;
  std::string subject;  // "driver", "cuda:0", "host"
  std::string check;    // "self-test f32"
  std::string text;     // what was found
  std::string remedy;   // what to do; of warnings and failures
};

// A device that serves or could.
struct CheckedDevice {
  std::string name;        // "cuda:0"
  std::string model;       // "NVIDIA H200"
  std::string capability;  // "9.0"; empty of a CPU
  std::string code;        // "machine code sm_90", "PTX sm_120", "none"; empty of a CPU
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> free_bytes;  // what NVML does not say is not there
  std::optional<std::int64_t> uncorrected_ecc_errors;
  std::optional<bool> is_mig;
};

struct CheckReport {
  std::string backend;         // that would serve, "cuda" or "cpu"; empty: none
  std::string driver_version;  // empty: unknown
  std::vector<CheckedDevice> devices;
  std::vector<Finding> findings;

  void Ok(std::string subject, std::string check, std::string text);
  void Warn(std::string subject, std::string check, std::string text, std::string remedy);
  void Fail(std::string subject, std::string check, std::string text, std::string remedy);

  int Count(Finding::Result result) const;
  bool ok() const { return Count(Finding::Result::kFail) == 0; }
};

// A line a finding, aligned, and one that sums up.
std::string ToText(const CheckReport& report);

// docs/check.md lists the keys.
std::string ToJson(const CheckReport& report);

// For each device a row of docs/proof.md's tables: GPU, compute capability, code path, what ran,
// result, date and version; of a CPU its SIMD target instead of the second and third. Holds nothing
// that names the machine: no host, no path, no serial number. `date` is "2026-11-25".
std::string ToRows(const CheckReport& report, const std::string& date);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_REPORT_H_
