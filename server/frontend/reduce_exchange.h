// Exchange in the words of warpfold.v1: ReduceRequest, ReduceResponse, ReduceManyResponse.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_EXCHANGE_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_EXCHANGE_H_

#include <string>

#include "server/frontend/exchange.h"

namespace warpfold {

class ReduceExchange final : public Exchange {
 public:
  // INVALID_ARGUMENT: malformed, or more than one source.
  absl::Status Read(grpc::ByteBuffer* buffer, TensorMessage* message) override;
  absl::Status Told(const absl::Status& status) const override { return status; }
  absl::Status Write(const absl::Status& status, v1::ReduceResponse* response,
                     grpc::ByteBuffer* out) override;
  grpc::ByteBuffer WriteItem(const std::string& request_id, const absl::Status& status,
                             v1::ReduceResponse* response) override;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_EXCHANGE_H_
