#include "server/core/region_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

constexpr std::size_t kNameBytesMax = 256;

absl::Status CheckName(const std::string& name) {
  if (!name.empty() && name.size() <= kNameBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name: has ", name.size(), " bytes, and not 1 to ", kNameBytesMax));
}

}  // namespace

RegionTable::RegionTable(const std::vector<std::unique_ptr<Executor>>& executors,
                         const RegionLimits& limits)
    : limits_(limits) {
  for (const std::unique_ptr<Executor>& executor : executors) executors_.push_back(executor.get());
}

absl::StatusOr<RegionTable::SharedRegion> RegionTable::Reserve(const std::string& name,
                                                               std::int64_t size_bytes) {
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  if (regions_.contains(name)) {
    return absl::AlreadyExistsError("name: a region of that name is registered");
  }
  if (size_bytes > limits_.shared_bytes_max) {
    return RefusalStatus(NeverFits{}, absl::StrCat("size_bytes: ", size_bytes,
                                                   " are above the limit of shared memory, ",
                                                   limits_.shared_bytes_max));
  }
  if (counts_.regions >= limits_.regions_max ||
      size_bytes > limits_.shared_bytes_max - counts_.bytes) {
    ++counts_.refused;
    return RefusalStatus(
        RetryLater{limits_.retry_delay},
        absl::StrCat("no room for a region: ", counts_.regions, " of ", limits_.regions_max,
                     " regions, ", counts_.bytes, " of ", limits_.shared_bytes_max, " bytes"));
  }
  ++counts_.regions;
  counts_.bytes += size_bytes;
  regions_[name] = nullptr;
  auto region = std::make_unique<Region>();
  region->name = name;
  region->size_bytes = size_bytes;
  return SharedRegion(region.release(), [this](Region* last) { Free(last); });
}

void RegionTable::Free(Region* region) {
  const std::int64_t size_bytes = region->size_bytes;
  delete region;  // calls of the system and of the device: without the lock
  absl::MutexLock lock(&mutex_);
  --counts_.regions;
  counts_.bytes -= size_bytes;
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

absl::Status RegionTable::RegisterShared(const std::string& name, const std::string& key,
                                         std::int64_t offset_bytes, std::int64_t size_bytes) {
  absl::StatusOr<SharedRegion> region = nullptr;
  std::string prefix;
  {
    absl::MutexLock lock(&mutex_);
    prefix = limits_.shared_prefix;
    if (prefix.empty()) {
      return absl::UnimplementedError(
          "key: this server registers no shared memory; its operator may allow it");
    }
    if (size_bytes < 1) {
      return absl::InvalidArgumentError(absl::StrCat("size_bytes: ", size_bytes, " is below 1"));
    }
    region = Reserve(name, size_bytes);
  }
  if (!region.ok()) return region.status();
  absl::Status status = OpenShared(**region, key, prefix, offset_bytes);
  absl::MutexLock lock(&mutex_);
  if (status.ok()) {
    regions_[name] = *std::move(region);
  } else {
    regions_.erase(name);
  }
  return status;
}

absl::StatusOr<RegionLease> RegionTable::Use(const std::string& name, std::int64_t offset_bytes,
                                             std::int64_t size_bytes) {
  SharedRegion region;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = regions_.find(name);
    if (found != regions_.end()) region = found->second;
  }
  if (region == nullptr) return absl::NotFoundError("memory.name: there is no such region");
  if (offset_bytes < 0 || offset_bytes > region->size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("memory.offset_bytes: ", offset_bytes,
                                                   " is outside the region's ", region->size_bytes,
                                                   " bytes"));
  }
  if (size_bytes < 0 || size_bytes > region->size_bytes - offset_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory.size_bytes: ", size_bytes, " from offset ", offset_bytes,
                     " on is past the region's ", region->size_bytes, " bytes"));
  }
  // What lanes have mapped stays as it was: a segment that shrank has to be noticed here.
  if (absl::Status status = region->segment.CheckSize(); !status.ok()) return status;
  return RegionLease(std::move(region), offset_bytes, size_bytes);
}

absl::Status RegionTable::Unregister(const std::string& name) {
  SharedRegion region;  // freed, if it is the last, after the lock
  absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end() || found->second == nullptr) {
    return absl::NotFoundError("name: there is no such region");
  }
  region = std::move(found->second);
  regions_.erase(found);
  return absl::OkStatus();
}

void RegionTable::UnregisterAll() {
  for (const RegionReport& region : List()) Unregister(region.name).IgnoreError();
}

void RegionTable::SetLimits(const RegionLimits& limits) {
  absl::MutexLock lock(&mutex_);
  limits_ = limits;
}

std::vector<RegionReport> RegionTable::List() const {
  absl::MutexLock lock(&mutex_);
  std::vector<RegionReport> reports;
  for (const auto& [name, region] : regions_) {
    if (region == nullptr) continue;
    reports.push_back({.name = name,
                       .size_bytes = region->size_bytes,
                       .uses = region.use_count() - 1,
                       .key = region->segment.key(),
                       .offset_bytes = region->segment.offset_bytes(),
                       .in_place = region->mapped != nullptr});
  }
  return reports;
}

RegionTableState RegionTable::state() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace warpfold
