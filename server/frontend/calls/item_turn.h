// A stream's turn to have some small items served (read_line.h): it waits in line with the first of
// them, and has its turn for kItemsInTurn, or until its client leaves it without one for a while.
//
// Step of a request: 1. TakesItem and EndWithThisItem under the lock of the stream; the others
// under none, as they may serve other streams.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_ITEM_TURN_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_ITEM_TURN_H_

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/core/admission/connections.h"
#include "server/core/admission/read_line.h"

namespace warpfold {

// With fewer, turns change hands more often than a server with all processors at work can see to:
// of the answers of one caller beside 512 streams of another 8 left 0.26, 16 left 0.46 and 24 left
// 0.50 (H200 host, medians of four and two rounds of one run).
inline constexpr int kItemsInTurn = 24;

class ItemTurn final : public ReadLine::Member, public std::enable_shared_from_this<ItemTurn> {
 public:
  // Serves the item that has waited. Whether the turn lasts.
  using Serve = std::function<bool(const std::shared_ptr<ItemTurn>&)>;

  ItemTurn(ReadLine& line, std::shared_ptr<Connection> connection, Serve serve)
      : line_(line), connection_(std::move(connection)), serve_(std::move(serve)) {}

  // Serve comes before it returns, or later; once. Not OK: never, as ReadLine::Enter.
  absl::Status Enter() { return line_.Enter(connection_->items, shared_from_this()); }
  void Leave() { line_.Leave(*this); }

  // Whether one more item is served in it.
  bool TakesItem() { return items_left_-- > 0 && line_.Renew(*this); }
  void EndWithThisItem() { ends_ = true; }
  bool ends() const { return ends_; }

  std::chrono::nanoseconds waited() const { return std::chrono::steady_clock::now() - since_; }

 private:
  bool OnTurn() override {
    const Serve serve = std::move(serve_);  // lets go of the stream
    return serve(shared_from_this());
  }

  ReadLine& line_;
  const std::shared_ptr<Connection> connection_;  // outlives its line
  Serve serve_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  int items_left_ = kItemsInTurn - 1;
  bool ends_ = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_ITEM_TURN_H_
