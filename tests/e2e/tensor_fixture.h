// What the tests of resident tensors share: each call in one line, and a fixture that checks after
// every test that nothing is resident and nothing is held.
#ifndef WARPFOLD_TESTS_E2E_TENSOR_FIXTURE_H_
#define WARPFOLD_TESTS_E2E_TENSOR_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "tests/e2e/served_test.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold::e2e {

using TensorStub = v1::TensorService::Stub;

v1::TensorSpec F32Spec(const std::vector<std::int64_t>& shape);

// `*id` is the new tensor's.
grpc::Status CreateTensor(TensorStub& stub, const v1::TensorSpec& spec, std::string* id,
                          std::int64_t ttl_ms = 0);

v1::WriteTensorRequest WriteHeader(const std::string& id, std::int64_t offset, std::int64_t size);
v1::WriteTensorRequest WriteChunk(std::string bytes);
// Sends `messages` until the server stops taking them, then half-closes.
grpc::Status WriteMessages(TensorStub& stub, const std::vector<v1::WriteTensorRequest>& messages,
                           v1::WriteTensorResponse* response);
// Writes `bytes` from `offset` on, in chunks of 256 KiB.
grpc::Status WriteTensor(TensorStub& stub, const std::string& id, std::int64_t offset,
                         const std::string& bytes, v1::WriteTensorResponse* response);

grpc::Status DeleteTensor(TensorStub& stub, const std::string& id);
std::vector<v1::ResidentTensor> ListTensors(TensorStub& stub);

// A request for `op` of a resident tensor.
v1::ReduceRequest ResidentRequest(const std::string& id, v1::Op op = v1::OP_SUM);

class TensorFixture : public ServedTest {
 protected:
  void SetUp() override;
  // Deletes what the test has left; then nothing is counted, held or in flight.
  void TearDown() override;

  TensorStub& tensors() { return *tensors_; }

  static std::unique_ptr<TensorStub> MakeStub(Client& client);
  static void ExpectMetric(const std::string& series, double value);
  // `field` begins the message.
  static void ExpectStatus(const grpc::Status& status, grpc::StatusCode code,
                           const std::string& field);

  std::string Create(const std::vector<std::int64_t>& shape, std::int64_t ttl_ms = 0);
  static std::string Ones(std::int64_t count) { return F32Ones(count).data(); }
  std::string CreateOnes(std::int64_t count);
  // The sum, or NaN after a failure.
  float Sum(const std::string& id);
  grpc::StatusCode ReduceCode(const std::string& id);

 private:
  std::unique_ptr<TensorStub> tensors_;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_TENSOR_FIXTURE_H_
