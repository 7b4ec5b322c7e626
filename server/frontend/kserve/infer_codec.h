// Codec in the words of the Open Inference Protocol: ModelInferRequest, ModelInferResponse,
// ModelStreamInferResponse.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_CODEC_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_CODEC_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "inference/grpc_service.pb.h"
#include "server/core/base/caller.h"
#include "server/core/regions/region_table.h"
#include "server/frontend/kserve/infer_decode.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/requests/codec.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold::kserve {

// Around it are the elements of typed contents, which are for small tensors therefore; of the rest
// CheckInferMessage leaves kHeaderBytesMax.
inline constexpr PayloadField kRawInputField{
    .name = "raw_input_contents", .number = 7, .header_bytes_max = std::size_t{4} << 20};

class InferCodec final : public Codec {
 public:
  // Of a call, or of an item of a stream.
  enum class Of { kCall, kItem };
  // All of them outlive this.
  InferCodec(Of of, ModelCounts& counts, RegionTable& regions, const Caller& caller)
      : of_(of), counts_(counts), regions_(regions), caller_(caller) {}

  // Regions that outputs go to are held from here on until the answer. INVALID_ARGUMENT, NOT_FOUND,
  // UNIMPLEMENTED, FAILED_PRECONDITION; RESOURCE_EXHAUSTED that never fits.
  absl::Status Decode(grpc::ByteBuffer* message, Decoded* decoded) override;
  absl::Status TranslateError(const absl::Status& status) const override;
  // Into the outputs' regions. INVALID_ARGUMENT, FAILED_PRECONDITION `outputs.parameters...`.
  absl::Status WriteOutputs(Answer& answer) override;
  bool WritesToDevice() const override;
  absl::Status Encode(const Request& request, const absl::Status& status, Answer* answer,
                      grpc::ByteBuffer* message) override;

 private:
  // Where one output goes.
  struct Output {
    std::optional<InRegion> place;  // none: the answer
    RegionLease lease;              // of the place
  };

  absl::Status TakePlaces(OutputPlaces places);
  absl::Status DecodeTyped(const inference::ModelInferRequest& request, Decoded* decoded);
  void Count(const absl::Status& status, const Answer* answer);
  absl::Status EncodeItem(const Request& request, const absl::Status& status, Answer* answer,
                          grpc::ByteBuffer* message);
  void Fill(const Request& request, Answer& answer, inference::ModelInferResponse* response) const;

  const Of of_;
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

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_CODEC_H_
