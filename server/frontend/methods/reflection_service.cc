#include "server/frontend/methods/reflection_service.h"

#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/frontend/calls/streamed_call.h"
#include "server/frontend/methods/reflection.h"
#include "server/frontend/wire/small_message.h"

namespace warpfold {
namespace {

class ReflectionCall final : public StreamedCall {
 public:
  ReflectionCall(Services& services, ReflectionPlaces& places, absl::Span<const std::string> names,
                 ArrivedCall arrived)
      : StreamedCall(services, Method::kServerReflectionInfo, std::move(arrived)),
        places_(places),
        names_(names) {}
  ~ReflectionCall() override {
    if (has_place_) places_.GiveBack();
  }

 private:
  absl::Status TakePlace() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    has_place_ = places_.TryTake();
    return has_place_ ? absl::OkStatus()
                      : NoPlaceFor(method(), places_.max(), "--max-reflection-streams");
  }

  void OnRequest(grpc::ByteBuffer* request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (request == nullptr) return End(absl::OkStatus());
    grpc::reflection::v1alpha::ServerReflectionRequest asked;
    if (const absl::Status parsed = ParseSmall(request, &asked); !parsed.ok()) return End(parsed);
    WriteAnswer(Reflect(std::move(asked), names_));
  }
  void OnAnswerWritten() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { AwaitRequest(); }

  ReflectionPlaces& places_;
  const absl::Span<const std::string> names_;
  bool has_place_ = false;
};

}  // namespace

bool ReflectionPlaces::TryTake() {
  int left = left_.load();
  while (left > 0) {
    if (left_.compare_exchange_weak(left, left - 1)) return true;
  }
  return false;
}

ReflectionServiceImpl::ReflectionServiceImpl(const Services& services, ReflectionPlaces& places,
                                             std::vector<std::string> names)
    : RawService(services), names_(std::move(names)) {
  Serve({Method::kServerReflectionInfo, [this, &places](ArrivedCall arrived) {
           AnsweredCall::Begin(
               std::make_shared<ReflectionCall>(services_, places, names_, std::move(arrived)));
         }});
}

}  // namespace warpfold
