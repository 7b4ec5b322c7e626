// Many small tensors on one stream, the contract's ReduceMany: requests go out without waiting for
// answers, which come as they are ready. Made by Client::OpenMany.
//
//   auto stream = client->OpenMany({});
//   for (const TensorView& row : rows) {
//     if (absl::Status sent = stream->Send(row, {.ops = {v1::OP_SUM}, .request_id = name}); ...
//   }
//   while (auto got = stream->Receive(until); got.ok() && got->has_value()) Use((*got)->answer);
//
// A tensor is copied on its way out: its bytes may change as soon as Send returns. One that fails
// fails alone, and nothing is tried again: that is the caller's to decide, by the item's code. The
// server answers at most some tens of requests that nobody has received yet before it reads on;
// Send takes the answers in meanwhile, so a sender that never receives keeps them in memory.
//
// The stream's timeout is for silence: it ends with DEADLINE_EXCEEDED when Send, Close, or Receive
// of an answer that is owed, have waited so long and no message has moved. A stream on which
// nothing is asked may lie as long as it likes.
//
// Thread safety: none; one thread sends and receives. A stream must not outlive its client.
// Failure: absl::Status; a status of Send or Receive itself is the end of the stream.
#ifndef WARPFOLD_CLIENT_CPP_MANY_STREAM_H_
#define WARPFOLD_CLIENT_CPP_MANY_STREAM_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/silence.h"

namespace warpfold::client {

class StreamCall;  // stream_call.h

struct ManyAnswer {
  std::string request_id;  // of the request that it answers
  absl::StatusOr<ReduceAnswer> answer;
};

class ManyStream {
 public:
  ~ManyStream();  // cancels what has not been answered
  ManyStream(const ManyStream&) = delete;
  ManyStream& operator=(const ManyStream&) = delete;

  // Sends one tensor; blocks until the transport has taken it. Of `options`, timeout, progress and
  // stop are not looked at: those of the stream hold. INVALID_ARGUMENT `data` as in Client::Reduce,
  // and the stream lives on.
  absl::Status Send(const TensorView& tensor, const ReduceOptions& options);

  // The next answer; nullopt when none has come by `until`.
  absl::StatusOr<std::optional<ManyAnswer>> Receive(std::chrono::system_clock::time_point until);

  // Says that nothing more is sent, and waits for the end of the stream: OK when the server has
  // answered all. Answers that have not been received are still there for Receive.
  absl::Status Close();

 private:
  friend class Client;
  ManyStream(std::shared_ptr<Connection> connection, std::chrono::milliseconds timeout,
             const std::stop_token& stop, std::string target,
             std::uint32_t required_numerics_version);

  const std::shared_ptr<Connection> connection_;
  Silence silence_;  // counts only while a method waits for the server
  std::int64_t unanswered_ = 0;
  std::unique_ptr<StreamCall> call_;
  std::string target_;
  const std::uint32_t required_numerics_version_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_MANY_STREAM_H_
