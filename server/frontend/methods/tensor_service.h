// warpfold.v1.TensorService on gRPC's callback API.
//
// Step of a request: 1. WriteTensor needs a worker, as do the calls that take memory, register it
// or let go of it, for which the system or a GPU's driver may need its time; the others are
// answered where they come in.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_SERVICE_H_

#include "absl/status/status.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/services.h"
#include "server/frontend/wire/small_message.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold {

class TensorServiceImpl final : public RawService {
 public:
  explicit TensorServiceImpl(const Services& services);

 private:
  void ServeTensors();
  void ServeRegions();
  absl::Status Create(const Asker& asker, const v1::CreateTensorRequest& request,
                      v1::CreateTensorResponse* response);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_SERVICE_H_
