// Start here. The client of a warpfold server: tensors in, reductions out, one blocking call
// whatever the tensor's size.
//
//   auto client = warpfold::client::Client::Connect("localhost:50051", {});
//   if (!client.ok()) return client.status();
//   auto answer = (*client)->Reduce({v1::DTYPE_F32, {rows, columns}, bytes}, {.ops = {v1::OP_SUM,
//   v1::OP_MEAN}});
//
// A tensor that nobody holds as a whole is reduced in parts, to states, by any servers; merging
// them gives the same bits:
//   auto state = (*client)->ReduceToState(rows, {.whole_shape = shape, .offset = first_row},
//   options); auto answer = (*client)->Merge(states, {});
//
// A tensor up to stream_threshold_bytes travels as one unary message, a larger one through
// ReduceStream in chunks, one above stripe_threshold_bytes in stripes over several connections at a
// time (stripes.h); the answer is the same, to the bit. The payload is sent from the caller's
// memory without a copy, and when a call returns, for whatever reason, nothing refers to that
// memory any more (connection.h).
//
// A tensor that is reduced more than once is uploaded once:
//
//   auto tensor = (*client)->Put({v1::DTYPE_F32, {rows, columns}, bytes}, {});
//   auto sums = (*client)->Reduce(*tensor, {.ops = {v1::OP_SUM}, .axes = {0}});
//
// Many small ones go one after the other on one stream (many_stream.h).
//
// Limits: a call that moves many bytes may take as long as they move; its `timeout` is how long it
// may go without progress: until the transport takes the next chunk, or the answer comes. A call of
// one message has to end within it.
//
// Retries: calls refused for load (RESOURCE_EXHAUSTED with a delay from the server), UNAVAILABLE
// and a CANCELLED that the caller did not ask for are tried again within the call's timeout, of a
// tensor in stripes the one stripe that failed; retry.h has the rule. A name with several addresses
// is several servers, which take turns; one that hangs costs a small call less than a second and
// the next ones nothing (small_call.h).
//
// The headers, in the order of a call: client.h -> exchange.h, stripes.h, fan_out.h ->
// call_with_retries.h -> retry.h, silence.h -> small_call.h -> connection_pool.h -> connection.h ->
// stream_call.h -> call_scope.h -> message.h, payload_loan.h; tensor.h, remote_tensor.h,
// shared_tensor.h and many_stream.h are beside.
//
// Thread safety: a Client may be used by any number of threads at a time.
// Failure: absl::Status with the server's code and message; nothing throws. INVALID_ARGUMENT starts
// with the field's name; RetryDelayOf (retry.h) tells a server that is full from a request that
// will never fit.
#ifndef WARPFOLD_CLIENT_CPP_CLIENT_H_
#define WARPFOLD_CLIENT_CPP_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/connection_pool.h"
#include "client/cpp/remote_tensor.h"
#include "client/cpp/retry.h"
#include "client/cpp/shared_tensor.h"
#include "client/cpp/tensor.h"
#include "google/protobuf/message_lite.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

struct Served;      // call_with_retries.h
struct StripePlan;  // stripes.h
class ManyStream;   // many_stream.h

// Above this a tensor is streamed. Measured on an H200 host, 16 cores, CPU backend, one client,
// 2026-11-21, GB/s unary / stream: 1 MiB 0.85 / 0.78, 4 MiB 1.22 / 1.22, 8 MiB 1.37 / 1.38, 16
// MiB 1.49 / 1.69. And the server holds the whole of a message, but a bounded part of a stream.
inline constexpr std::int64_t kDefaultStreamThresholdBytes = 4 << 20;

// Above this a tensor goes in stripes. Measured on an H200 host, 16 processors, one client,
// 2026-11-22, GB/s of one stream / stripes by the defaults below: 32 MiB 2.9 / 4.3, 64 MiB 3.0 /
// 8.2, 256 MiB 2.9 / 8.4, 1 GiB 3.1 / 8.0; with the server on the same 2 cores stripes gain
// nothing.
inline constexpr std::int64_t kDefaultStripeThresholdBytes = 16 << 20;

// 5 ms, or 0 where there are fewer than four processors, which busy-polling would take from those
// who answer. A thread that has slept for a millisecond is awake some 50 to 150 us after the answer
// came, on a virtual machine, where a GPU reduces 4 GiB in 930.
std::chrono::microseconds DefaultSpinMax();

