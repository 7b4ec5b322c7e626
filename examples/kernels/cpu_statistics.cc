// All statistics of the columns of a matrix, of one pass over it, on the CPU.
#include <warpfold/cpu.h>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  constexpr int kRows = 1000, kColumns = 3;
  std::vector<float> matrix(kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[i] = static_cast<float>(i % 7) / 10;
  const std::vector<warpfold::Op> ops = {warpfold::Op::kSum, warpfold::Op::kMean,
                                         warpfold::Op::kStd, warpfold::Op::kMin,
                                         warpfold::Op::kMax};
  const auto statistics =
      warpfold::cpu::Reduction::Make({.shape = {kRows, kColumns}, .ops = ops, .axes = {0}});
  if (!statistics.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(statistics.status().message()).c_str()), 1;
  }
  std::vector<std::vector<float>> results(ops.size(), std::vector<float>(kColumns));
  std::vector<std::span<std::byte>> arrays;
  for (auto& result : results) arrays.push_back(std::as_writable_bytes(std::span(result)));
  const absl::Status status = statistics->Run(std::as_bytes(std::span(matrix)), arrays);
  if (!status.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(status.message()).c_str()), 1;
  }
  for (std::size_t op = 0; op < ops.size(); ++op) {
    std::printf("%-4s", warpfold::Name(ops[op]));
    for (const float x : results[op]) std::printf(" %9.6g", x);
    std::printf("\n");
  }
}
