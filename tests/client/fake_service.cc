#include "tests/client/fake_service.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/time/time.h"
#include "client/cpp/first_wait.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace warpfold::client {
namespace {

// Where each element goes: the flat index among the results of the element at `index`.
struct Layout {
  std::vector<std::int64_t> shape;
  std::vector<bool> reduced;
  std::vector<std::int64_t> kept_shape;
  std::int64_t kept_count = 1;

  std::int64_t ResultIndex(std::int64_t index) const {
    std::int64_t result = 0;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t coordinate = index % shape[d];
      index /= shape[d];
      if (reduced[d]) continue;
      result += coordinate * stride;
      stride *= shape[d];
    }
    return result;
  }
};

grpc::Status Plan(const v1::ReduceRequest& request, Layout& layout) {
  if (request.sources().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "sources: none"};
  layout.shape.assign(request.sources(0).tensor().shape().begin(),
                      request.sources(0).tensor().shape().end());
  const auto rank = static_cast<std::int64_t>(layout.shape.size());
  layout.reduced.assign(layout.shape.size(), request.axes().empty());
  for (const std::int64_t axis : request.axes()) {
    if (axis < -rank || axis >= rank) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "axes: " + std::to_string(axis) + " is out of range"};
    }
    layout.reduced[axis < 0 ? axis + rank : axis] = true;
  }
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (!layout.reduced[d]) {
      layout.kept_shape.push_back(layout.shape[d]);
      layout.kept_count *= layout.shape[d];
    } else if (request.keepdims()) {
      layout.kept_shape.push_back(1);
    }
  }
  return grpc::Status::OK;
}

template <typename T>
bool IsNan(T value) {
  return value != value;
}

template <typename T>
bool IsInf(T value) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::has_infinity && (value == kInfinity || value == -kInfinity);
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
void ReduceTyped(const v1::ReduceRequest& request, const std::string& data, const Layout& layout,
                 v1::ReduceResponse& response) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  const auto wide_dtype =
      std::is_integral_v<T> ? v1::DTYPE_I64 : request.sources(0).tensor().dtype();
  const auto mean_dtype =
      std::is_integral_v<T> ? v1::DTYPE_F64 : request.sources(0).tensor().dtype();
  std::vector<T> elements(data.size() / sizeof(T));
  if (!data.empty()) std::memcpy(elements.data(), data.data(), data.size());
  const auto count = static_cast<double>(elements.size()) / std::max<double>(1, layout.kept_count);
  std::vector<Wide> sums(layout.kept_count, 0);
  std::vector<std::int64_t> nans(layout.kept_count, 0);
  std::vector<std::int64_t> infs(layout.kept_count, 0);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();  // 0 for an integer
  std::vector<T> mins(layout.kept_count,
                      kInfinity != 0 ? kInfinity : std::numeric_limits<T>::max());
  std::vector<T> maxs(layout.kept_count,
                      kInfinity != 0 ? -kInfinity : std::numeric_limits<T>::lowest());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t at = layout.ResultIndex(static_cast<std::int64_t>(i));
    sums[at] += elements[i];
    // A NaN compares false with everything: it gets in, and then it stays.
    if (!IsNan(mins[at]) && !(elements[i] >= mins[at])) mins[at] = elements[i];
    if (!IsNan(maxs[at]) && !(elements[i] <= maxs[at])) maxs[at] = elements[i];
    nans[at] += IsNan(elements[i]);
    infs[at] += IsInf(elements[i]);
  }
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  using Mean = std::conditional_t<std::is_integral_v<T>, double, T>;
  std::vector<Mean> means;
  for (const Wide sum : sums) means.push_back(static_cast<Mean>(static_cast<double>(sum) / count));
  std::vector<double> squares(layout.kept_count, 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t at = layout.ResultIndex(static_cast<std::int64_t>(i));
    const double off = static_cast<double>(elements[i]) - static_cast<double>(sums[at]) / count;
    squares[at] += off * off;
  }
  std::vector<Mean> deviations;
  for (const double square : squares) {
    deviations.push_back(static_cast<Mean>(std::sqrt(square / count)));
  }
  for (const v1::OpSpec& spec : request.ops()) {
    const v1::Op op = spec.op();
    v1::Result& result = *response.add_results();
    *result.mutable_spec() = spec;
    result.mutable_tensor()->mutable_shape()->Assign(layout.kept_shape.begin(),
                                                     layout.kept_shape.end());
    if (op == v1::OP_SUM) {
      result.mutable_tensor()->set_dtype(wide_dtype);
      result.set_data(Bytes(std::vector<Sum>(sums.begin(), sums.end())));
    } else if (op == v1::OP_MEAN) {
      result.mutable_tensor()->set_dtype(mean_dtype);
      result.set_data(Bytes(means));
    } else if (op == v1::OP_STD) {
      result.mutable_tensor()->set_dtype(mean_dtype);
      result.set_data(Bytes(deviations));
    } else if (op == v1::OP_NAN_COUNT || op == v1::OP_INF_COUNT) {
      result.mutable_tensor()->set_dtype(v1::DTYPE_I64);
      result.set_data(Bytes(op == v1::OP_NAN_COUNT ? nans : infs));
    } else {
      result.mutable_tensor()->set_dtype(request.sources(0).tensor().dtype());
      result.set_data(Bytes(op == v1::OP_MIN ? mins : maxs));
    }
  }
}

}  // namespace

