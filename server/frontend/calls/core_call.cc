#include "server/frontend/calls/core_call.h"

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "grpc/byte_buffer.h"
#include "grpc/slice.h"
#include "grpc/support/time.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace warpfold {
namespace {

// Whether it came in more segments than an honest sender's message ever has: frames have 16 KiB.
bool IsScattered(grpc::ByteBuffer& message) {
  const std::size_t segments_max = 64 + message.Length() / 512;
  grpc::ProtoBufferReader reader(&message);
  const void* segment = nullptr;
  int bytes = 0;
  std::size_t segments = 0;
  while (segments <= segments_max && reader.Next(&segment, &bytes)) ++segments;
  return segments > segments_max;
}

// gRPC keeps a slice, 32 bytes and more, for each frame, however tiny.
void Gather(grpc::ByteBuffer& message) {
  grpc::Slice whole;
  if (!message.DumpToSingleSlice(&whole).ok()) std::abort();  // only of a buffer that is none
  grpc::ByteBuffer(&whole, 1).Swap(&message);
}

// To be destroyed by the caller.
grpc_byte_buffer* ToCore(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) std::abort();  // only of a buffer that is none
  std::vector<grpc_slice> c_slices;
  c_slices.reserve(slices.size());
  for (const grpc::Slice& slice : slices) c_slices.push_back(slice.c_slice());
  grpc_byte_buffer* const made = grpc_raw_byte_buffer_create(c_slices.data(), c_slices.size());
  for (const grpc_slice& slice : c_slices) grpc_slice_unref(slice);
  return made;
}

// Lives as long as `text`.
grpc_slice Borrow(const std::string& text) {
  return grpc_slice_from_static_buffer(text.data(), text.size());
}

grpc_op Operation(grpc_op_type type) {
  grpc_op op{};
  op.op = type;
  return op;
}

}  // namespace

std::chrono::system_clock::time_point DeadlineOf(const grpc::ServerContextBase& context) {
  using std::chrono::system_clock;
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
  const auto seconds_max = std::chrono::duration_cast<std::chrono::seconds>(
      system_clock::time_point::max().time_since_epoch());
  if (deadline.tv_sec >= seconds_max.count()) return system_clock::time_point::max();
  return context.deadline();
}

CoreCall::CoreCall(ArrivedCall arrived)
    : arrived_(std::move(arrived)),
      close_(MakeBatch([](grpc_completion_queue_functor* batch, int /*ok*/) {
        static_cast<Batch*>(batch)->call->OnClosed();
      })),
      write_(MakeBatch([](grpc_completion_queue_functor* batch, int ok) {
        static_cast<Batch*>(batch)->call->OnWrite(ok != 0);
      })),
      finish_(MakeBatch([](grpc_completion_queue_functor* batch, int /*ok*/) {
        static_cast<Batch*>(batch)->call->EndBatch();
      })) {
  grpc_call_ref(arrived_.call->call());
  on_read_.Set(
      arrived_.call->call(), [this](bool ok) { OnRead(ok); }, &read_, /*can_inline=*/false);
  read_.set_core_cq_tag(&on_read_);
}

CoreCall::Batch CoreCall::MakeBatch(void (*run)(grpc_completion_queue_functor*, int)) {
  Batch batch;
  batch.functor_run = run;
  batch.inlineable = 0;
  batch.call = this;
  return batch;
}

void CoreCall::Perform(const std::vector<grpc_op>& ops, Batch& batch) {
  const grpc_call_error error =
      grpc_call_start_batch(arrived_.call->call(), ops.data(), ops.size(), &batch, nullptr);
  if (error != GRPC_CALL_OK) std::abort();  // only of operations that are none
}

void CoreCall::ReadNext() {
  BeginBatch();
  read_.RecvMessage(&received_);
  read_.FillOps(arrived_.call);
}

void CoreCall::OnRead(bool ok) {
  if (ok) {
    grpc::ByteBuffer message;
    message.Swap(&received_);
    if (IsScattered(message)) Gather(message);
    OnMessage(&message);
  } else {
    OnMessage(nullptr);
  }
  EndBatch();
}

bool CoreCall::IsBroken() const {
  return grpc_call_failed_before_recv_message(arrived_.call->call()) != 0;
}

void CoreCall::NoticeCancel() {
  if (notices_.exchange(true)) return;
  BeginBatch();
  grpc_op op = Operation(GRPC_OP_RECV_CLOSE_ON_SERVER);
  op.data.recv_close_on_server.cancelled = &cancelled_;
  Perform({op}, close_);
}

void CoreCall::OnClosed() {
  if (cancelled_ != 0) OnCancel();
  EndBatch();
}

std::vector<grpc_op> CoreCall::Sending(const grpc::ByteBuffer* answer) {
  std::vector<grpc_op> ops;
  if (!has_sent_headers_) ops.push_back(Operation(GRPC_OP_SEND_INITIAL_METADATA));
  has_sent_headers_ = true;
  if (answer == nullptr) return ops;
  sent_ = ToCore(*answer);
  grpc_op send = Operation(GRPC_OP_SEND_MESSAGE);
  send.data.send_message.send_message = sent_;
  ops.push_back(send);
  return ops;
}

void CoreCall::Write(const grpc::ByteBuffer& answer) {
  BeginBatch();
  Perform(Sending(&answer), write_);
}

void CoreCall::OnWrite(bool ok) {
  grpc_byte_buffer_destroy(std::exchange(sent_, nullptr));
  OnWritten(ok);
  EndBatch();
}

void CoreCall::Finish(const absl::Status& status, const grpc::ByteBuffer& answer) {
  if (!status.ok()) status_ = ToWireStatus(status);
  if (arrived_.span.has_value()) {
    status_.trailers.emplace_back("traceparent", ToTraceparent(arrived_.span->context));
  }
  const bool has_answer = status.ok() && answer.Valid();
  std::vector<grpc_op> ops = Sending(has_answer ? &answer : nullptr);
  for (const auto& [key, value] : status_.trailers) {
    grpc_metadata trailer{};
    trailer.key = Borrow(key);
    trailer.value = Borrow(value);
    trailers_.push_back(trailer);
  }
  grpc_op end = Operation(GRPC_OP_SEND_STATUS_FROM_SERVER);
  end.data.send_status_from_server.status = status_.code;
  message_ = Borrow(status_.message);
  end.data.send_status_from_server.status_details = &message_;
  end.data.send_status_from_server.trailing_metadata_count = trailers_.size();
  end.data.send_status_from_server.trailing_metadata = trailers_.data();
  ops.push_back(end);
  // gRPC wants to be asked how a call ends; here that costs no event of its own.
  if (!notices_.exchange(true)) {
    grpc_op close = Operation(GRPC_OP_RECV_CLOSE_ON_SERVER);
    close.data.recv_close_on_server.cancelled = &cancelled_;
    ops.push_back(close);
  }
  Perform(ops, finish_);
}

std::optional<std::string> CoreCall::Abort() {
  absl::MutexLock lock(&mutex_);
  if (done_) return std::nullopt;
  std::string peer = context().peer();
  grpc_call_cancel(arrived_.call->call(), nullptr);
  return peer;
}

void CoreCall::EndBatch() {
  if (batches_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (sent_ != nullptr) grpc_byte_buffer_destroy(sent_);
  {
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }
  grpc_call* const call = arrived_.call->call();
  const std::function<void()> release = std::move(arrived_.release);
  OnDone();
  grpc_call_unref(call);
  release();
}

}  // namespace warpfold
