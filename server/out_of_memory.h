// The end for want of memory: one line on stderr and exit code 70, instead of an abort without a
// word or an exception through libraries that are not made for it.
#ifndef WARPFOLD_SERVER_OUT_OF_MEMORY_H_
#define WARPFOLD_SERVER_OUT_OF_MEMORY_H_

namespace warpfold {

inline constexpr int kExitOutOfMemory = 70;

// From now on any thread that gets no memory by new ends the process so, unless it is prepared for
// that (BadAllocScope); by malloc too, where that is tcmalloc's, since gRPC would abort. Lines that
// wait in the log are lost. Call once, first.
void EndWhenOutOfMemory();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OUT_OF_MEMORY_H_
