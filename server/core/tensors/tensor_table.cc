#include "server/core/tensors/tensor_table.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"
#include "server/core/tensors/resident_tensor.h"

namespace warpfold {
namespace {

using std::chrono::milliseconds;

// 128 random bits: an id of a tensor that has gone, here or in an earlier server, never comes back.
absl::StatusOr<std::string> MakeId() {
  std::array<char, 16> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
    return absl::InternalError("the system has no random bits");
  }
  return absl::BytesToHexString(absl::string_view(bits.data(), bits.size()));
}

absl::Status EndedError() {
  return FieldStatus(Field::kTensorId, absl::NotFoundError("the tensor has ended"));
}

absl::Status CheckTtl(milliseconds ttl, const ResidentLimits& limits) {
  if (ttl >= milliseconds(0) && ttl <= limits.ttl_max) return absl::OkStatus();
  return InvalidField(Field::kTtl, absl::StrCat(ttl.count(), " is not between 0 and the limit of ",
                                                limits.ttl_max.count()));
}

absl::Status CheckFitsQuota(const TensorShape& shape, const CallerQuotas& quotas) {
  absl::Status fits =
      warpfold::CheckFitsQuota(kSharedTensorBytes, quotas.resident_bytes, shape.size_bytes);
  return fits.ok() ? fits : FieldStatus(Field::kTensor, fits);
}

absl::Status CheckRange(std::int64_t offset_bytes, std::int64_t size_bytes,
                        std::int64_t tensor_bytes) {
  if (offset_bytes < 0 || offset_bytes > tensor_bytes) {
    return InvalidField(Field::kOffsetBytes, absl::StrCat(offset_bytes, " is outside the tensor's ",
                                                          tensor_bytes, " bytes"));
  }
  if (size_bytes < 1 || size_bytes > tensor_bytes - offset_bytes) {
    return InvalidField(Field::kSizeBytes,
                        absl::StrCat(size_bytes, " from offset ", offset_bytes,
                                     " on is empty or past the tensor's ", tensor_bytes, " bytes"));
  }
  return absl::OkStatus();
}

// Whether a call may write `range`. One that joins ranges, or takes their place, may when no more
// are allowed: the upload could not be completed otherwise. Until it is written it may cut one in
// two, so that the bound is then twice as many.
bool HasRoomFor(const ResidentTensor& tensor, const ByteRange& range) {
  const std::size_t pieces = tensor.written.count() + tensor.being_written.count();
  if (pieces + 2 <= kTensorPiecesMax) return true;
  ByteRanges after = tensor.written;
  after.Remove(range);
  if (after.count() + tensor.being_written.count() < kTensorPiecesMax) return true;
  after.Add(range);
  return after.count() <= tensor.written.count() && pieces < 2 * kTensorPiecesMax;
}

}  // namespace

TensorTable::TensorTable(const std::vector<std::unique_ptr<Executor>>& executors,
                         const ResidentLimits& limits, Clock clock)
    : clock_(std::move(clock)), limits_(limits), room_(executors) {}

std::vector<TensorTable::SharedTensor> TensorTable::Unused() const {
  std::vector<SharedTensor> unused;
  const auto now = clock_();
  for (const auto& [id, tensor] : tensors_) {
    if (!tensor->in_use() && now - tensor->last_use >= limits_.ttl) unused.push_back(tensor);
  }
  std::stable_sort(unused.begin(), unused.end(), [](const SharedTensor& a, const SharedTensor& b) {
    return a->last_use < b->last_use;
  });
  return unused;
}

