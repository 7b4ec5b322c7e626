// Exchange in the words of the Open Inference Protocol: ModelInferRequest, ModelInferResponse,
// ModelStreamInferResponse.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "inference/grpc_service.pb.h"
#include "server/frontend/exchange.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/kserve/models.h"

namespace warpfold::kserve {

inline constexpr int kRawInputField = 7;
// Of everything but raw_input_contents. Typed contents take several times their size in memory
// before anything is admitted, so that they are for small tensors.
inline constexpr std::size_t kHeaderBytesMax = std::size_t{4} << 20;

class InferExchange final : public Exchange {
 public:
  // `counts` outlives this.
  explicit InferExchange(ModelCounts& counts) : counts_(counts) {}

  // INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED; RESOURCE_EXHAUSTED that never fits: above
  // kHeaderBytesMax.
  absl::Status Read(grpc::ByteBuffer* buffer, TensorMessage* message) override;
  absl::Status Told(const absl::Status& status) const override;
  absl::Status Write(const absl::Status& status, v1::ReduceResponse* response,
                     grpc::ByteBuffer* out) override;
  grpc::ByteBuffer WriteItem(const std::string& request_id, const absl::Status& status,
                             v1::ReduceResponse* response) override;

 private:
  absl::Status ReadTyped(const inference::ModelInferRequest& request, TensorMessage* message);
  void Count(const absl::Status& status, const v1::ReduceResponse* response);
  void Fill(v1::ReduceResponse* response, inference::ModelInferResponse* answer) const;

  ModelCounts& counts_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Model* model_ = nullptr;  // null until it is known
  std::string id_;
  bool is_typed_ = false;  // the elements came in `contents`
  bool marks_final_ = false;
};

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_
