// What the tests of the Open Inference Protocol share: calls, and requests of one tensor.
#ifndef WARPFOLD_TESTS_E2E_INFERENCE_CLIENT_H_
#define WARPFOLD_TESTS_E2E_INFERENCE_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "inference/grpc_service.grpc.pb.h"

namespace warpfold::e2e {

using Stub = inference::GRPCInferenceService::Stub;

class InferenceClient {
 public:
  // `channel` outlives this.
  explicit InferenceClient(grpc::Channel& channel)
      : stub_(inference::GRPCInferenceService::NewStub(
            std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}))) {}

  // One of the stub's unary methods.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const std::type_identity_t<Request>& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return (stub_.get()->*method)(&context, request, response);
  }

  grpc::Status Infer(const inference::ModelInferRequest& request,
                     inference::ModelInferResponse* response) {
    return Call(&Stub::ModelInfer, request, response);
  }

  Stub& stub() { return *stub_; }

 private:
  std::unique_ptr<Stub> stub_;
};

inline inference::ModelInferRequest Raw(const std::string& model, const std::string& datatype,
                                        const std::vector<std::int64_t>& shape,
                                        const std::string& bytes) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  inference::ModelInferRequest::InferInputTensor* input = request.add_inputs();
  input->set_name("INPUT");
  input->set_datatype(datatype);
  for (const std::int64_t length : shape) input->add_shape(length);
  request.add_raw_input_contents(bytes);
  return request;
}

inline inference::ModelInferRequest RawFloats(const std::string& model,
                                              const std::vector<float>& values) {
  return Raw(
      model, "FP32", {static_cast<std::int64_t>(values.size())},
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

// The only element of output `index`.
inline float FloatOf(const inference::ModelInferResponse& response, int index) {
  float value = -1;
  const std::string& bytes = response.raw_output_contents(index);
  if (bytes.size() == sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// Each followed by a blank.
inline std::string OutputNames(const inference::ModelInferResponse& response) {
  std::string names;
  for (const auto& output : response.outputs()) names += output.name() + " ";
  return names;
}

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_INFERENCE_CLIENT_H_
