#include "server/core/request/request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/numerics.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

absl::Status AboveLimit(absl::string_view what, std::int64_t limit_bytes) {
  return FieldStatus(Field::kTensor,
                     RefusalStatus(NeverFits{}, absl::StrCat(what, " above the limit of ",
                                                             limit_bytes, " bytes")));
}

// Options of the contract that this server does not have, or not together.
absl::Status CheckOptions(const RequestSpec& spec) {
  const bool is_resident = std::holds_alternative<InTensor>(spec.source);
  if (spec.part.has_value() && !spec.return_state) {
    return InvalidField(Field::kPart, "only a state is asked of a part: set return_state");
  }
  if (spec.return_state && is_resident) {
    return FieldStatus(
        Field::kReturnState,
        absl::UnimplementedError("states of resident tensors are not in this server yet"));
  }
  if (spec.consume && !is_resident) return InvalidField(Field::kConsume, "goes with tensor_id");
  return absl::OkStatus();
}

// The part that `spec` describes; without `part` that is the whole.
absl::StatusOr<Part> PlanPart(RequestSpec& spec) {
  ReduceSpec& reduce = spec.reduce;
  Box box{std::vector<std::int64_t>(reduce.shape.size()), reduce.shape};
  if (spec.part.has_value()) {
    if (spec.part->whole_shape.empty() && !box.shape.empty()) {
      return InvalidField(Field::kPartWholeShape, absl::StrCat("is missing; the part has ",
                                                               box.shape.size(), " dimensions"));
    }
    reduce.shape = std::move(spec.part->whole_shape);
    box.offset = std::move(spec.part->offset);
  }
  absl::StatusOr<Plan> whole = MakePlan(reduce);
  if (!whole.ok()) {
    // What is wrong with a shape is wrong with the whole's.
    const std::optional<FieldError> error = FieldErrorOf(whole.status());
    const bool is_of_shape = error.has_value() && error->field == Field::kTensorShape;
    if (!spec.part.has_value() || !is_of_shape) return whole.status();
    return InvalidField(Field::kPartWholeShape, error->text);
  }
  return MakePart(std::move(reduce), *std::move(whole), std::move(box));
}

absl::StatusOr<Request> PlanResident(RequestSpec spec, const Caller& caller, const Limits& limits,
                                     TensorTable& tensors) {
  absl::StatusOr<TensorReadLease> tensor =
      tensors.Read(caller, std::get<InTensor>(spec.source).id, spec.consume);
  if (!tensor.ok()) return tensor.status();
  const TensorShape& shape = tensor->shape();
  if (!spec.has_tensor) {
    spec.reduce.dtype = shape.dtype;
    spec.reduce.shape = shape.lengths;
  } else if (spec.reduce.dtype != shape.dtype || spec.reduce.shape != shape.lengths) {
    return InvalidField(Field::kTensor, "is not that of tensor_id");
  }
  absl::StatusOr<Request> request = PlanRequest(std::move(spec), limits);
  if (request.ok()) request->source = *std::move(tensor);
  return request;
}

// `request`, whose tensor begins `offset_bytes` into memory on a device.
absl::Status CheckOnDevice(const Request& request, std::int64_t offset_bytes) {
  if (request.part.has_value()) {
    return FieldStatus(
        Field::kReturnState,
        absl::UnimplementedError("states of memory on devices are not in this server yet"));
  }
  const auto element_bytes = static_cast<std::int64_t>(ElementBytes(request.plan.dtype));
  if (offset_bytes % element_bytes == 0) return absl::OkStatus();
  return InvalidField(
      Field::kMemoryOffsetBytes,
      absl::StrCat(offset_bytes, " is no multiple of the element's ", element_bytes, " bytes"));
}

absl::StatusOr<Request> PlanInRegion(RequestSpec spec, const Caller& caller, const Limits& limits,
                                     RegionTable& regions) {
  const InRegion memory = std::get<InRegion>(spec.source);
  absl::StatusOr<Request> request = PlanRequest(std::move(spec), limits);
  if (!request.ok()) return request;
  absl::StatusOr<RegionLease> range =
      regions.Use({caller.name, memory.name}, memory.offset_bytes, memory.size_bytes);
  if (!range.ok()) return range.status();
  if (range->size_bytes() != request->plan.input_bytes) {
    return InvalidField(Field::kMemorySizeBytes,
                        absl::StrCat("is ", range->size_bytes(), ", but tensor describes ",
                                     request->plan.input_bytes));
  }
  if (range->device() != nullptr) {
    absl::Status status = CheckOnDevice(*request, memory.offset_bytes);
    if (!status.ok()) return status;
  }
  request->source.emplace<RegionPayload>().Set(*std::move(range));
  return request;
}

}  // namespace

std::int64_t Request::answer_bytes() const {
  return part.has_value() ? StateBytesOf(part->whole, part->box) : plan.result_bytes();
}

