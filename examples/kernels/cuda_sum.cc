// The exact sum of floats that lie on a GPU, enqueued on a stream, the result in pinned memory.
#include <cuda_runtime_api.h>
#include <warpfold/cuda.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> tensor = {1e8F, 1.0F, -1e8F, 1e-3F};
  warpfold::cuda::DeviceShape gpu;
  if (warpfold::cuda::GetDeviceShape(0, &gpu) != cudaSuccess) return std::puts("no GPU"), 2;
  const auto sum =
      warpfold::cuda::Reduction::Make({.shape = {4}, .ops = {warpfold::Op::kSum}}, gpu);
  if (!sum.ok()) return std::fprintf(stderr, "%s\n", sum.status().ToString().c_str()), 1;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  void *d_tensor, *d_workspace, *result;
  cudaMalloc(&d_tensor, sizeof(float) * tensor.size());
  cudaMalloc(&d_workspace, sum->workspace_bytes());
  cudaMallocHost(&result, sizeof(float));
  cudaMemcpyAsync(d_tensor, tensor.data(), sizeof(float) * tensor.size(), cudaMemcpyDefault,
                  stream);
  cudaError_t error = sum->Prepare(d_workspace, stream);
  if (error == cudaSuccess)
    error = sum->Enqueue(d_tensor, {&result, 1}, nullptr, d_workspace, stream);
  if (error != cudaSuccess) return std::puts(cudaGetErrorString(error)), 1;
  cudaStreamSynchronize(stream);
  std::printf("exact %g\n", *static_cast<float*>(result));
}
