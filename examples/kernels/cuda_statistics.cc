// All statistics of the columns of a matrix on a GPU, of one pass over it.
#include <cuda_runtime_api.h>
#include <warpfold/cuda.h>

#include <cstdio>
#include <vector>

int main() {
  constexpr int kRows = 1000, kColumns = 3;
  std::vector<float> matrix(kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[i] = static_cast<float>(i % 7) / 10;
  const std::vector<warpfold::Op> ops = {warpfold::Op::kSum, warpfold::Op::kMean,
                                         warpfold::Op::kStd, warpfold::Op::kMin,
                                         warpfold::Op::kMax};
  warpfold::cuda::DeviceShape gpu;
  if (warpfold::cuda::GetDeviceShape(0, &gpu) != cudaSuccess) return std::puts("no GPU"), 2;
  const auto statistics =
      warpfold::cuda::Reduction::Make({.shape = {kRows, kColumns}, .ops = ops, .axes = {0}}, gpu);
  if (!statistics.ok()) return 1;
  void *d_matrix, *d_workspace;
  cudaMalloc(&d_matrix, sizeof(float) * matrix.size());
  cudaMalloc(&d_workspace, statistics->workspace_bytes());
  cudaMemcpy(d_matrix, matrix.data(), sizeof(float) * matrix.size(), cudaMemcpyDefault);
  std::vector<void*> results(ops.size());
  for (void*& result : results) cudaMallocHost(&result, sizeof(float) * kColumns);
  if (statistics->Enqueue(d_matrix, results, nullptr, d_workspace, nullptr) != cudaSuccess)
    return 1;
  cudaDeviceSynchronize();
  for (std::size_t op = 0; op < ops.size(); ++op) {
    std::printf("%-4s", warpfold::Name(ops[op]));
    for (int c = 0; c < kColumns; ++c) std::printf(" %9.6g", static_cast<float*>(results[op])[c]);
    std::printf("\n");
  }
}
