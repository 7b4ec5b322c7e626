// A small in-process server for the client's tests: the contract's ReductionService with naive
// loops, which can be told to fail, to hang, and to lie. Independent of the real server: no code is
// shared.
//
// Thread safety: the settings are to be changed between calls only; the counters may be read at any
// time.
#ifndef WARPFOLD_TESTS_CLIENT_FAKE_SERVICE_H_
#define WARPFOLD_TESTS_CLIENT_FAKE_SERVICE_H_

#include <grpcpp/server.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold::client {

// SUM, MIN, MAX, MEAN, STD (correction 0), NAN_COUNT and INF_COUNT of `data` by loops over indices,
// as the contract says.
grpc::Status NaiveReduce(const v1::ReduceRequest& request, const std::string& data,
                         v1::ReduceResponse& response);

class FakeService final : public v1::ReductionService::Service {
 public:
  struct Failure {
    grpc::StatusCode code = grpc::StatusCode::OK;
    std::string message;
    std::optional<int> pushback_trailer_ms;
    std::optional<int> retry_info_ms;
  };

  FakeService();

  // After `passed` more, the next `count` Reduce or ReduceStream calls fail so.
  void FailNext(int count, const Failure& failure, int passed = 0);
  // From now on Reduce and ReduceStream neither read nor answer before Release(), and ReduceMany
  // reads one request.
  void Hang() { hangs_ = true; }
  // The same for call `number` of Reduce alone, counted from 1.
  void HangAt(int number) { hangs_at_ = number; }
  // From now on ReduceStream takes, and ReduceMany answers, one message in `pace`.
  void TakeOneMessageIn(std::chrono::milliseconds pace) { pace_ = pace; }
  void Release() {
    if (!released_.HasBeenNotified()) released_.Notify();
  }
  // Answers Reduce with this instead of the truth.
  void AnswerWith(const v1::ReduceResponse& lie);

  // Ops that a test takes out of it are refused, as by an older server.
  v1::GetServerInfoResponse& info() { return info_; }
  int unary_calls() const { return unary_calls_; }
  int stream_calls() const { return stream_calls_; }
  std::vector<std::size_t> last_chunk_sizes() const;
  // What its calls brought under "authorization", in the order they came; empty where nothing.
  std::vector<std::string> authorizations() const;
  // Of Reduce, without its data.
  v1::ReduceRequest last_request() const;

  grpc::Status Reduce(grpc::ServerContext* context, const v1::ReduceRequest* request,
                      v1::ReduceResponse* response) override;
  grpc::Status ReduceStream(grpc::ServerContext* context,
                            grpc::ServerReader<v1::ReduceStreamRequest>* reader,
                            v1::ReduceResponse* response) override;
  // A planned failure is an item's.
  grpc::Status ReduceMany(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ReduceManyResponse, v1::ReduceRequest>* stream) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;

 private:
  void NoteAuthorization(const grpc::ServerContext& context);
  // The planned failure of this call, or OK.
  grpc::Status NextFailure(grpc::ServerContext& context);
  std::optional<v1::ReduceResponse> Lie() const;
  // NaiveReduce of the ops that info() has.
  grpc::Status Answer(const v1::ReduceRequest& request, const std::string& data,
                      v1::ReduceResponse& response) const;

  mutable std::mutex mutex_;
  int passed_left_ = 0;
  int failures_left_ = 0;
  Failure failure_;
  std::vector<std::size_t> chunk_sizes_;
  std::vector<std::string> authorizations_;
  v1::ReduceRequest request_;
  std::atomic<bool> hangs_ = false;
  std::atomic<int> hangs_at_ = 0;
  std::chrono::milliseconds pace_{0};
  absl::Notification released_;
  std::optional<v1::ReduceResponse> lie_;
  v1::GetServerInfoResponse info_;
  std::atomic<int> unary_calls_ = 0;
  std::atomic<int> stream_calls_ = 0;
};

// `service` on a free port of the loopback interface, until the end of the object.
class FakeServer {
 public:
  enum class Pings {
    kAbuse,      // as gRPC has it: more than some in five minutes end the connection
    kPermitted,  // two a second
  };
  explicit FakeServer(Pings pings = Pings::kAbuse);
  ~FakeServer();
  FakeService& service() { return service_; }
  const std::string& address() const { return address_; }
  void Stop();

 private:
  FakeService service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_TESTS_CLIENT_FAKE_SERVICE_H_
