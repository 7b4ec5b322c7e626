#include "client/cpp/payload_loan.h"

#include <cstdio>
#include <cstdlib>

namespace warpfold::client {

PayloadLoan::~PayloadLoan() {
  if (Returned()) return;
  std::fputs("warpfold: a payload's loan ended while gRPC still held its bytes\n", stderr);
  std::abort();
}

grpc::Slice PayloadLoan::Lend(std::span<const std::byte> bytes) {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  // gRPC takes a non-const pointer and does not write through it.
  return grpc::Slice(
      const_cast<std::byte*>(bytes.data()), bytes.size(),
      [](void* outstanding) {
        static_cast<std::atomic<int>*>(outstanding)->fetch_sub(1, std::memory_order_release);
      },
      &outstanding_);
}

}  // namespace warpfold::client
