#include "server/frontend/core_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "grpc/byte_buffer.h"
#include "grpc/slice.h"
#include "grpcpp/support/slice.h"

namespace warpfold {
namespace {

// More slices than this an honest sender's message never has: frames have 16 KiB, buffers 8.
bool IsScattered(std::size_t slices, std::size_t bytes) { return slices > 64 + bytes / 512; }

// References the same bytes. A message that came in tiny frames, for each of which gRPC keeps a
// slice, 32 bytes and more, is copied into one.
grpc::ByteBuffer ToByteBuffer(const grpc_byte_buffer& received) {
  const grpc_slice_buffer& buffer = received.data.raw.slice_buffer;
  if (IsScattered(buffer.count, buffer.length)) {
    grpc::Slice whole(buffer.length);
    auto* at = const_cast<std::uint8_t*>(whole.begin());
    for (std::size_t i = 0; i < buffer.count; ++i) {
      at = std::copy_n(GRPC_SLICE_START_PTR(buffer.slices[i]), GRPC_SLICE_LENGTH(buffer.slices[i]),
                       at);
    }
    return {&whole, 1};
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(buffer.count);
  for (std::size_t i = 0; i < buffer.count; ++i) {
    slices.emplace_back(buffer.slices[i], grpc::Slice::ADD_REF);
  }
  return {slices.data(), slices.size()};
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

CoreCall::CoreCall(ArrivedCall arrived)
    : arrived_(std::move(arrived)),
      read_(MakeBatch([](grpc_completion_queue_functor* batch, int ok) {
        static_cast<Batch*>(batch)->call->OnRead(ok != 0);
      })),
      close_(MakeBatch([](grpc_completion_queue_functor* batch, int /*ok*/) {
        static_cast<Batch*>(batch)->call->OnClosed();
      })),
      finish_(MakeBatch([](grpc_completion_queue_functor* batch, int /*ok*/) {
        static_cast<Batch*>(batch)->call->EndBatch();
      })) {
  grpc_call_ref(arrived_.call);
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
      grpc_call_start_batch(arrived_.call, ops.data(), ops.size(), &batch, nullptr);
  if (error != GRPC_CALL_OK) std::abort();  // only of operations that are none
}

void CoreCall::ReadNext() {
  batches_.fetch_add(1, std::memory_order_relaxed);
  grpc_op op = Operation(GRPC_OP_RECV_MESSAGE);
  op.data.recv_message.recv_message = &received_;
  Perform({op}, read_);
}

void CoreCall::OnRead(bool ok) {
  if (ok && received_ != nullptr) {
    grpc::ByteBuffer message = ToByteBuffer(*received_);
    grpc_byte_buffer_destroy(std::exchange(received_, nullptr));
    OnMessage(&message);
  } else {
    OnMessage(nullptr);
  }
  EndBatch();
}

bool CoreCall::IsBroken() const { return grpc_call_failed_before_recv_message(arrived_.call) != 0; }

void CoreCall::NoticeCancel() {
  if (notices_.exchange(true)) return;
  batches_.fetch_add(1, std::memory_order_relaxed);
  grpc_op op = Operation(GRPC_OP_RECV_CLOSE_ON_SERVER);
  op.data.recv_close_on_server.cancelled = &cancelled_;
  Perform({op}, close_);
}

void CoreCall::OnClosed() {
  if (cancelled_ != 0) OnCancel();
  EndBatch();
}

void CoreCall::Finish(const absl::Status& status, const grpc::ByteBuffer& answer) {
  status_ = ToWireStatus(status);
  std::vector<grpc_op> ops = {Operation(GRPC_OP_SEND_INITIAL_METADATA)};
  if (status.ok()) {
    sent_ = ToCore(answer);
    grpc_op send = Operation(GRPC_OP_SEND_MESSAGE);
    send.data.send_message.send_message = sent_;
    ops.push_back(send);
  }
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

void CoreCall::Abort() {
  absl::MutexLock lock(&mutex_);
  if (!done_) grpc_call_cancel(arrived_.call, nullptr);
}

void CoreCall::EndBatch() {
  if (batches_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (sent_ != nullptr) grpc_byte_buffer_destroy(sent_);
  if (received_ != nullptr) grpc_byte_buffer_destroy(received_);
  {
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }
  grpc_call* const call = arrived_.call;
  const std::function<void()> release = std::move(arrived_.release);
  OnDone();
  grpc_call_unref(call);
  release();
}

}  // namespace warpfold
