// What the tests of clients' memory share: each call in one line, and a fixture that checks after
// every test that nothing is registered and nothing is held.
#ifndef WARPFOLD_TESTS_E2E_REGION_FIXTURE_H_
#define WARPFOLD_TESTS_E2E_REGION_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "tests/e2e/served_test.h"
#include "tests/shm_segment.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold::e2e {

grpc::Status RegisterSegment(v1::TensorService::Stub& stub, const std::string& name,
                             const std::string& key, std::int64_t offset, std::int64_t size);
grpc::Status RegisterCuda(v1::TensorService::Stub& stub, const std::string& name,
                          const std::string& handle, std::int64_t ordinal, std::int64_t size);
grpc::Status UnregisterRegion(v1::TensorService::Stub& stub, const std::string& name);
std::vector<v1::MemoryRegion> ListRegions(v1::TensorService::Stub& stub);

// A request for the sum of `count` f32 in `region` from byte `offset` on.
v1::ReduceRequest RegionRequest(const std::string& region, std::int64_t count,
                                std::int64_t offset = 0);

class RegionFixture : public ServedTest {
 protected:
  void SetUp() override;
  // Unregisters what the test has left; then nothing is counted or in flight.
  void TearDown() override;

  v1::TensorService::Stub& regions() { return *regions_; }
  static std::unique_ptr<v1::TensorService::Stub> MakeStub(Client& client);

  // `field` begins the message.
  static void ExpectStatus(const grpc::Status& status, grpc::StatusCode code,
                           const std::string& field);
  static void ExpectMetric(const std::string& series, double value);
  void Register(const std::string& name, const ShmSegment& segment, std::int64_t size);
  grpc::Status Reduce(const v1::ReduceRequest& request);
  // The sum, or NaN after a failure.
  float Sum(const std::string& region, std::int64_t count, std::int64_t offset = 0);

 private:
  std::unique_ptr<v1::TensorService::Stub> regions_;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_REGION_FIXTURE_H_
