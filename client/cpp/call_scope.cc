#include "client/cpp/call_scope.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Below this a payload is copied into the message's one slice: the copy takes less time than a
// second slice and its bookkeeping, and a copy needs no loan.
constexpr std::size_t kCopyBytesMax = 16 * 1024;

Tag ToTag(void* tag) { return static_cast<Tag>(reinterpret_cast<std::intptr_t>(tag)); }

// The right to busy-poll instead of sleeping, which one thread of the process has at a time: more
// would take the processors from those who answer.
class BusyPollRight {
 public:
  BusyPollRight() : is_held_(!taken_.exchange(true, std::memory_order_acquire)) {}
  ~BusyPollRight() {
    if (is_held_) taken_.store(false, std::memory_order_release);
  }
  BusyPollRight(const BusyPollRight&) = delete;
  BusyPollRight& operator=(const BusyPollRight&) = delete;

  bool is_held() const { return is_held_; }

 private:
  inline static std::atomic<bool> taken_{false};
  const bool is_held_;
};

}  // namespace

CallScope::~CallScope() {
  void* tag = nullptr;
  bool ok = false;
  // The transport moves only while somebody polls, and after the call's end that is nobody but us.
  while (!loan_.Returned()) queue_->AsyncNext(&tag, &ok, system_clock::now() + milliseconds(5));
  if (heir_ != nullptr) {
    heir_->Put(std::move(queue_));
    return;
  }
  queue_->Shutdown();
  while (queue_->Next(&tag, &ok)) {
  }
}

Tag CallScope::Next(bool& ok) {
  void* tag = nullptr;
  queue_->Next(&tag, &ok);
  return ToTag(tag);
}

std::optional<Tag> CallScope::NextUntil(system_clock::time_point deadline, bool& ok) {
  void* tag = nullptr;
  if (queue_->AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
    return std::nullopt;
  }
  return ToTag(tag);
}

std::optional<Tag> CallScope::BusyPoll(std::chrono::microseconds span, bool& ok) {
  if (span <= std::chrono::microseconds(0)) return std::nullopt;
  const BusyPollRight right;
  if (!right.is_held()) return std::nullopt;
  const auto end = std::chrono::steady_clock::now() + span;
  std::optional<Tag> tag;
  do {
    tag = NextUntil(system_clock::time_point(), ok);
  } while (!tag.has_value() && std::chrono::steady_clock::now() < end);
  return tag;
}

std::optional<std::int64_t> CallContext::PushbackTrailer() const {
  const auto& trailers = context_.GetServerTrailingMetadata();
  const auto found = trailers.find("grpc-retry-pushback-ms");
  if (found == trailers.end()) return std::nullopt;
  const grpc::string_ref text = found->second;
  std::int64_t milliseconds = -1;  // what cannot be read means "do not retry", as in gRPC
  std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  return milliseconds;
}

grpc::ByteBuffer CopyMessage(const std::string& head, std::span<const std::byte> payload) {
  grpc::Slice joined(head.size() + payload.size());
  // A slice of its own is writable until it is shared.
  auto* out = const_cast<std::uint8_t*>(joined.begin());
  out = std::copy(head.begin(), head.end(), out);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size(), out);
  return grpc::ByteBuffer(&joined, 1);
}

grpc::ByteBuffer JoinMessage(CallScope& scope, const std::string& head,
                             std::span<const std::byte> payload) {
  if (payload.size() <= kCopyBytesMax) return CopyMessage(head, payload);
  const grpc::Slice slices[] = {grpc::Slice(head), scope.Lend(payload)};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace warpfold::client
