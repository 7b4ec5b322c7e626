#include "server/device/cpu/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace warpfold {

absl::StatusOr<std::unique_ptr<TensorMemory>> HostMemory::Allocate(std::size_t size_bytes) {
  // Addresses alone: the memory comes when it is touched.
  void* data =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no ", size_bytes, " bytes of host memory: ", std::strerror(errno)));
  }
  std::unique_ptr<HostMemory> memory(new HostMemory(static_cast<std::byte*>(data), size_bytes));
  absl::StatusOr<HostCharge> charge = HostCharge::Take(size_bytes);
  if (!charge.ok()) return charge.status();
  memory->charge_ = *std::move(charge);
  // Fewer faults while it is filled. Only a wish: some systems have no huge pages.
  (void)madvise(data, size_bytes, MADV_HUGEPAGE);
  return memory;
}

HostMemory::~HostMemory() { munmap(data_, size_bytes_); }

}  // namespace warpfold