void Request::FillTask(Task& task) {
  task.plan = &plan;
  if (auto* region = std::get_if<RegionPayload>(&source)) {
    task.payload = region;
    task.device = region->lease().device();
    if (task.device != nullptr) task.action = ReduceTensor{region->lease().device_data()};
  } else if (const auto* tensor = std::get_if<TensorReadLease>(&source)) {
    const absl::Span<const Shard> shards = tensor->shards();
    task.device = shards.front().device;
    task.action = ReduceTensor{shards.front().data};
    if (shards.size() > 1) {
      task.shards = shards;
      task.shard_devices = &tensor->devices();
    }
  }
}

void Request::ReleaseSource(bool answered) {
  if (auto* tensor = std::get_if<TensorReadLease>(&source)) tensor->Release(answered && consume);
  source = std::monostate();
}

absl::StatusOr<Request> PlanRequest(RequestSpec spec, const Limits& limits) {
  absl::Status status = CheckRequestId(spec.id, limits);
  if (status.ok()) status = CheckNumericsVersion(spec.required_numerics_version);
  if (status.ok()) status = CheckOpCount(spec.reduce.ops.size(), limits);
  if (status.ok()) status = CheckOptions(spec);
  if (!status.ok()) return status;
  Request request{.id = std::move(spec.id), .consume = spec.consume};
  if (spec.return_state) {
    absl::StatusOr<Part> part = PlanPart(spec);
    if (!part.ok()) return part.status();
    request.plan = PlanOf(*part);
    request.part = *std::move(part);
  } else {
    absl::StatusOr<Plan> plan = MakePlan(spec.reduce);
    if (!plan.ok()) return plan.status();
    request.plan = *std::move(plan);
  }
  status = CheckTensorBytes(request.plan, limits);
  if (status.ok()) {
    status = request.part.has_value()
                 ? CheckStateSize(request.part->whole, request.part->box, limits)
                 : CheckResultSize(request.plan, limits);
  }
  if (!status.ok()) return status;
  return request;
}

absl::StatusOr<Request> MakeRequest(RequestSpec spec, const Caller& caller, const Limits& limits,
                                    TensorTable& tensors, RegionTable& regions) {
  if (std::holds_alternative<InTensor>(spec.source)) {
    return PlanResident(std::move(spec), caller, limits, tensors);
  }
  if (std::holds_alternative<InRegion>(spec.source)) {
    return PlanInRegion(std::move(spec), caller, limits, regions);
  }
  return PlanRequest(std::move(spec), limits);
}

std::string CutRequestId(const std::string& id, const Limits& limits) {
  std::size_t size = static_cast<std::size_t>(limits.max_request_id_bytes);
  const auto is_within = [&id](std::size_t at) {
    return (static_cast<unsigned char>(id[at]) & 0xC0U) == 0x80U;
  };
  while (size > 0 && size < id.size() && is_within(size)) --size;
  return id.substr(0, size);
}

absl::Status CheckRequestId(const std::string& id, const Limits& limits) {
  if (id.size() <= static_cast<std::size_t>(limits.max_request_id_bytes)) return absl::OkStatus();
  return InvalidField(Field::kRequestId, absl::StrCat(id.size(), " bytes are above the limit of ",
                                                      limits.max_request_id_bytes));
}

absl::Status CheckNumericsVersion(std::uint32_t required) {
  if (required == 0 || required == kNumericsVersion) return absl::OkStatus();
  return FieldStatus(
      Field::kRequiredNumericsVersion,
      absl::FailedPreconditionError(
          absl::StrCat(required, " is asked for, but this server has version ", kNumericsVersion)));
}

absl::Status CheckOpCount(std::size_t ops, const Limits& limits) {
  if (ops <= static_cast<std::size_t>(limits.max_ops)) return absl::OkStatus();
  return InvalidField(Field::kOps, absl::StrCat(ops, " are above the limit of ", limits.max_ops));
}

absl::Status CheckTensorBytes(const Plan& plan, const Limits& limits) {
  if (plan.input_bytes <= limits.max_tensor_bytes) return absl::OkStatus();
  return FieldStatus(
      Field::kTensor,
      RefusalStatus(NeverFits{}, absl::StrCat(plan.input_bytes, " bytes are above the limit of ",
                                              limits.max_tensor_bytes)));
}

absl::Status CheckResultSize(const Plan& plan, const Limits& limits) {
  // Per op first: the sum over ops cannot overflow once one op's results fit.
  const bool one_fits = plan.output_count <= limits.max_result_bytes;
  if (one_fits && plan.result_bytes() <= limits.max_result_bytes) return absl::OkStatus();
  return AboveLimit("the results are", limits.max_result_bytes);
}

absl::Status CheckStateSize(const Plan& whole, const Box& box, const Limits& limits) {
  if (whole.output_count <= limits.max_result_bytes &&
      StateBytesOf(whole, box) <= limits.max_result_bytes) {
    return absl::OkStatus();
  }
  return AboveLimit("the state is", limits.max_result_bytes);
}

std::int64_t StateBytesOf(const Plan& whole, const Box& box) {
  if (box.is_empty()) return 0;
  std::int64_t bytes = 0;
  for (const ValueKind kind : ValueKindsOf(whole)) {
    bytes += static_cast<std::int64_t>(ValueBytesMax(kind, whole.dtype));
  }
  return bytes * whole.output_count;
}

}  // namespace warpfold
