#include "server/core/tensor_table.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/refusal.h"
#include "server/core/resident_tensor.h"

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

absl::Status CheckLimits(const TensorShape& shape, milliseconds ttl, const ResidentLimits& limits) {
  if (ttl < milliseconds(0) || ttl > limits.ttl_max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ttl_ms: ", ttl.count(), " is not between 0 and the limit of ", limits.ttl_max.count()));
  }
  const std::int64_t bytes_max = std::min(limits.tensor_bytes_max, limits.bytes_max);
  if (shape.size_bytes > bytes_max) {
    return RefusalStatus(
        NeverFits{}, absl::StrCat("tensor: ", shape.size_bytes,
                                  " bytes are above the limit of resident tensors, ", bytes_max));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(std::int64_t offset_bytes, std::int64_t size_bytes,
                        std::int64_t tensor_bytes) {
  if (offset_bytes < 0 || offset_bytes > tensor_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "offset_bytes: ", offset_bytes, " is outside the tensor's ", tensor_bytes, " bytes"));
  }
  if (size_bytes < 1 || size_bytes > tensor_bytes - offset_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("size_bytes: ", size_bytes, " from offset ", offset_bytes,
                     " on is empty or past the tensor's ", tensor_bytes, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

TensorTable::TensorTable(const std::vector<std::unique_ptr<Executor>>& executors,
                         const ResidentLimits& limits, Clock clock)
    : clock_(std::move(clock)), limits_(limits), homes_(executors.size()) {
  for (const std::unique_ptr<Executor>& executor : executors) executors_.push_back(executor.get());
}

absl::StatusOr<std::size_t> TensorTable::Reserve(std::int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const Home* roomiest = nullptr;
  for (const Home& home : homes_) {
    if (!home.lost && (roomiest == nullptr || home.bytes < roomiest->bytes)) roomiest = &home;
  }
  if (roomiest == nullptr) return absl::UnavailableError("every device is lost");
  if (reserved_ >= limits_.tensors_max || bytes > limits_.bytes_max - roomiest->bytes) {
    ++counts_.refused;
    return RefusalStatus(
        RetryLater{limits_.retry_delay},
        absl::StrCat("resident memory is full: ", reserved_, " of ", limits_.tensors_max,
                     " tensors, ", roomiest->bytes, " of ", limits_.bytes_max, " bytes"));
  }
  const std::size_t number = static_cast<std::size_t>(roomiest - homes_.data());
  homes_[number].bytes += bytes;
  ++reserved_;
  return number;
}

void TensorTable::Unreserve(std::size_t home, std::int64_t bytes) {
  homes_[home].bytes -= bytes;
  --reserved_;
}

// A tensor at its home, its memory taken; nobody else knows it yet.
absl::StatusOr<TensorTable::SharedTensor> TensorTable::Make(TensorShape shape) {
  const std::int64_t bytes = shape.size_bytes;
  const absl::StatusOr<std::size_t> home = Reserve(bytes);
  if (!home.ok()) return home.status();
  Executor& executor = *executors_[*home];
  absl::StatusOr<std::unique_ptr<TensorMemory>> memory = nullptr;
  if (bytes > 0) memory = executor.AllocateTensor(static_cast<std::size_t>(bytes));
  if (!memory.ok()) {
    absl::MutexLock lock(&mutex_);
    Unreserve(*home, bytes);
    if (!absl::IsResourceExhausted(memory.status())) return memory.status();
    ++counts_.refused;
    return RefusalStatus(RetryLater{limits_.retry_delay}, memory.status().message());
  }
  auto tensor = std::make_shared<ResidentTensor>();
  tensor->shape = std::move(shape);
  tensor->home = *home;
  tensor->device = &executor.info();
  tensor->memory = *std::move(memory);
  return tensor;
}

absl::StatusOr<TensorTable::Created> TensorTable::Create(TensorShape shape, milliseconds ttl) {
  Sweep();
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = CheckLimits(shape, ttl, limits_); !status.ok()) return status;
    if (ttl == milliseconds(0)) ttl = limits_.ttl;
  }
  absl::StatusOr<std::string> id = MakeId();
  if (!id.ok()) return id.status();
  absl::StatusOr<SharedTensor> made = Make(std::move(shape));
  if (!made.ok()) return made.status();
  ResidentTensor& tensor = **made;
  tensor.id = *id;
  tensor.ttl = ttl;
  tensor.last_use = clock_();
  absl::MutexLock lock(&mutex_);
  if (homes_[tensor.home].lost) {  // meanwhile
    Unreserve(tensor.home, tensor.shape.size_bytes);
    return absl::UnavailableError("the device was lost");
  }
  tensors_[*id] = *std::move(made);
  return Created{*std::move(id), ttl};
}

bool TensorTable::IsExpired(const ResidentTensor& tensor) const {
  return !tensor.in_use() && clock_() - tensor.last_use >= tensor.ttl;
}

absl::StatusOr<TensorTable::SharedTensor> TensorTable::Find(const std::string& id) const {
  const auto found = tensors_.find(id);
  if (found == tensors_.end() || IsExpired(*found->second)) {
    return absl::NotFoundError("tensor_id: there is no such tensor");
  }
  return found->second;
}

absl::StatusOr<TensorReadLease> TensorTable::Read(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SharedTensor> tensor = Find(id);
  if (!tensor.ok()) return tensor.status();
  if ((*tensor)->missing_bytes() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("tensor_id: ", (*tensor)->missing_bytes(), " of the tensor's ",
                     (*tensor)->shape.size_bytes, " bytes are not written"));
  }
  ++(*tensor)->reductions;
  ++counts_.reductions;
  return TensorReadLease(this, *std::move(tensor));
}

