// A small call that any server may answer: what Client sends when a tensor is small.
//
// A process that hangs keeps its connections, and its kernel takes bytes for it: without a question
// a call to it waits for its deadline. So small calls have a connection of their own, whose silent
// servers are asked by PINGs whether they are there (ConnectionOptions::ping_after). One that does
// not say so loses the connection, its calls are tried again, and a connection to it is made again
// only once it speaks, so that later calls go elsewhere. What moves many bytes is not asked: a PING
// waits behind them, and its answer would come late. It learns from small calls, and from one of
// its own that came to its deadline: ConnectionPool::ConnectAnew.
//
// Some servers take PINGs for abuse and hang up, and a server that is there may be slow to say so:
// no call is cut in a loop. The first "too many pings" ends the questions for good, and a call that
// is cut twice has its client give servers more time (ConnectionPool::AskLessHastily).
//
// Thread safety: belongs to the thread that makes the call. Failure: CallReply::status.
#ifndef WARPFOLD_CLIENT_CPP_SMALL_CALL_H_
#define WARPFOLD_CLIENT_CPP_SMALL_CALL_H_

#include <cstddef>
#include <span>
#include <string>

#include "client/cpp/connection.h"
#include "client/cpp/connection_pool.h"

namespace warpfold::client {

// A message of at most this many bytes is small. On a link slower than 2 Mbit/s one takes longer
// than ping_after, and PINGs begin to wait behind such messages.
inline constexpr std::size_t kSmallMessageBytesMax = 64 * 1024;

class SmallCall {
 public:
  explicit SmallCall(ConnectionPool& connections) : connections_(connections) {}

  // One attempt, as Connection::Unary.
  CallReply Try(const char* method, const std::string& head, std::span<const std::byte> payload,
                const CallLimits& limits);

 private:
  ConnectionPool& connections_;
  int cuts_ = 0;  // attempts that ended because a PING was not answered
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_SMALL_CALL_H_
