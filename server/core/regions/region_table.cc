#include "server/core/regions/region_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

constexpr std::size_t kNameBytesMax = 256;

absl::Status CheckName(const std::string& name) {
  if (!name.empty() && name.size() <= kNameBytesMax) return absl::OkStatus();
  return InvalidField(Field::kName,
                      absl::StrCat("has ", name.size(), " bytes, and not 1 to ", kNameBytesMax));
}

}  // namespace

RegionTable::RegionTable(const std::vector<std::unique_ptr<Executor>>& executors,
                         const RegionLimits& limits)
    : limits_(limits) {
  for (const std::unique_ptr<Executor>& executor : executors) executors_.push_back(executor.get());
}

absl::Status RegionTable::CheckOffer(const RegionName& name, RegionKind kind,
                                     std::int64_t size_bytes) const {
  const bool is_system = kind == RegionKind::kSystem;
  if (is_system ? limits_.shared_prefix.empty() : limits_.cuda_bytes_max == 0) {
    return FieldStatus(is_system ? Field::kKey : Field::kHandle,
                       absl::UnimplementedError(
                           "this server registers no such memory; its operator may allow it"));
  }
  if (absl::Status status = CheckName(name.name); !status.ok()) return status;
  if (size_bytes < 1) {
    return InvalidField(Field::kSizeBytes, absl::StrCat(size_bytes, " is below 1"));
  }
  if (regions_.contains(name)) {
    return FieldStatus(Field::kName,
                       absl::AlreadyExistsError("a region of that name is registered"));
  }
  if (size_bytes <= BytesMax(kind)) return absl::OkStatus();
  return FieldStatus(
      Field::kSizeBytes,
      RefusalStatus(NeverFits{}, absl::StrCat(size_bytes, " are above the limit of such memory, ",
                                              BytesMax(kind))));
}

absl::Status RegionTable::CheckRoom(RegionKind kind, std::int64_t size_bytes) {
  std::int64_t regions = 0;
  for (const Holdings& held : held_) regions += held.all().count;
  const std::int64_t bytes_max = BytesMax(kind);
  if (regions < limits_.regions_max && size_bytes <= bytes_max - HeldOf(kind).all().bytes) {
    return absl::OkStatus();
  }
  ++counts_.refused;
  // Not how many are held: other callers hold them.
  return RefusalStatus(RetryLater{limits_.retry_delay},
                       absl::StrCat("no room for a region: too few of the ", limits_.regions_max,
                                    " regions and ", bytes_max, " bytes are left"));
}

absl::Status RegionTable::CheckOwnersShare(const std::string& owner, RegionKind kind,
                                           std::int64_t size_bytes, const CallerQuotas& quotas) {
  if (owner.empty()) return absl::OkStatus();  // everyone's
  const RetryLater later{limits_.retry_delay};
  SharedUse regions{.max = limits_.regions_max, .quota = quotas.regions};
  for (const Holdings& held : held_) {
    regions.held += held.Of(owner).count;
    regions.held_by_all += held.all().count;
  }
  absl::Status share = CheckShare(kSharedRegions, regions, 1, later);
  if (share.ok()) {
    const Holdings& held = HeldOf(kind);
    share = CheckShare(kind == RegionKind::kSystem ? kSharedSystemBytes : kSharedCudaBytes,
                       {held.Of(owner).bytes, held.all().bytes, BytesMax(kind)}, size_bytes, later);
  }
  if (!share.ok()) ++counts_.refused_share;
  return share;
}

absl::StatusOr<std::unique_ptr<Region>> RegionTable::Reserve(const RegionName& name,
                                                             RegionKind kind,
                                                             std::int64_t size_bytes,
                                                             const CallerQuotas& quotas) {
  auto region = std::make_unique<Region>();
  region->owner = name.owner;
  region->kind = kind;
  region->size_bytes = size_bytes;
  absl::MutexLock lock(&mutex_);
  absl::Status status = CheckOffer(name, kind, size_bytes);
  if (status.ok()) status = CheckRoom(kind, size_bytes);
  if (status.ok()) status = CheckOwnersShare(name.owner, kind, size_bytes, quotas);
  if (!status.ok()) return status;
  HeldOf(kind).Add(name.owner, size_bytes);
  regions_[name] = nullptr;
  return region;
}

