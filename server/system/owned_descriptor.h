// A descriptor that is closed at its owner's end. Plain value.
#ifndef WARPFOLD_SERVER_SYSTEM_OWNED_DESCRIPTOR_H_
#define WARPFOLD_SERVER_SYSTEM_OWNED_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace warpfold {

class OwnedDescriptor {
 public:
  // Negative: none.
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OwnedDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_OWNED_DESCRIPTOR_H_
