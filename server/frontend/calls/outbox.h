// The answers of a stream that wait to be written, in the order they are ready or in the order they
// were asked for.
//
// Step of a request: the way back. A plain value for its owner's lock.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_OUTBOX_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/admission.h"

namespace warpfold {

class Outbox {
 public:
  struct Answer {
    Answer() = default;
    // Takes the bytes of `from`: a ByteBuffer that is moved is copied.
    Answer(grpc::ByteBuffer& from, AdmissionTicket ticket) : held(std::move(ticket)) {
      message.Swap(&from);
    }
    Answer(Answer&& other) noexcept : held(std::move(other.held)) { message.Swap(&other.message); }
    Answer& operator=(Answer&& other) noexcept {
      message.Swap(&other.message);
      held = std::move(other.held);
      return *this;
    }
    ~Answer() = default;

    grpc::ByteBuffer message;
    AdmissionTicket held;  // until it is written
  };
  using Position = std::list<std::optional<Answer>>::iterator;

  // For an answer that is not there yet, which holds up those behind it.
  Position Reserve() { return answers_.insert(answers_.end(), std::nullopt); }

  // At the reserved position; without one, at the end.
  void Put(Answer answer, std::optional<Position> position) {
    bytes_ += answer.message.Length();
    auto& place = position.has_value() ? **position : answers_.emplace_back();
    place = std::move(answer);
  }

  bool HasNext() const { return !answers_.empty() && answers_.front().has_value(); }
  // REQUIRES: HasNext().
  Answer TakeNext() {
    Answer next = *std::move(answers_.front());
    answers_.pop_front();
    bytes_ -= next.message.Length();
    return next;
  }

  // Positions reserved before are no more.
  void Clear() {
    answers_.clear();
    bytes_ = 0;
  }

  bool empty() const { return answers_.empty(); }
  std::size_t size() const { return answers_.size(); }  // those that are not there yet, too
  std::size_t bytes() const { return bytes_; }
  // By the tickets of all.
  std::int64_t held_bytes() const {
    std::int64_t bytes = 0;
    for (const std::optional<Answer>& answer : answers_) {
      if (answer.has_value()) bytes += answer->held.bytes();
    }
    return bytes;
  }

 private:
  std::list<std::optional<Answer>> answers_;
  std::size_t bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_OUTBOX_H_
