// grpc.reflection.v1alpha.ServerReflection: by it grpcurl and others learn the services.
//
// Step of a request: 1. gRPC's own plugin takes a thread for each call, and messages of any size,
// whose copies it sends back.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_SERVICE_H_

#include <atomic>
#include <string>
#include <vector>

#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/services.h"

namespace warpfold {

// The places for its calls, which it outlives. Safe from any thread.
class ReflectionPlaces {
 public:
  explicit ReflectionPlaces(int max) : max_(max), left_(max) {}

  int max() const { return max_; }
  // True: one is taken, and has to be given back.
  bool TryTake();
  void GiveBack() { ++left_; }

 private:
  const int max_;
  std::atomic<int> left_;
};

class ReflectionServiceImpl final : public RawService {
 public:
  // `names` are the services that it lists.
  ReflectionServiceImpl(const Services& services, ReflectionPlaces& places,
                        std::vector<std::string> names);

 private:
  const std::vector<std::string> names_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_REFLECTION_SERVICE_H_
