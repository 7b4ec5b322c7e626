// All statistics of the columns of a matrix on a GPU, of one pass over it.
#include <cuda_runtime_api.h>
#include <warpfold/cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace wf = warpfold;

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

int main() {
  constexpr int kRows = 1000, kColumns = 3;
  std::vector<float> matrix(kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[i] = static_cast<float>(i % 7) / 10;
  const std::vector<wf::Op> ops = {wf::Op::kSum, wf::Op::kMean, wf::Op::kStd, wf::Op::kMin,
                                   wf::Op::kMax};
  wf::cuda::DeviceShape gpu;
  Check(wf::cuda::GetDeviceShape(0, &gpu));
  const auto statistics =
      wf::cuda::Reduction::Make({.shape = {kRows, kColumns}, .ops = ops, .axes = {0}}, gpu);
  if (!statistics.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(statistics.status().message()).c_str()), 1;
  }
  void *d_matrix, *d_workspace;
  Check(cudaMalloc(&d_matrix, sizeof(float) * matrix.size()));
  Check(cudaMalloc(&d_workspace, statistics->workspace_bytes()));
  Check(cudaMemcpy(d_matrix, matrix.data(), sizeof(float) * matrix.size(), cudaMemcpyDefault));
  std::vector<void*> results(ops.size());
  for (void*& result : results) Check(cudaMallocHost(&result, sizeof(float) * kColumns));
  Check(statistics->Prepare(d_workspace, nullptr));
  Check(statistics->Enqueue(d_matrix, results, nullptr, d_workspace, nullptr));
  Check(cudaDeviceSynchronize());
  for (std::size_t op = 0; op < ops.size(); ++op) {
    std::printf("%-4s", wf::Name(ops[op]));
    for (int c = 0; c < kColumns; ++c) std::printf(" %9.6g", static_cast<float*>(results[op])[c]);
    std::printf("\n");
  }
}