grpc::Status NaiveReduce(const v1::ReduceRequest& request, const std::string& data,
                         v1::ReduceResponse& response) {
  Layout layout;
  if (grpc::Status planned = Plan(request, layout); !planned.ok()) return planned;
  for (const v1::OpSpec& spec : request.ops()) {
    if (data.empty() && (spec.op() == v1::OP_MIN || spec.op() == v1::OP_MAX)) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "tensor: min of no elements"};
    }
  }
  response.set_request_id(request.request_id());
  response.set_device("fake");
  // 1 to 6 us: no two stages alike.
  v1::Timing& timing = *response.mutable_timing();
  timing.set_receive_ns(1000);
  timing.set_queue_ns(2000);
  timing.set_host_to_device_ns(3000);
  timing.set_kernel_ns(4000);
  timing.set_device_to_host_ns(5000);
  timing.set_total_ns(6000);
  switch (request.sources(0).tensor().dtype()) {
    case v1::DTYPE_I32:
      ReduceTyped<std::int32_t>(request, data, layout, response);
      break;
    case v1::DTYPE_I64:
      ReduceTyped<std::int64_t>(request, data, layout, response);
      break;
    case v1::DTYPE_F32:
      ReduceTyped<float>(request, data, layout, response);
      break;
    case v1::DTYPE_F64:
      ReduceTyped<double>(request, data, layout, response);
      break;
    default:
      return {grpc::StatusCode::UNIMPLEMENTED, "tensor.dtype: not in this server"};
  }
  return grpc::Status::OK;
}

grpc::Status FakeService::Answer(const v1::ReduceRequest& request, const std::string& data,
                                 v1::ReduceResponse& response) const {
  for (const v1::OpSpec& spec : request.ops()) {
    if (std::find(info_.ops().begin(), info_.ops().end(), spec.op()) == info_.ops().end()) {
      return {grpc::StatusCode::UNIMPLEMENTED, "ops: not in this server"};
    }
  }
  return NaiveReduce(request, data, response);
}

FakeService::FakeService() {
  info_.set_version("fake-1");
  info_.set_backend("cpu");
  v1::Device& device = *info_.add_devices();
  device.set_name("cpu");
  device.set_model("naive loops");
  device.set_memory_bytes(1 << 30);
  info_.mutable_limits()->set_max_message_bytes(64 << 20);
  info_.mutable_limits()->set_max_tensor_bytes(std::int64_t{1} << 40);
  for (const auto op : {v1::OP_SUM, v1::OP_MIN, v1::OP_MAX, v1::OP_MEAN, v1::OP_STD,
                        v1::OP_NAN_COUNT, v1::OP_INF_COUNT}) {
    info_.add_ops(op);
  }
  for (const auto dtype : {v1::DTYPE_I32, v1::DTYPE_I64, v1::DTYPE_F32, v1::DTYPE_F64}) {
    info_.add_dtypes(dtype);
  }
}

void FakeService::FailNext(int count, const Failure& failure, int passed) {
  const std::lock_guard lock(mutex_);
  passed_left_ = passed;
  failures_left_ = count;
  failure_ = failure;
}

std::vector<std::size_t> FakeService::last_chunk_sizes() const {
  const std::lock_guard lock(mutex_);
  return chunk_sizes_;
}

v1::ReduceRequest FakeService::last_request() const {
  const std::lock_guard lock(mutex_);
  return request_;
}

void FakeService::AnswerWith(const v1::ReduceResponse& lie) {
  const std::lock_guard lock(mutex_);
  lie_ = lie;
}

std::optional<v1::ReduceResponse> FakeService::Lie() const {
  const std::lock_guard lock(mutex_);
  return lie_;
}

