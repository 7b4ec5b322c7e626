// The exact sum of floats on the CPU, where adding them one after another gives another one.
#include <warpfold/cpu.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

int main() {
  const std::vector<float> tensor = {1e8F, 1.0F, -1e8F, 1e-3F};
  const auto sum = warpfold::cpu::Reduction::Make({.shape = {4}, .ops = {warpfold::Op::kSum}});
  if (!sum.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(sum.status().message()).c_str()), 1;
  }
  float exact[1];
  const absl::Status status =
      sum->Run(std::as_bytes(std::span(tensor)), {std::as_writable_bytes(std::span(exact))});
  if (!status.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(status.message()).c_str()), 1;
  }
  std::printf("exact %g, in order %g\n", exact[0],
              std::accumulate(tensor.begin(), tensor.end(), 0.0F));
}