void RegionTable::Close(Region* region) {
  const std::string owner = region->owner;
  const RegionKind kind = region->kind;
  const std::int64_t size_bytes = region->size_bytes;
  delete region;
  absl::MutexLock lock(&mutex_);
  HeldOf(kind).Remove(owner, size_bytes);
}

absl::Status RegionTable::OpenShared(Region& region, const std::string& key,
                                     const std::string& prefix, std::int64_t offset_bytes) const {
  absl::StatusOr<SharedSegment> segment =
      SharedSegment::Open(key, prefix, offset_bytes, region.size_bytes);
  if (!segment.ok()) return segment.status();
  region.segment = *std::move(segment);
  if (!region.segment.is_writable()) return absl::OkStatus();  // devices map nothing else
  absl::StatusOr<std::unique_ptr<TensorMemory>> mapped = executors_.front()->MapShared(
      region.segment.descriptor(), offset_bytes, static_cast<std::size_t>(region.size_bytes));
  if (!mapped.ok()) return mapped.status();
  region.mapped = *std::move(mapped);
  return absl::OkStatus();
}

absl::Status RegionTable::Add(const RegionName& name, RegionKind kind, std::int64_t size_bytes,
                              const CallerQuotas& quotas,
                              const std::function<absl::Status(Region&)>& open) {
  absl::StatusOr<std::unique_ptr<Region>> region = Reserve(name, kind, size_bytes, quotas);
  if (!region.ok()) return region.status();
  absl::Status status = open(**region);
  if (!status.ok()) Close(region->release());
  absl::MutexLock lock(&mutex_);
  if (!status.ok()) {
    regions_.erase(name);
    return status;
  }
  regions_[name] = SharedRegion(
      region->release(), [this](Region* last) { closing_.Run([this, last] { Close(last); }); });
  return absl::OkStatus();
}

absl::Status RegionTable::RegisterShared(const RegionName& name, const std::string& key,
                                         std::int64_t offset_bytes, std::int64_t size_bytes,
                                         const CallerQuotas& quotas) {
  std::string prefix;
  {
    absl::MutexLock lock(&mutex_);
    prefix = limits_.shared_prefix;
  }
  return Add(name, RegionKind::kSystem, size_bytes, quotas,
             [&](Region& region) { return OpenShared(region, key, prefix, offset_bytes); });
}

absl::Status RegionTable::RegisterCuda(const RegionName& name, const std::string& handle,
                                       std::int64_t device_ordinal, std::int64_t size_bytes,
                                       const CallerQuotas& quotas) {
  return Add(name, RegionKind::kCuda, size_bytes, quotas, [&](Region& region) -> absl::Status {
    // Not its place among the executors: GPUs may have been left out.
    const auto found = std::find_if(executors_.begin(), executors_.end(), [&](const auto& device) {
      return device->info().ordinal == device_ordinal;
    });
    if (found == executors_.end()) {
      return InvalidField(
          Field::kDeviceOrdinal,
          absl::StrCat(device_ordinal, " is none of the server's ", executors_.size(), " devices"));
    }
    Executor& executor = **found;
    absl::StatusOr<std::unique_ptr<PeerMemory>> peer = executor.OpenPeer(handle, size_bytes);
    if (!peer.ok()) return peer.status();
    region.peer = *std::move(peer);
    region.device = &executor.info();
    region.device_ordinal = device_ordinal;
    return absl::OkStatus();
  });
}