struct ClientOptions {
  ConnectionOptions connection;
  RetryPolicy retry;
  // Unless ReduceOptions says otherwise: how long a call may go without progress, retries included;
  // of a call of one message the time that it may take.
  std::chrono::milliseconds timeout{60'000};
  std::optional<std::chrono::milliseconds> connect_timeout = {};  // of Connect, instead of timeout
  // Tensors above this many bytes travel by ReduceStream, and so does whatever would not fit the
  // server's Limits.max_message_bytes.
  std::int64_t stream_threshold_bytes = kDefaultStreamThresholdBytes;
  // The payload of one stream message. 256 KiB to 1 MiB was fastest on loopback (3.4 GB/s, one
  // connection, 2026-11-21).
  std::size_t chunk_bytes = 1 << 20;
  // Connections at a time for one tensor above stripe_threshold_bytes; 1: no stripes. Four moved 9
  // to 11.6 GB/s where one moved 3.4 (null server, loopback, H200 host, 2026-11-21).
  int connections = 4;
  std::int64_t stripe_threshold_bytes = kDefaultStripeThresholdBytes;
  // No stripe but the last is smaller. Of 64 MiB four moved 8.2 GB/s and sixteen 5.9.
  std::int64_t stripe_bytes_min = 16 << 20;
  // Of reductions of tensors that are on the server, or shared with it: how long the calling thread
  // busy-polls for the answer before it sleeps; 0: not at all. One thread of a process at a
  // time does.
  std::chrono::microseconds spin_max = DefaultSpinMax();
  // Of the rules for numbers (reduction.proto) by which every answer has to come about: a server
  // that has others refuses with FAILED_PRECONDITION `required_numerics_version`. 0: any.
  std::uint32_t required_numerics_version = 0;
};

struct ReduceOptions {
  std::vector<Op> ops = {};             // one or more, none twice
  std::vector<std::int64_t> axes = {};  // none means all
  bool keepdims = false;
  std::optional<std::chrono::milliseconds> timeout = {};  // instead of ClientOptions::timeout
  std::string request_id = {};                            // echoed and logged by the server
  // On the calling thread; starts over at 0 when a call is tried again. Of a tensor in stripes on
  // any thread, one call at a time; what a stripe that is tried again had sent is taken off.
  ProgressCallback progress = {};
  std::stop_token stop = {};  // a stop request ends the call with CANCELLED
  v1::NanPolicy nan_policy = v1::NAN_POLICY_PROPAGATE;
  double correction = 0;  // VAR and STD divide by the count less this
};

struct MergeOptions {
  std::optional<std::chrono::milliseconds> timeout = {};  // instead of ClientOptions::timeout
  std::string request_id = {};                            // echoed and logged by the server
  std::stop_token stop = {};  // a stop request ends the call with CANCELLED
};

struct ManyOptions {
  // How long the stream may be silent (many_stream.h); ClientOptions::timeout if not given.
  std::optional<std::chrono::milliseconds> timeout = {};
  std::stop_token stop = {};  // a stop request ends the stream with CANCELLED
};

struct PutOptions {
  // Time without a use after which the server lets the tensor go; the server's default if not
  // given. Of more than that the rest is kept while nobody else needs the room.
  std::optional<std::chrono::milliseconds> ttl = {};
  // The callers who may reduce it, too, by their names on the server, or "any".
  std::vector<std::string> readers = {};
  std::optional<std::chrono::milliseconds> timeout = {};  // as in ReduceOptions, as are the others
  std::string request_id = {};
  ProgressCallback progress = {};
  std::stop_token stop = {};
};

struct ShareOptions {
  unsigned int mode = 0600;  // of the segment; GPUs read it in place where the server may write it
  std::optional<std::chrono::milliseconds> timeout = {};  // as in ReduceOptions, as are the others
  std::string request_id = {};
  std::stop_token stop = {};
};

// An allocation of this process's on a GPU, from its beginning on.
struct CudaMemory {
  std::string handle;               // the 64 bytes of cudaIpcGetMemHandle
  std::int64_t device_ordinal = 0;  // the GPU's number among the server's: N of "cuda:N"
};

struct ReduceResult {
  Op op = v1::OP_UNSPECIFIED;
  Tensor tensor;
  int trailing_dims = 0;  // of the shape's last dimensions the op's own, behind those that are kept
};

struct ReduceAnswer {
  std::vector<ReduceResult> results;   // one per op, in the order asked
  v1::Timing timing;                   // the server's; of stripes each stage's longest
  std::string device;                  // of stripes the first one's
  int attempts = 1;                    // of stripes the most that one took
  std::uint32_t numerics_version = 0;  // of the rules for numbers (reduction.proto)
};

class Client {
 public:
  // Connects and asks for the server's info, trying again as the policy allows. Blocks up to the
  // timeout. A target without a port means port 50051. UNAVAILABLE when nothing answers there;
  // INVALID_ARGUMENT `target` at once, when it is none (target.h).
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& target,
                                                         const ClientOptions& options);

  // Reduces `tensor`. Blocks until the answer, the end of its timeout (DEADLINE_EXCEEDED), or a
  // stop request. The tensor's bytes must stay unchanged meanwhile, and are not referred to
  // afterwards. INVALID_ARGUMENT `data` when the bytes are not as many as dtype and shape say;
  // otherwise the server's status. INTERNAL when the answer is not one to this request.
  absl::StatusOr<ReduceAnswer> Reduce(const TensorView& tensor, const ReduceOptions& options);

  // Reduce on a thread of its own, which the future's destructor waits for; the tensor's bytes and
  // the client stay until then. Of many small tensors a ManyStream takes more.
  std::future<absl::StatusOr<ReduceAnswer>> ReduceAsync(TensorView tensor, ReduceOptions options);