absl::StatusOr<TensorWriteLease> TensorTable::Write(const std::string& id,
                                                    std::int64_t offset_bytes,
                                                    std::int64_t size_bytes) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SharedTensor> found = Find(id);
  if (!found.ok()) return found.status();
  ResidentTensor& tensor = **found;
  absl::Status fits = CheckRange(offset_bytes, size_bytes, tensor.shape.size_bytes);
  if (!fits.ok()) return fits;
  const ByteRange range = {offset_bytes, offset_bytes + size_bytes};
  if (tensor.reductions > 0) {
    return absl::AbortedError("tensor_id: the tensor is being reduced");
  }
  if (tensor.being_written.Overlaps(range)) {
    return absl::AbortedError("offset_bytes: another call writes some of these bytes");
  }
  if (tensor.written.count() + tensor.being_written.count() >= kTensorPiecesMax) {
    return RefusalStatus(NeverFits{}, absl::StrCat("offset_bytes: the tensor is in ",
                                                   kTensorPiecesMax, " pieces already"));
  }
  tensor.written.Remove(range);
  tensor.being_written.Add(range);
  ++tensor.writes;
  ++counts_.writes;
  return TensorWriteLease(this, *std::move(found), range);
}

absl::Status TensorTable::Delete(const std::string& id) {
  SharedTensor tensor;
  {
    absl::MutexLock lock(&mutex_);
    absl::StatusOr<SharedTensor> found = Find(id);
    if (!found.ok()) return found.status();
    tensor = *std::move(found);
    tensors_.erase(id);
    NoteEnd(*tensor, TensorEnd::kDeleted);
    if (tensor->in_use()) return absl::OkStatus();
  }
  Free(*tensor);
  return absl::OkStatus();
}

void TensorTable::NoteEnd(ResidentTensor& tensor, TensorEnd why) {
  tensor.ended = true;
  ++counts_.ended[static_cast<std::size_t>(why)];
  ++counts_.ending.tensors;
  counts_.ending.bytes += tensor.shape.size_bytes;
}

void TensorTable::Free(ResidentTensor& tensor) {
  tensor.memory = nullptr;  // a call to the device: without the lock
  absl::MutexLock lock(&mutex_);
  --counts_.ending.tensors;
  counts_.ending.bytes -= tensor.shape.size_bytes;
  Unreserve(tensor.home, tensor.shape.size_bytes);
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
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      if (&executors_[i]->info() == &device) homes_[i].lost = true;
    }
  }
  EndAll(TensorEnd::kDeviceLost,
         [&device](const ResidentTensor& tensor) { return tensor.device == &device; });
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
                                                   const ByteRange& range, bool is_written) {
  {
    absl::MutexLock lock(&mutex_);
    --tensor->writes;
    --counts_.writes;
    tensor->last_use = clock_();
    tensor->being_written.Remove(range);
    if (is_written) tensor->written.Add(range);
    if (!tensor->ended) return tensor->missing_bytes();
    if (tensor->in_use()) return absl::NotFoundError("tensor_id: the tensor has ended");
  }
  Free(*tensor);
  return absl::NotFoundError("tensor_id: the tensor has ended");
}

bool TensorTable::HasEnded(const ResidentTensor& tensor) const {
  absl::MutexLock lock(&mutex_);
  return tensor.ended;
}

std::vector<TensorReport> TensorTable::List() const {
  absl::MutexLock lock(&mutex_);
  std::vector<TensorReport> reports;
  for (const auto& [id, tensor] : tensors_) {
    if (IsExpired(*tensor)) continue;
    TensorReport report;
    report.id = id;
    report.shape = tensor->shape;
    report.missing_bytes = tensor->missing_bytes();
    report.device = tensor->device->name;
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
    TensorCount& count = tensor->missing_bytes() > 0 ? state.incomplete : state.complete;
    ++count.tensors;
    count.bytes += tensor->shape.size_bytes;
  }
  return state;
}

}  // namespace warpfold
