// RemoteTensor, and those methods of Client that have to do with one.
#include "client/cpp/remote_tensor.h"

#include <algorithm>

#include "client/cpp/call_with_retries.h"
#include "client/cpp/client.h"
#include "client/cpp/fan_out.h"
#include "client/cpp/stripes.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold::client {

RemoteTensor& RemoteTensor::operator=(RemoteTensor&& other) noexcept {
  if (this == &other) return *this;
  if (!id_.empty()) Delete(kDeleteTimeout).IgnoreError();
  client_ = other.client_;
  id_ = other.Release();
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  return *this;
}

RemoteTensor::~RemoteTensor() {
  if (!id_.empty()) Delete(kDeleteTimeout).IgnoreError();
}

absl::Status RemoteTensor::Delete() { return Delete(client_->options_.timeout); }

absl::Status RemoteTensor::Delete(std::chrono::milliseconds timeout) {
  v1::DeleteTensorRequest request;
  request.set_tensor_id(Release());
  v1::DeleteTensorResponse response;
  return client_->CallPlain(kDeleteTensorMethod, request, timeout, {}, &response);
}

std::string RemoteTensor::Release() { return std::exchange(id_, std::string()); }

absl::StatusOr<RemoteTensor> Client::Put(const TensorView& tensor, const PutOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  v1::CreateTensorRequest request;
  request.set_request_id(options.request_id);
  *request.mutable_tensor() = SpecOf(tensor);
  if (options.ttl.has_value()) request.set_ttl_ms(options.ttl->count());
  request.mutable_readers()->Add(options.readers.begin(), options.readers.end());
  v1::CreateTensorResponse created;
  absl::Status status =
      CallPlain(kCreateTensorMethod, request, options.timeout, options.stop, &created);
  if (!status.ok()) return status;
  // From here on a failure deletes it.
  RemoteTensor remote(this, created.tensor_id(), tensor);
  if (!tensor.data.empty()) {
    status = Write(remote, tensor, options, options.timeout.value_or(options_.timeout));
  }
  if (!status.ok()) return status;
  return remote;
}

absl::Status Client::Write(const RemoteTensor& to, const TensorView& tensor,
                           const PutOptions& options, std::chrono::milliseconds timeout) {
  const auto tensor_bytes = static_cast<std::int64_t>(tensor.data.size());
  const bool several = options_.connections > 1 && tensor_bytes > options_.stripe_threshold_bytes;
  const auto range_bytes = static_cast<std::size_t>(
      several ? RangeBytes(tensor_bytes, options_.connections, options_.stripe_bytes_min,
                           static_cast<std::int64_t>(ChunkBytes()))
              : tensor_bytes);
  const std::size_t ranges = (tensor.data.size() + range_bytes - 1) / range_bytes;
  SharedProgress progress(options.progress, ranges);
  const auto write = [&](int worker, std::size_t range, const std::stop_token& stop) {
    const std::size_t offset = range * range_bytes;
    const auto bytes =
        tensor.data.subspan(offset, std::min(range_bytes, tensor.data.size() - offset));
    v1::WriteTensorRequest message;
    v1::WriteTensorHeader& header = *message.mutable_header();
    header.set_request_id(options.request_id);
    header.set_tensor_id(to.id());
    header.set_offset_bytes(static_cast<std::int64_t>(offset));
    header.set_size_bytes(static_cast<std::int64_t>(bytes.size()));
    const std::string first = message.SerializeAsString();
    const auto connection = connections_.At(static_cast<std::size_t>(worker));
    return StreamWithRetries(options_.retry, target_, timeout, stop,
                             [&](const CallLimits& limits) {
                               return connection->Stream(kWriteTensorMethod, first, bytes,
                                                         ChunkBytes(), limits, progress.Of(range));
                             })
        .status;
  };
  return FanOut(several ? options_.connections : 1, ranges, options.stop, write);
}

absl::StatusOr<ReduceAnswer> Client::Reduce(const RemoteTensor& tensor,
                                            const ReduceOptions& options) {
  v1::ReduceRequest request;
  request.add_sources()->set_tensor_id(tensor.id());
  return ReduceFrom(std::move(request), options);
}

absl::StatusOr<ReduceAnswer> Client::Reduce(RemoteTensor&& tensor, const ReduceOptions& options) {
  RemoteTensor consumed = std::move(tensor);
  v1::ReduceRequest request;
  request.add_sources()->set_tensor_id(consumed.id());
  request.set_consume(true);
  absl::StatusOr<ReduceAnswer> answer = ReduceFrom(std::move(request), options);
  if (answer.ok()) consumed.Release();
  return answer;
}

}  // namespace warpfold::client
