// Who may read a tensor's chunks now: so many uploads at a time. The others wait, the connections
// in turns and of each the first that came; they are not read, so that their senders wait and hold
// next to nothing here.
//
// Step of a request: 2, decide. Safe from any thread. A place is for uploads that are as fast as
// their connections: whoever waits for its client gives the place up, goes on without, and makes
// room. What such uploads hold together, and those in a place beyond what that is for, is bounded
// too (beyond()); the longest silent of them can be ended for others (TakeSilent).
//
// Nobody can tell an upload that has bytes to give from one that has none without reading it. So
// each that falls silent in its turn lets two of those who wait be read: its place goes to one, and
// one more is asked, that is, read without a place. Of silent uploads twice as many go by each
// time; where all keep sending there are places only.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_UPLOAD_PLACES_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_UPLOAD_PLACES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/admission/fair_fifo.h"
#include "server/core/base/keyed_fifo.h"

namespace warpfold {

class Upload {
 public:
  virtual ~Upload() = default;
  // It has a place now, or is asked. One of them comes once after a Take that said false, from
  // whoever made room, with no lock held; at the moment of a Leave perhaps after that.
  virtual void OnPlace() = 0;
  virtual void OnAsked() = 0;
  // Ends it if it has been silent for UploadPlaces::kSilentMax, for the room of others. The bytes
  // that it held; 0: it goes on.
  virtual std::int64_t EndSilent() = 0;
};

inline const Upload* KeyOf(const std::shared_ptr<Upload>& upload) { return upload.get(); }

// A bound on bytes that many hold. Safe from any thread.
class ByteBudget {
 public:
  explicit ByteBudget(std::int64_t bytes_max) : bytes_max_(bytes_max) {}

  // For one that holds `held_bytes` of them. One that is alone may hold more: it would never fit.
  bool TryAdd(std::int64_t bytes, std::int64_t held_bytes) {
    std::int64_t used = used_bytes_.load();
    do {
      if (used > held_bytes && used + bytes > bytes_max_) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void Drop(std::int64_t bytes) { used_bytes_ -= bytes; }
  bool HasRoomFor(std::int64_t bytes) const { return used_bytes_ + bytes <= bytes_max_; }

  std::int64_t bytes_max() const { return bytes_max_; }
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  const std::int64_t bytes_max_;
  std::atomic<std::int64_t> used_bytes_{0};
};

class UploadPlaces {
 public:
  using Milliseconds = std::chrono::milliseconds;
  // Of an upload that holds bytes and has no place: it may be ended then. Many times what a client
  // needs that sends at all.
  static constexpr Milliseconds kSilentMax{1000};

  UploadPlaces(int count, std::int64_t beyond_bytes_max)
      : free_(count), beyond_(beyond_bytes_max) {}

  // True: `upload`, of `connection`, has a place. False: it waits for one.
  bool Take(const void* connection, const std::shared_ptr<Upload>& upload)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives up the place, or the wait for one; without effect when it has neither.
  void Leave(Upload& upload) ABSL_LOCKS_EXCLUDED(mutex_);

  // Who may read now. Tell, with no lock held, lets them know.
  struct Granted {
    std::vector<std::shared_ptr<Upload>> placed;
    std::vector<std::shared_ptr<Upload>> asked;
    void Tell() const;
  };
  // Gives the place up, or ends the turn of one that was asked, since its client is silent.
  [[nodiscard]] Granted LeaveSilent(Upload& upload) ABSL_LOCKS_EXCLUDED(mutex_);

  // An upload without a place has brought bytes: true when it has one from now on.
  bool TakeForBytes(Upload& upload) ABSL_LOCKS_EXCLUDED(mutex_);

  bool has_waiting() const ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on `upload`, which has no place, waits for its client, or no more.
  void BeginSilence(const std::shared_ptr<Upload>& upload, Milliseconds now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EndSilence(const Upload& upload) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends those that have been silent for longest, until they held `bytes`.
  void EndSilentOnes(std::int64_t bytes, Milliseconds now) ABSL_LOCKS_EXCLUDED(mutex_);

  ByteBudget& beyond() { return beyond_; }

 private:
  // Not its owner: an upload that ends may be noted late.
  struct Silent {
    const Upload* key;
    std::weak_ptr<Upload> upload;
    Milliseconds since;
  };
  friend const Upload* KeyOf(const Silent& silent) { return silent.key; }

  void Forget(const Upload& upload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Granted Grant() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Upload> TakeSilent(Milliseconds now) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<const Upload*> placed_ ABSL_GUARDED_BY(mutex_);
  FairFifo<std::shared_ptr<Upload>> waiting_ ABSL_GUARDED_BY(mutex_);
  // Without a place, in their turn to bring something; and how many may be.
  std::unordered_set<const Upload*> asked_ ABSL_GUARDED_BY(mutex_);
  std::size_t asked_max_ ABSL_GUARDED_BY(mutex_) = 0;
  KeyedFifo<Silent> silent_ ABSL_GUARDED_BY(mutex_);

  ByteBudget beyond_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_UPLOAD_PLACES_H_
