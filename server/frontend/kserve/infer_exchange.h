// Exchange in the words of the Open Inference Protocol: ModelInferRequest, ModelInferResponse,
// ModelStreamInferResponse.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "inference/grpc_service.pb.h"
#include "server/core/caller.h"
#include "server/core/region_table.h"
#include "server/frontend/exchange.h"
#include "server/frontend/kserve/infer_request.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/wire_message.h"

namespace warpfold::kserve {

// Around it are the elements of typed contents, which are for small tensors therefore; of the rest
// CheckInferMessage leaves kHeaderBytesMax.
inline constexpr PayloadField kRawInputField{
    .name = "raw_input_contents", .number = 7, .header_bytes_max = std::size_t{4} << 20};

class InferExchange final : public Exchange {
 public:
  // All of them outlive this.
  InferExchange(ModelCounts& counts, RegionTable& regions, const Caller& caller)
      : counts_(counts), regions_(regions), caller_(caller) {}

  // Regions that outputs go to are held from here on until the answer. INVALID_ARGUMENT, NOT_FOUND,
  // UNIMPLEMENTED, FAILED_PRECONDITION; RESOURCE_EXHAUSTED that never fits.
  absl::Status Read(grpc::ByteBuffer* buffer, TensorMessage* message) override;
  absl::Status Told(const absl::Status& status) const override;
  // Into the outputs' regions. INVALID_ARGUMENT, FAILED_PRECONDITION `outputs.parameters...`.
  absl::Status Place(v1::ReduceResponse* response) override;
  bool PlacesOnDevice() const override;
  absl::Status Write(const absl::Status& status, v1::ReduceResponse* response,
                     grpc::ByteBuffer* out) override;
  grpc::ByteBuffer WriteItem(const std::string& request_id, const absl::Status& status,
                             v1::ReduceResponse* response) override;

 private:
  // Where one output goes.
  struct Output {
    std::optional<v1::MemoryRef> place;  // none: the answer
    RegionLease lease;                   // of the place
  };

  absl::Status TakePlaces(OutputPlaces places);
  absl::Status ReadTyped(const inference::ModelInferRequest& request, TensorMessage* message);
  void Count(const absl::Status& status, const v1::ReduceResponse* response);
  void Fill(v1::ReduceResponse* response, inference::ModelInferResponse* answer) const;

  ModelCounts& counts_;
  RegionTable& regions_;
  const Caller& caller_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Model* model_ = nullptr;  // null until it is known
  std::string id_;
  std::vector<Output> outputs_;
  bool is_typed_ = false;  // the elements came in `contents`
  bool marks_final_ = false;
};

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_EXCHANGE_H_