absl::StatusOr<RegionLease> RegionTable::Use(const RegionName& name, std::int64_t offset_bytes,
                                             std::int64_t size_bytes) {
  SharedRegion region;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = regions_.find(name);
    if (found != regions_.end()) region = found->second;
  }
  if (region == nullptr) {
    return FieldStatus(Field::kMemoryName, absl::NotFoundError("there is no such region"));
  }
  if (offset_bytes < 0 || offset_bytes > region->size_bytes) {
    return InvalidField(
        Field::kMemoryOffsetBytes,
        absl::StrCat(offset_bytes, " is outside the region's ", region->size_bytes, " bytes"));
  }
  if (size_bytes < 0 || size_bytes > region->size_bytes - offset_bytes) {
    return InvalidField(Field::kMemorySizeBytes,
                        absl::StrCat(size_bytes, " from offset ", offset_bytes,
                                     " on is past the region's ", region->size_bytes, " bytes"));
  }
  // What workers have mapped stays as it was: a segment that shrank has to be noticed here.
  if (region->kind == RegionKind::kSystem) {
    if (absl::Status status = region->segment.CheckSize(); !status.ok()) return status;
  }
  return RegionLease(std::move(region), offset_bytes, size_bytes);
}

absl::StatusOr<RegionLease> RegionTable::UseForResults(const RegionName& name,
                                                       std::int64_t offset_bytes,
                                                       std::int64_t size_bytes) {
  absl::StatusOr<RegionLease> lease = Use(name, offset_bytes, size_bytes);
  if (!lease.ok() || lease->device() == nullptr) return lease;
  absl::MutexLock lock(&mutex_);
  if (limits_.cuda_takes_results) return lease;
  return FieldStatus(Field::kMemoryName,
                     absl::UnimplementedError("this server writes no results into memory on GPUs; "
                                              "its operator may allow it"));
}

RegionTable::SharedRegion RegionTable::Remove(const RegionName& name) {
  absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end() || found->second == nullptr) return nullptr;
  SharedRegion region = std::move(found->second);
  regions_.erase(found);
  return region;
}

void RegionTable::Unregister(const Caller& caller, const RegionName& name, Unregistered done) {
  SharedRegion region = Access{name.owner}.MayEnd(caller) ? Remove(name) : nullptr;
  if (region == nullptr) {
    return done(FieldStatus(Field::kName, absl::NotFoundError("there is no such region")));
  }
  region = nullptr;  // the last one: it closes before `done`
  closing_.Run([done = std::move(done)] { done(absl::OkStatus()); });
}

void RegionTable::UnregisterAll(RegionKind kind, const RegionName& name, Unregistered done) {
  std::vector<SharedRegion> removed;  // which end without the lock
  {
    absl::MutexLock lock(&mutex_);
    for (auto at = regions_.lower_bound(name); at != regions_.end();) {
      auto& [found, region] = *at;
      if (found.owner != name.owner || (!name.name.empty() && found != name)) break;
      const bool is_meant = region != nullptr && region->kind == kind;
      if (is_meant) removed.push_back(std::move(region));
      at = is_meant ? regions_.erase(at) : std::next(at);
    }
  }
  removed.clear();  // the last ones: they close before `done`
  closing_.Run([done = std::move(done)] { done(absl::OkStatus()); });
}

void RegionTable::SetLimits(const RegionLimits& limits) {
  absl::MutexLock lock(&mutex_);
  limits_ = limits;
}

std::vector<RegionReport> RegionTable::List(const Caller& caller) const {
  absl::MutexLock lock(&mutex_);
  std::vector<RegionReport> reports;
  for (const auto& [name, region] : regions_) {
    if (region == nullptr || !Access{name.owner}.MayEnd(caller)) continue;
    reports.push_back({.name = name,
                       .kind = region->kind,
                       .size_bytes = region->size_bytes,
                       .uses = region.use_count() - 1,
                       .key = region->segment.key(),
                       .offset_bytes = region->segment.offset_bytes(),
                       .in_place = region->mapped != nullptr || region->peer != nullptr,
                       .device = region->device != nullptr ? region->device->name : std::string(),
                       .device_ordinal = region->device_ordinal});
  }
  return reports;
}

RegionTableState RegionTable::state() const {
  absl::MutexLock lock(&mutex_);
  RegionTableState state = counts_;
  for (std::size_t kind = 0; kind < held_.size(); ++kind) {
    state.open[kind] = held_[kind].all();
  }
  return state;
}

}  // namespace warpfold
