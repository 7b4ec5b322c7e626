// Tells ThreadSanitizer what gRPC's completion queues order. Part of the server's tests in a
// -DWARPFOLD_SANITIZE=thread build only.
//
// The distribution's gRPC is built without the sanitizer, and hands the end of a batch from one
// thread to another through a queue without locks. The functions below stand in front of the
// library's in the search order of the dynamic linker: each calls the real one and says that what
// was done before a batch was started happens before what is done when it has ended.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstddef>

#include "grpc/grpc.h"

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, std::size_t nops,
                                      void* tag, void* reserved) {
  static auto* const real =
      reinterpret_cast<decltype(&grpc_call_start_batch)>(dlsym(RTLD_NEXT, "grpc_call_start_batch"));
  __tsan_release(tag);
  return real(call, ops, nops, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const real = reinterpret_cast<decltype(&grpc_completion_queue_next)>(
      dlsym(RTLD_NEXT, "grpc_completion_queue_next"));
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // extern "C"