absl::StatusOr<std::vector<PlacedRange>> TensorTable::Reserve(const TensorRoom::Asked& asked,
                                                              std::vector<SharedTensor>& gone) {
  using Lack = TensorRoom::Plan::Lack;
  TensorRoom::Plan plan = room_.PlanFor(asked, {});
  if (plan.lack != Lack::kNothing) plan = room_.PlanFor(asked, Unused());
  if (plan.lack != Lack::kNothing) {
    ++(plan.lack == Lack::kShare ? counts_.refused_share : counts_.refused);
    return plan.why;
  }
  if (plan.ends.empty()) return room_.Take(asked);
  for (const SharedTensor& tensor : plan.ends) {
    tensors_.erase(tensor->id);
    NoteEnd(*tensor, TensorEnd::kMadeRoom);
  }
  gone = std::move(plan.ends);
  return std::vector<PlacedRange>();
}

absl::Status TensorTable::TakeMemory(ResidentTensor& tensor) {
  for (const PlacedRange& place : tensor.places) {
    const DeviceInfo& device = place.executor->info();
    Shard& shard =
        tensor.shards.emplace_back(Shard{&device, nullptr, place.offset_bytes, place.size_bytes});
    absl::StrAppend(&tensor.devices.name, tensor.devices.name.empty() ? "" : ",", device.name);
    if (place.size_bytes == 0) continue;
    absl::StatusOr<std::unique_ptr<TensorMemory>> memory =
        place.executor->AllocateTensor(static_cast<std::size_t>(place.size_bytes));
    if (!memory.ok()) return memory.status();
    shard.data = (*memory)->data();
    tensor.memory.push_back(*std::move(memory));
  }
  return absl::OkStatus();
}

// A tensor at its placement, its memory taken; nobody else knows it yet.
absl::StatusOr<TensorTable::SharedTensor> TensorTable::Make(Access access, TensorShape shape,
                                                            const CallerQuotas& quotas) {
  auto tensor = std::make_shared<ResidentTensor>();
  tensor->access = std::move(access);
  tensor->shape = std::move(shape);
  absl::StatusOr<std::vector<PlacedRange>> places;
  std::vector<SharedTensor> gone;
  do {
    for (const SharedTensor& other : gone) Free(*other);
    gone.clear();
    absl::MutexLock lock(&mutex_);
    places = Reserve({tensor->access.owner, quotas, tensor->shape, limits_}, gone);
  } while (!gone.empty());
  if (!places.ok()) return places.status();
  tensor->places = *std::move(places);
  const absl::Status made = TakeMemory(*tensor);
  if (made.ok()) return tensor;
  tensor->memory.clear();  // calls to the devices: without the lock
  absl::MutexLock lock(&mutex_);
  room_.GiveBack(tensor->access.owner, tensor->places);
  if (!absl::IsResourceExhausted(made)) return made;
  ++counts_.refused;
  return RefusalStatus(RetryLater{limits_.retry_delay},
                       absl::StrCat("resident memory is full: ", made.message()));
}

absl::StatusOr<TensorTable::Created> TensorTable::Create(Access access, TensorShape shape,
                                                         milliseconds ttl,
                                                         const CallerQuotas& quotas) {
  Sweep();
  {
    absl::MutexLock lock(&mutex_);
    absl::Status status = CheckTtl(ttl, limits_);
    if (status.ok()) status = room_.placement().CheckFits(shape, limits_);
    if (status.ok()) status = CheckFitsQuota(shape, quotas);
    if (!status.ok()) return status;
    if (ttl == milliseconds(0)) ttl = limits_.ttl;
  }
  absl::StatusOr<std::string> id = MakeId();
  if (!id.ok()) return id.status();
  absl::StatusOr<SharedTensor> made = Make(std::move(access), std::move(shape), quotas);
  if (!made.ok()) return made.status();
  ResidentTensor& tensor = **made;
  tensor.id = *id;
  tensor.ttl = ttl;
  tensor.last_use = clock_();
  absl::MutexLock lock(&mutex_);
  if (!room_.placement().AreAllLeft(tensor.places)) {  // meanwhile
    room_.GiveBack(tensor.access.owner, tensor.places);
    return absl::UnavailableError("the device was lost");
  }
  tensors_[*id] = *std::move(made);
  return Created{*std::move(id), ttl};
}

