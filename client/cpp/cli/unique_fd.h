// A file descriptor that is closed with its owner.
//
// Thread safety: a plain value.
#ifndef WARPFOLD_CLIENT_CPP_CLI_UNIQUE_FD_H_
#define WARPFOLD_CLIENT_CPP_CLI_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace warpfold::client {

class UniqueFd {
 public:
  explicit UniqueFd(int fd) : fd_(fd) {}  // negative: none
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&&) = delete;
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_UNIQUE_FD_H_
