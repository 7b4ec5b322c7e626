// Lends a caller's memory to gRPC without copying it, and knows when gRPC has given all of it back.
//
// gRPC keeps references to a message's slices for as long as it likes: after a deadline or a
// cancellation the call is over for the application while the transport may still hold bytes that
// wait for the socket. Memory that is freed then is read after it was freed. So a call that lends
// memory ends in two steps: the call's objects go away, then the loan is awaited.
//
// Thread safety: Lend() and Returned() may be called from any thread; gRPC gives slices back on any
// thread. Failure: none. REQUIRES: the loan outlives every slice it lent (await Returned() before
// its end).
#ifndef WARPFOLD_CLIENT_CPP_PAYLOAD_LOAN_H_
#define WARPFOLD_CLIENT_CPP_PAYLOAD_LOAN_H_

#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstddef>
#include <span>

namespace warpfold::client {

class PayloadLoan {
 public:
  PayloadLoan() = default;
  PayloadLoan(const PayloadLoan&) = delete;
  PayloadLoan& operator=(const PayloadLoan&) = delete;
  ~PayloadLoan();  // aborts when slices are still out: the caller's memory would be read after its
                   // end

  // A slice over `bytes`; copies of the slice share the one loan.
  grpc::Slice Lend(std::span<const std::byte> bytes);

  // Whether every slice lent so far, and every copy of it, has been destroyed.
  bool Returned() const { return outstanding_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<int> outstanding_ = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_PAYLOAD_LOAN_H_
