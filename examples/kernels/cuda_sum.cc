// The exact sum of floats that lie on a GPU, enqueued on a stream, the result in pinned memory.
#include <cuda_runtime_api.h>
#include <warpfold/cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

int main() {
  const std::vector<float> tensor = {1e8F, 1.0F, -1e8F, 1e-3F};
  warpfold::cuda::DeviceShape gpu;
  Check(warpfold::cuda::GetDeviceShape(0, &gpu));
  const auto sum =
      warpfold::cuda::Reduction::Make({.shape = {4}, .ops = {warpfold::Op::kSum}}, gpu);
  if (!sum.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(sum.status().message()).c_str()), 1;
  }
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  void *d_tensor, *d_workspace, *result;
  Check(cudaMalloc(&d_tensor, sizeof(float) * tensor.size()));
  Check(cudaMalloc(&d_workspace, sum->workspace_bytes()));
  Check(cudaMallocHost(&result, sizeof(float)));
  Check(cudaMemcpyAsync(d_tensor, tensor.data(), sizeof(float) * tensor.size(), cudaMemcpyDefault,
                        stream));
  Check(sum->Prepare(d_workspace, stream));
  Check(sum->Enqueue(d_tensor, {&result, 1}, nullptr, d_workspace, stream));
  Check(cudaStreamSynchronize(stream));
  std::printf("exact %g\n", *static_cast<float*>(result));
}
