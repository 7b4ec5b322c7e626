#include "server/frontend/methods/health_service.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "grpc/health/v1/health.pb.h"
#include "server/frontend/calls/streamed_call.h"
#include "server/frontend/methods/small_handler.h"
#include "server/frontend/wire/small_message.h"

namespace warpfold {

// What a name stands for.
enum class HealthSubject { kLiveness, kReadiness, kUnknown };

namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// The names that Kubernetes' documentation gives to the services of its gRPC probes.
constexpr std::string_view kLivenessName = "liveness";
constexpr std::string_view kReadinessNames[] = {"readiness", kReductionService, kTensorService,
                                                kInferenceService, ""};

// How long the client of a call that watches has to read the last state.
constexpr std::chrono::milliseconds kLastWords{500};

HealthSubject SubjectOf(std::string_view name) {
  if (name == kLivenessName) return HealthSubject::kLiveness;
  const bool is_known = absl::c_linear_search(kReadinessNames, name);
  return is_known ? HealthSubject::kReadiness : HealthSubject::kUnknown;
}

// Of "ipv4:10.0.0.1:50123", what stands before the port.
std::string AddressOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

HealthCheckResponse Tell(HealthSubject subject, bool serving) {
  HealthCheckResponse response;
  switch (subject) {
    case HealthSubject::kLiveness:
      response.set_status(HealthCheckResponse::SERVING);
      break;
    case HealthSubject::kReadiness:
      response.set_status(serving ? HealthCheckResponse::SERVING
                                  : HealthCheckResponse::NOT_SERVING);
      break;
    case HealthSubject::kUnknown:
      response.set_status(HealthCheckResponse::SERVICE_UNKNOWN);
      break;
  }
  return response;
}

}  // namespace

class WatchCall final : public StreamedCall {
 public:
  WatchCall(Services& services, HealthBoard& board, ArrivedCall arrived)
      : StreamedCall(services, Method::kHealthWatch, std::move(arrived)),
        board_(board),
        address_(AddressOf(PeerName())) {}
  ~WatchCall() override { board_.Leave(*this); }

  const std::string& address() const { return address_; }

  // The state may be another.
  void OnChange() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (doing() == Doing::kNothing) TellState();
  }

  // The server ends. A client that has not read what was said before is not waited for.
  void OnClose() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    is_closing_ = true;
    switch (doing()) {
      case Doing::kNothing:
        return TellState();
      case Doing::kReading:
        return End(Closed());
      case Doing::kWriting:
        return HurryAnswer(kLastWords);
      case Doing::kEnded:
        return;
    }
  }

  // gRPC's clients that watch take any end but UNIMPLEMENTED for one to try again after; this says
  // what they have to expect of the same server.
  static absl::Status Closed() { return absl::UnavailableError("the server is shutting down"); }

 private:
  absl::Status TakePlace() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return board_.Join(*this);
  }

  void OnRequest(grpc::ByteBuffer* request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (request == nullptr) return End(absl::CancelledError("message: none has come"));
    HealthCheckRequest asked;
    if (const absl::Status parsed = ParseSmall(request, &asked); !parsed.ok()) return End(parsed);
    subject_ = SubjectOf(asked.service());
    TellState();
  }
  void OnAnswerWritten() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { TellState(); }

  // What it has not told yet; of several changes the last.
  void TellState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const HealthCheckResponse state = Tell(subject_, board_.serving());
    if (state.status() != told_) {
      told_ = state.status();
      return WriteAnswer(state);
    }
    if (is_closing_) End(Closed());
  }

  HealthBoard& board_;
  const std::string address_;
  HealthSubject subject_ ABSL_GUARDED_BY(mutex_) = HealthSubject::kUnknown;
  std::optional<HealthCheckResponse::ServingStatus> told_ ABSL_GUARDED_BY(mutex_);
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
};

std::vector<std::shared_ptr<WatchCall>> HealthBoard::Calls() const {
  std::vector<std::shared_ptr<WatchCall>> calls;
  for (WatchCall* call : calls_) {
    // One that is on its way out has no owner any more.
    const std::shared_ptr<Watched> owned = call->weak_from_this().lock();
    if (owned != nullptr) calls.push_back(std::static_pointer_cast<WatchCall>(owned));
  }
  return calls;
}

void HealthBoard::SetServing(bool serving) {
  serving_ = serving;
  std::vector<std::shared_ptr<WatchCall>> told;
  {
    absl::MutexLock lock(&mutex_);
    told = Calls();
  }
  for (const std::shared_ptr<WatchCall>& call : told) call->OnChange();
}

void HealthBoard::Close() {
  std::vector<std::shared_ptr<WatchCall>> told;
  {
    absl::MutexLock lock(&mutex_);
    is_closed_ = true;
    told = Calls();
  }
  for (const std::shared_ptr<WatchCall>& call : told) call->OnClose();
}

absl::Status HealthBoard::Join(WatchCall& call) {
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return WatchCall::Closed();
  if (calls_.size() >= static_cast<std::size_t>(watches_max_)) {
    return NoPlaceFor(Method::kHealthWatch, watches_max_, "--max-health-watches");
  }
  int& of_peer = peers_[call.address()];
  if (of_peer >= peer_watches_max_) {
    return NoPlaceFor(Method::kHealthWatch, peer_watches_max_,
                      "a quarter of --max-health-watches, for one address");
  }
  ++of_peer;
  calls_.insert(&call);
  return absl::OkStatus();
}

void HealthBoard::Leave(WatchCall& call) {
  absl::MutexLock lock(&mutex_);
  if (calls_.erase(&call) == 0) return;
  const auto peer = peers_.find(call.address());
  if (--peer->second == 0) peers_.erase(peer);
}

HealthServiceImpl::HealthServiceImpl(const Services& services, HealthBoard& board,
                                     ProbePlaces& checks)
    : RawService(services) {
  Serve(SmallHandler::Probe<HealthCheckRequest, HealthCheckResponse>(
      services_, Method::kHealthCheck, checks, [&board](const auto& request, auto* response) {
        const HealthSubject subject = SubjectOf(request.service());
        if (subject == HealthSubject::kUnknown) return absl::NotFoundError("service name unknown");
        *response = Tell(subject, board.serving());
        return absl::OkStatus();
      }));
  Serve({Method::kHealthWatch, [this, &board](ArrivedCall arrived) {
           AnsweredCall::Begin(std::make_shared<WatchCall>(services_, board, std::move(arrived)));
         }});
}

}  // namespace warpfold