bool TensorTable::IsExpired(const ResidentTensor& tensor) const {
  return !tensor.in_use() && clock_() - tensor.last_use >= tensor.ttl;
}

absl::StatusOr<TensorTable::SharedTensor> TensorTable::Find(const std::string& id,
                                                            const Caller& caller, May may) const {
  const auto found = tensors_.find(id);
  if (found == tensors_.end() || IsExpired(*found->second) ||
      !(found->second->access.*may)(caller)) {
    return FieldStatus(Field::kTensorId, absl::NotFoundError("there is no such tensor"));
  }
  return found->second;
}

absl::StatusOr<TensorReadLease> TensorTable::Read(const Caller& caller, const std::string& id,
                                                  bool consume) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SharedTensor> tensor = Find(id, caller, &Access::MayRead);
  if (!tensor.ok()) return tensor.status();
  if (consume && !(*tensor)->access.MayWrite(caller)) {
    return FieldStatus(Field::kConsume,
                       absl::PermissionDeniedError("the tensor is another caller's"));
  }
  if ((*tensor)->missing_bytes() > 0) {
    return FieldStatus(Field::kTensorId,
                       absl::FailedPreconditionError(
                           absl::StrCat((*tensor)->missing_bytes(), " of the tensor's ",
                                        (*tensor)->shape.size_bytes, " bytes are not written")));
  }
  ++(*tensor)->reductions;
  ++counts_.reductions;
  return TensorReadLease(this, *std::move(tensor));
}

absl::StatusOr<TensorWriteLease> TensorTable::Write(const Caller& caller, const std::string& id,
                                                    std::int64_t offset_bytes,
                                                    std::int64_t size_bytes, CancelToken* writer) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SharedTensor> found = Find(id, caller, &Access::MayWrite);
  if (!found.ok()) return found.status();
  ResidentTensor& tensor = **found;
  absl::Status fits = CheckRange(offset_bytes, size_bytes, tensor.shape.size_bytes);
  if (!fits.ok()) return fits;
  const ByteRange range = {offset_bytes, offset_bytes + size_bytes};
  if (tensor.reductions > 0) {
    return FieldStatus(Field::kTensorId, absl::AbortedError("the tensor is being reduced"));
  }
  if (tensor.being_written.Overlaps(range)) {
    return FieldStatus(Field::kOffsetBytes,
                       absl::AbortedError("another call writes some of these bytes"));
  }
  if (!HasRoomFor(tensor, range)) {
    return FieldStatus(
        Field::kOffsetBytes,
        RefusalStatus(NeverFits{},
                      absl::StrCat("the tensor is in ", kTensorPiecesMax, " pieces already")));
  }
  tensor.written.Remove(range);
  tensor.being_written.Add(range);
  ++tensor.writes;
  ++counts_.writes;
  if (writer != nullptr) tensor.writers.push_back(writer);
  return TensorWriteLease(this, *std::move(found), range, writer);
}

absl::StatusOr<std::string> TensorTable::Delete(const Caller& caller, const std::string& id) {
  SharedTensor tensor;
  {
    absl::MutexLock lock(&mutex_);
    absl::StatusOr<SharedTensor> found = Find(id, caller, &Access::MayEnd);
    if (!found.ok()) return found.status();
    tensor = *std::move(found);
    tensors_.erase(id);
    NoteEnd(*tensor, TensorEnd::kDeleted);
    if (tensor->in_use()) return tensor->access.owner;
  }
  Free(*tensor);
  return tensor->access.owner;
}

void TensorTable::NoteEnd(ResidentTensor& tensor, TensorEnd why) {
  tensor.ended = true;
  for (CancelToken* writer : tensor.writers) writer->Cancel(EndedError());
  ++counts_.ended[static_cast<std::size_t>(why)];
  counts_.ending += {1, tensor.shape.size_bytes};
}

