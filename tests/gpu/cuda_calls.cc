#include "tests/gpu/cuda_calls.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace warpfold {
namespace {

thread_local CudaCalls calls;

// The runtime's own function of that name.
template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

CudaCalls CudaCallsOfThread() { return calls; }

}  // namespace warpfold

using warpfold::calls;
using warpfold::Next;

void* operator new(std::size_t bytes) {
  ++calls.allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  ++calls.allocations;
  return Next<cudaError_t(void**, std::size_t)>("cudaMalloc")(memory, bytes);
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  ++calls.allocations;
  return Next<cudaError_t(void**, std::size_t, cudaStream_t)>("cudaMallocAsync")(memory, bytes,
                                                                                 stream);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  ++calls.allocations;
  return Next<cudaError_t(void**, std::size_t, unsigned)>("cudaHostAlloc")(memory, bytes, flags);
}
cudaError_t cudaFree(void* memory) {
  ++calls.allocations;
  return Next<cudaError_t(void*)>("cudaFree")(memory);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  ++calls.allocations;
  return Next<cudaError_t(void*, cudaStream_t)>("cudaFreeAsync")(memory, stream);
}

cudaError_t cudaDeviceSynchronize() {
  ++calls.waits;
  return Next<cudaError_t()>("cudaDeviceSynchronize")();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++calls.waits;
  return Next<cudaError_t(cudaStream_t)>("cudaStreamSynchronize")(stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++calls.waits;
  return Next<cudaError_t(cudaEvent_t)>("cudaEventSynchronize")(event);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  ++calls.waits;
  return Next<cudaError_t(void*, const void*, std::size_t, cudaMemcpyKind)>("cudaMemcpy")(
      to, from, bytes, kind);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  ++calls.waits;
  return Next<cudaError_t(void*, int, std::size_t)>("cudaMemset")(to, value, bytes);
}

}  // extern "C"