  // Reduces `tensor`, a part of a larger one, to its state: a serialised v1::PartialState. As
  // Reduce in all else.
  absl::StatusOr<std::string> ReduceToState(const TensorView& tensor, const PartOfWhole& part,
                                            const ReduceOptions& options);

  // Merges the states of all parts of a tensor, in any order, to the answer. Blocks as Reduce does.
  // INVALID_ARGUMENT `states...` when they are not that.
  absl::StatusOr<ReduceAnswer> Merge(std::span<const std::string> states,
                                     const MergeOptions& options);

  // Merges the states of parts that make up a box to its state.
  absl::StatusOr<std::string> MergeToState(std::span<const std::string> states,
                                           const MergeOptions& options);

  // A stream for many small tensors (many_stream.h). Returns at once.
  std::unique_ptr<ManyStream> OpenMany(const ManyOptions& options);

  // Uploads `tensor`, which stays on the server until the handle goes (remote_tensor.h). Blocks and
  // treats the tensor's bytes as Reduce does. RESOURCE_EXHAUSTED: the server has no room for it.
  absl::StatusOr<RemoteTensor> Put(const TensorView& tensor, const PutOptions& options);

  // Reduces a tensor that is on the server. Any number of calls may use one at the same time; the
  // server that has it is the one at its client's target. NOT_FOUND: it is gone, unused for its
  // time to live or lost with its device; FAILED_PRECONDITION: somebody writes it.
  absl::StatusOr<ReduceAnswer> Reduce(const RemoteTensor& tensor, const ReduceOptions& options);
  // The same, and the tensor goes, whatever the answer.
  absl::StatusOr<ReduceAnswer> Reduce(RemoteTensor&& tensor, const ReduceOptions& options);

  // Memory for a tensor that a server on this host reduces without its being sent
  // (shared_tensor.h), registered until the handle goes. UNIMPLEMENTED: the server takes none;
  // RESOURCE_EXHAUSTED: there is no memory, or no room on the server; PERMISSION_DENIED: the server
  // may not open it; NOT_FOUND: the server is on another host, or sees another /dev/shm.
  absl::StatusOr<SharedTensor> Share(DType dtype, const std::vector<std::int64_t>& shape,
                                     const ShareOptions& options);

  // Makes `memory`, which holds a tensor, known to a server on this host, until the handle goes.
  // UNIMPLEMENTED, RESOURCE_EXHAUSTED: the server has no GPU, or no room for it; INVALID_ARGUMENT
  // `handle`, `size_bytes`: it is not there, or not so long.
  absl::StatusOr<SharedTensor> ShareCuda(const CudaMemory& memory, DType dtype,
                                         const std::vector<std::int64_t>& shape,
                                         const ShareOptions& options);

  // Reduces what is in it now. NOT_FOUND: the server has it no longer.
  absl::StatusOr<ReduceAnswer> Reduce(const SharedTensor& tensor, const ReduceOptions& options);

  // Asks the server again. server_info() is what it said when the client connected.
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo();
  const v1::GetServerInfoResponse& server_info() const { return info_; }

  const std::string& target() const { return target_; }

 private:
  friend class RemoteTensor;
  friend class SharedTensor;

  Client(const std::string& target, const ClientOptions& options);

  // A unary call that any server may answer: the message is `head` and `payload`. One that is not
  // small goes by connection `index`.
  Served CallAnyServer(std::size_t index, const char* method, const std::string& head,
                       std::span<const std::byte> payload, std::chrono::milliseconds timeout,
                       const std::stop_token& stop);
  // `reply`, to a call that any server may answer.
  CallReply Noted(CallReply reply);
  // `request` is all but the tensor.
  Served SendTensor(std::size_t connection, const TensorView& tensor, v1::ReduceRequest request,
                    const ReduceOptions& options);
  absl::StatusOr<ReduceAnswer> ReduceInStripes(const TensorView& tensor, const StripePlan& plan,
                                               const ReduceOptions& options);
  // The answer has the stripe's state or its results.
  Served SendStripe(const TensorView& tensor, const StripePlan& plan, std::size_t stripe,
                    std::size_t connection, const ReduceOptions& options);
  Served SendMerge(std::span<const std::string> states, bool return_state,
                   const MergeOptions& options);

  // A call of small messages.
  absl::Status CallPlain(const char* method, const google::protobuf::MessageLite& request,
                         std::optional<std::chrono::milliseconds> timeout,
                         const std::stop_token& stop, google::protobuf::MessageLite* response);
  absl::Status Write(const RemoteTensor& to, const TensorView& tensor, const PutOptions& options,
                     std::chrono::milliseconds timeout);
  // `request` has a source on the server, and nothing that is in the options.
  absl::StatusOr<ReduceAnswer> ReduceFrom(v1::ReduceRequest request, const ReduceOptions& options);
  bool TravelsByStream(std::size_t head_bytes, std::size_t payload_bytes) const;
  // Of one stream message: options_.chunk_bytes, or what the server takes if that is less.
  std::size_t ChunkBytes() const;

  std::string target_;
  ClientOptions options_;
  ConnectionPool connections_;
  v1::GetServerInfoResponse info_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLIENT_H_
