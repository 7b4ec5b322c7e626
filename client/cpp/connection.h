// One connection to a server, and one attempt at one call on it: bytes out, bytes back. The layer
// below Client: it knows methods and messages as names and slices, and nothing of ops, retries or
// results. The load generator drives it directly.
//
// A payload is lent to gRPC, not copied (payload_loan.h). Every call returns only after gRPC has
// given the payload back, so the caller may free it at once, whatever the outcome was. That return
// is immediate except when the peer has stopped reading from its socket: then bytes wait in the
// transport beyond the deadline, until the kernel declares the connection dead after
// ConnectionOptions::stalled_peer_timeout.
//
// The calling thread polls its own completion queue: no thread hop, which a callback would cost on
// every call.
//
// Thread safety: a Connection may be used by any number of threads; each call blocks its caller.
// Failure: CallReply::status, as gRPC gave it.
#ifndef WARPFOLD_CLIENT_CPP_CONNECTION_H_
#define WARPFOLD_CLIENT_CPP_CONNECTION_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "client/cpp/queue_pool.h"
#include "client/cpp/silence.h"

namespace warpfold::client {

inline constexpr char kReduceMethod[] = "/warpfold.v1.ReductionService/Reduce";
inline constexpr char kReduceStreamMethod[] = "/warpfold.v1.ReductionService/ReduceStream";
inline constexpr char kReduceManyMethod[] = "/warpfold.v1.ReductionService/ReduceMany";
inline constexpr char kMergeMethod[] = "/warpfold.v1.ReductionService/Merge";
inline constexpr char kGetServerInfoMethod[] = "/warpfold.v1.ReductionService/GetServerInfo";
inline constexpr char kCreateTensorMethod[] = "/warpfold.v1.TensorService/CreateTensor";
inline constexpr char kWriteTensorMethod[] = "/warpfold.v1.TensorService/WriteTensor";
inline constexpr char kDeleteTensorMethod[] = "/warpfold.v1.TensorService/DeleteTensor";
inline constexpr char kRegisterSharedMemoryMethod[] =
    "/warpfold.v1.TensorService/RegisterSharedMemory";
inline constexpr char kRegisterCudaMemoryMethod[] = "/warpfold.v1.TensorService/RegisterCudaMemory";
inline constexpr char kUnregisterMemoryMethod[] = "/warpfold.v1.TensorService/UnregisterMemory";

struct ConnectionOptions {
  // Null means no TLS.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // The name that the server's certificate has to hold; empty: the host of the target. TLS only.
  std::string tls_server_name;
  // By which the server knows its caller (token.h); empty: none is sent. Without TLS whoever sees
  // the network can use it.
  std::string token;
  // The largest answer that is accepted; a larger one is RESOURCE_EXHAUSTED. gRPC's own default is
  // 4 MiB.
  int response_bytes_max = 1 << 30;
  // How long sent bytes may stay unacknowledged, or a full socket unread, before the connection is
  // given up.
  std::chrono::milliseconds stalled_peer_timeout{10'000};
  // How long a call may be silent before the connection is asked whether it is still there. gRPC's
  // servers take less than five minutes for abuse and hang up.
  std::chrono::milliseconds keepalive_interval{30 * 60 * 1000};
  // The first wait before gRPC connects again after a failure; it doubles up to 2 s.
  std::chrono::milliseconds reconnect_backoff{100};
  // Of small calls (small_call.h): how long their connection may be silent before the server is
  // asked by a PING whether it is there, and how long it may take to say so. Then the connection is
  // given up, and the call goes to another server. ping_after 0: it is never asked.
  std::chrono::milliseconds ping_after{300};
  std::chrono::milliseconds ping_timeout{500};
};

enum class ConnectionUse {
  kAnyCalls,
  kSmallCalls,  // a silent server is asked whether it is there
};

// What bounds one attempt.
struct CallLimits {
  std::chrono::system_clock::time_point deadline;
  std::stop_token stop;  // a stop request cancels the call
  // Of a unary call: how long the calling thread busy-polls for the answer before it sleeps
  // (ClientOptions::spin_max).
  std::chrono::microseconds spin_max{0};
  // Of Stream, instead of the deadline: the attempt ends with DEADLINE_EXCEEDED at
  // silence->ends_at(), which every chunk that the transport takes moves on. Null: the deadline
  // holds.
  Silence* silence = nullptr;
};

struct CallReply {
  grpc::Status status;
  std::optional<std::int64_t> pushback_ms;  // the trailer grpc-retry-pushback-ms
  grpc::ByteBuffer response;                // valid when the status is OK
};

// Called on the calling thread with the payload bytes handed to the transport so far in this
// attempt.
using ProgressCallback = std::function<void(std::int64_t sent_bytes)>;

class Connection {
 public:
  // Returns at once; the connection is made by the first call. `target` is any gRPC target, such as
  // "localhost"; an address without a port means 50051.
  Connection(const std::string& target, const ConnectionOptions& options,
             ConnectionUse use = ConnectionUse::kAnyCalls);

  // One unary call whose message is `head` followed by `payload`.
  CallReply Unary(const char* method, const std::string& head, std::span<const std::byte> payload,
                  const CallLimits& limits);

  // One client-streaming call: the message `header`, then `payload` in chunks of `chunk_bytes` (the
  // last one shorter), then the half-close. Stops sending as soon as the server has answered.
  // REQUIRES: chunk_bytes > 0.
  CallReply Stream(const char* method, const std::string& header,
                   std::span<const std::byte> payload, std::size_t chunk_bytes,
                   const CallLimits& limits, const ProgressCallback& progress);

  // For calls of other shapes, each with authorization() among its metadata.
  grpc::GenericStub& stub() { return stub_; }
  // "Bearer TOKEN"; empty: none is sent.
  const std::string& authorization() const { return authorization_; }

 private:
  QueuePool queues_;  // of unary calls
  const std::string authorization_;
  grpc::GenericStub stub_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CONNECTION_H_