void FakeService::NoteAuthorization(const grpc::ServerContext& context) {
  std::string all;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto one = first; one != last; ++one) all.append(one->second.data(), one->second.size());
  const std::lock_guard lock(mutex_);
  authorizations_.push_back(std::move(all));
}

std::vector<std::string> FakeService::authorizations() const {
  const std::lock_guard lock(mutex_);
  return authorizations_;
}

grpc::Status FakeService::NextFailure(grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  if (failures_left_ == 0 || passed_left_-- > 0) return grpc::Status::OK;
  passed_left_ = 0;
  --failures_left_;
  if (failure_.pushback_trailer_ms.has_value()) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms",
                                std::to_string(*failure_.pushback_trailer_ms));
  }
  std::string details;
  if (failure_.retry_info_ms.has_value()) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_nanos(*failure_.retry_info_ms * 1'000'000);
    google::rpc::Status status;
    status.set_code(failure_.code);
    static_cast<void>(status.add_details()->PackFrom(info));  // always true
    details = status.SerializeAsString();
  }
  return {failure_.code, failure_.message, details};
}

grpc::Status FakeService::Reduce(grpc::ServerContext* context, const v1::ReduceRequest* request,
                                 v1::ReduceResponse* response) {
  const int number = ++unary_calls_;
  NoteAuthorization(*context);
  {
    const std::lock_guard lock(mutex_);
    request_ = *request;
    request_.clear_data();
  }
  if (hangs_ || number == hangs_at_) released_.WaitForNotification();
  if (grpc::Status failure = NextFailure(*context); !failure.ok()) return failure;
  if (const std::optional<v1::ReduceResponse> lie = Lie(); lie.has_value()) {
    *response = *lie;
    return grpc::Status::OK;
  }
  return Answer(*request, request->data(), *response);
}

grpc::Status FakeService::ReduceStream(grpc::ServerContext* context,
                                       grpc::ServerReader<v1::ReduceStreamRequest>* reader,
                                       v1::ReduceResponse* response) {
  ++stream_calls_;
  NoteAuthorization(*context);
  if (hangs_) released_.WaitForNotification();
  if (grpc::Status failure = NextFailure(*context); !failure.ok()) return failure;
  v1::ReduceStreamRequest part;
  if (!reader->Read(&part) || !part.has_header()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "header: missing"};
  }
  const v1::ReduceRequest header = part.header();
  std::string data;
  std::vector<std::size_t> sizes;
  while (reader->Read(&part)) {
    if (!part.has_chunk()) return {grpc::StatusCode::INVALID_ARGUMENT, "header: sent twice"};
    released_.WaitForNotificationWithTimeout(absl::FromChrono(pace_));
    sizes.push_back(part.chunk().size());
    data += part.chunk();
  }
  {
    const std::lock_guard lock(mutex_);
    chunk_sizes_ = sizes;
  }
  return Answer(header, data, *response);
}

grpc::Status FakeService::ReduceMany(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::ReduceManyResponse, v1::ReduceRequest>* stream) {
  NoteAuthorization(*context);
  v1::ReduceRequest request;
  while (stream->Read(&request)) {
    if (hangs_) released_.WaitForNotification();
    std::this_thread::sleep_for(pace_);
    v1::ReduceManyResponse item;
    item.set_request_id(request.request_id());
    grpc::Status answered = NextFailure(*context);
    if (answered.ok()) answered = Answer(request, request.data(), *item.mutable_response());
    if (!answered.ok()) {
      item.clear_response();
      static_cast<void>(item.mutable_status()->ParseFromString(answered.error_details()));
      item.mutable_status()->set_code(answered.error_code());
      item.mutable_status()->set_message(answered.error_message());
    }
    stream->Write(item);
  }
  return grpc::Status::OK;
}

grpc::Status FakeService::GetServerInfo(grpc::ServerContext* context,
                                        const v1::GetServerInfoRequest*,
                                        v1::GetServerInfoResponse* response) {
  NoteAuthorization(*context);
  *response = info_;
  return grpc::Status::OK;
}

FakeServer::FakeServer(Pings pings) {
  WarmUpMutexes();  // some of its clients try once
  int port = 0;
  grpc::ServerBuilder builder;
  // A window that grows would take all of a stream at once, whose client then sees no progress.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  if (pings == Pings::kPermitted) {
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  }
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeServer::~FakeServer() { Stop(); }

void FakeServer::Stop() {
  service_.Release();
  server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace warpfold::client