void TensorTable::Free(ResidentTensor& tensor) {
  tensor.memory.clear();  // calls to the devices: without the lock
  absl::MutexLock lock(&mutex_);
  counts_.ending -= {1, tensor.shape.size_bytes};
  room_.GiveBack(tensor.access.owner, tensor.places);
}

template <typename Predicate>
void TensorTable::EndAll(TensorEnd why, const Predicate& which) {
  std::vector<SharedTensor> unused;
  {
    absl::MutexLock lock(&mutex_);
    for (auto at = tensors_.begin(); at != tensors_.end();) {
      const SharedTensor tensor = at->second;
      if (!which(*tensor)) {
        ++at;
        continue;
      }
      at = tensors_.erase(at);
      NoteEnd(*tensor, why);
      if (!tensor->in_use()) unused.push_back(tensor);
    }
  }
  for (const SharedTensor& tensor : unused) Free(*tensor);
}

void TensorTable::Sweep() {
  EndAll(TensorEnd::kExpired, [this](const ResidentTensor& tensor) { return IsExpired(tensor); });
}

void TensorTable::DropDevice(const DeviceInfo& device) {
  {
    absl::MutexLock lock(&mutex_);
    room_.Lose(device);
  }
  EndAll(TensorEnd::kDeviceLost, [&device](const ResidentTensor& tensor) {
    return std::any_of(tensor.shards.begin(), tensor.shards.end(),
                       [&device](const Shard& shard) { return shard.device == &device; });
  });
}

void TensorTable::SetLimits(const ResidentLimits& limits) {
  absl::MutexLock lock(&mutex_);
  limits_ = limits;
}

void TensorTable::EndRead(const SharedTensor& tensor, bool consume) {
  {
    absl::MutexLock lock(&mutex_);
    --tensor->reductions;
    --counts_.reductions;
    tensor->last_use = clock_();
    if (consume && !tensor->ended) {
      tensors_.erase(tensor->id);
      NoteEnd(*tensor, TensorEnd::kConsumed);
    }
    if (!tensor->ended || tensor->in_use()) return;
  }
  Free(*tensor);
}

absl::StatusOr<std::int64_t> TensorTable::EndWrite(const SharedTensor& tensor,
                                                   const ByteRange& range, CancelToken* writer,
                                                   bool is_written) {
  {
    absl::MutexLock lock(&mutex_);
    --tensor->writes;
    --counts_.writes;
    tensor->last_use = clock_();
    tensor->being_written.Remove(range);
    std::erase(tensor->writers, writer);
    if (is_written) tensor->written.Add(range);
    if (!tensor->ended) return tensor->missing_bytes();
    if (tensor->in_use()) return EndedError();
  }
  Free(*tensor);
  return EndedError();
}

std::vector<TensorReport> TensorTable::List(const Caller& caller) const {
  absl::MutexLock lock(&mutex_);
  std::vector<TensorReport> reports;
  for (const auto& [id, tensor] : tensors_) {
    if (IsExpired(*tensor) || !tensor->access.MayEnd(caller)) continue;
    TensorReport report;
    report.id = id;
    report.access = tensor->access;
    report.shape = tensor->shape;
    report.missing_bytes = tensor->missing_bytes();
    report.device = tensor->devices.name;
    report.reductions = tensor->reductions;
    report.writes = tensor->writes;
    report.ttl = tensor->ttl;
    if (!tensor->in_use()) {
      report.idle = std::chrono::duration_cast<milliseconds>(clock_() - tensor->last_use);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

TensorTableState TensorTable::state() const {
  absl::MutexLock lock(&mutex_);
  TensorTableState state = counts_;
  for (const auto& [id, tensor] : tensors_) {
    (tensor->missing_bytes() > 0 ? state.incomplete : state.complete) +=
        {1, tensor->shape.size_bytes};
  }
  return state;
}

}  // namespace warpfold
