// Every RPC that the server counts: whose it is, what it is called, how it streams.
//
// Step of a request: 4, report. Constants.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_METHOD_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_METHOD_H_

#include <cstddef>
#include <iterator>
#include <string_view>

namespace warpfold {

// Those that reduce tensors come first.
enum class Method {
  kReduce,
  kReduceStream,
  kReduceMany,
  kModelInfer,
  kModelStreamInfer,
  kMerge,
  kGetServerInfo,
  kCreateTensor,
  kWriteTensor,
  kDeleteTensor,
  kListTensors,
  kRegisterSharedMemory,
  kRegisterCudaMemory,
  kUnregisterMemory,
  kListMemory,
  kServerLive,
  kServerReady,
  kModelReady,
  kServerMetadata,
  kModelMetadata,
  kModelConfig,
  kModelStatistics,
  kRepositoryIndex,
  kSystemSharedMemoryStatus,
  kSystemSharedMemoryRegister,
  kSystemSharedMemoryUnregister,
  kCudaSharedMemoryStatus,
  kCudaSharedMemoryRegister,
  kCudaSharedMemoryUnregister,
  kHealthCheck,
  kHealthWatch,
  kServerReflectionInfo,
};

inline constexpr char kReductionService[] = "warpfold.v1.ReductionService";
inline constexpr char kTensorService[] = "warpfold.v1.TensorService";
inline constexpr char kInferenceService[] = "inference.GRPCInferenceService";
inline constexpr char kHealthService[] = "grpc.health.v1.Health";
inline constexpr char kReflectionService[] = "grpc.reflection.v1alpha.ServerReflection";

struct MethodFacts {
  Method method;
  const char* name;     // as in the proto
  const char* type;     // as the gRPC ecosystem's dashboards call it
  const char* service;  // its full name
};

// In the order of the enum.
inline constexpr MethodFacts kMethods[] = {
    {Method::kReduce, "Reduce", "unary", kReductionService},
    {Method::kReduceStream, "ReduceStream", "client_stream", kReductionService},
    {Method::kReduceMany, "ReduceMany", "bidi_stream", kReductionService},
    {Method::kModelInfer, "ModelInfer", "unary", kInferenceService},
    {Method::kModelStreamInfer, "ModelStreamInfer", "bidi_stream", kInferenceService},
    {Method::kMerge, "Merge", "unary", kReductionService},
    {Method::kGetServerInfo, "GetServerInfo", "unary", kReductionService},
    {Method::kCreateTensor, "CreateTensor", "unary", kTensorService},
    {Method::kWriteTensor, "WriteTensor", "client_stream", kTensorService},
    {Method::kDeleteTensor, "DeleteTensor", "unary", kTensorService},
    {Method::kListTensors, "ListTensors", "unary", kTensorService},
    {Method::kRegisterSharedMemory, "RegisterSharedMemory", "unary", kTensorService},
    {Method::kRegisterCudaMemory, "RegisterCudaMemory", "unary", kTensorService},
    {Method::kUnregisterMemory, "UnregisterMemory", "unary", kTensorService},
    {Method::kListMemory, "ListMemory", "unary", kTensorService},
    {Method::kServerLive, "ServerLive", "unary", kInferenceService},
    {Method::kServerReady, "ServerReady", "unary", kInferenceService},
    {Method::kModelReady, "ModelReady", "unary", kInferenceService},
    {Method::kServerMetadata, "ServerMetadata", "unary", kInferenceService},
    {Method::kModelMetadata, "ModelMetadata", "unary", kInferenceService},
    {Method::kModelConfig, "ModelConfig", "unary", kInferenceService},
    {Method::kModelStatistics, "ModelStatistics", "unary", kInferenceService},
    {Method::kRepositoryIndex, "RepositoryIndex", "unary", kInferenceService},
    {Method::kSystemSharedMemoryStatus, "SystemSharedMemoryStatus", "unary", kInferenceService},
    {Method::kSystemSharedMemoryRegister, "SystemSharedMemoryRegister", "unary", kInferenceService},
    {Method::kSystemSharedMemoryUnregister, "SystemSharedMemoryUnregister", "unary",
     kInferenceService},
    {Method::kCudaSharedMemoryStatus, "CudaSharedMemoryStatus", "unary", kInferenceService},
    {Method::kCudaSharedMemoryRegister, "CudaSharedMemoryRegister", "unary", kInferenceService},
    {Method::kCudaSharedMemoryUnregister, "CudaSharedMemoryUnregister", "unary", kInferenceService},
    {Method::kHealthCheck, "Check", "unary", kHealthService},
    {Method::kHealthWatch, "Watch", "server_stream", kHealthService},
    {Method::kServerReflectionInfo, "ServerReflectionInfo", "bidi_stream", kReflectionService},
};
inline constexpr std::size_t kMethodCount = std::size(kMethods);
inline constexpr std::size_t kTensorMethodCount = 5;  // the first five reduce tensors

constexpr const MethodFacts& FactsOf(Method method) {
  return kMethods[static_cast<std::size_t>(method)];
}

// A stream of requests, each answered by itself.
constexpr bool HasItems(Method method) {
  return static_cast<std::size_t>(method) < kTensorMethodCount &&
         std::string_view(FactsOf(method).type) == "bidi_stream";
}

// "Reduce", as in the proto.
constexpr const char* Name(Method method) { return FactsOf(method).name; }

constexpr bool MethodsAreInOrder() {
  for (std::size_t m = 0; m < kMethodCount; ++m) {
    if (kMethods[m].method != static_cast<Method>(m)) return false;
  }
  return true;
}
static_assert(MethodsAreInOrder());

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_METHOD_H_
