// Things that wait in lines, one for each of whom they are: the lines take turns, and each is
// served the oldest first. Any can be taken back.
//
// Step of a request: 2, decide. A plain value without a lock of its own; no call takes longer where
// more of them wait.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_FAIR_FIFO_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_FAIR_FIFO_H_

#include <list>
#include <unordered_map>
#include <utility>

#include "server/core/base/keyed_fifo.h"

namespace warpfold {

template <typename T>
class FairFifo {
 public:
  using Key = typename KeyedFifo<T>::Key;
  using Owner = const void*;

  bool empty() const { return turns_.empty(); }

  // REQUIRES: it is not in here.
  void Push(Owner owner, T value) {
    Line& line = lines_[owner];
    if (line.values.empty()) line.turn = turns_.insert(turns_.end(), owner);
    owners_.emplace(KeyOf(value), owner);
    line.values.Push(std::move(value));
  }

  // REQUIRES: !empty().
  T Pop() {
    const auto line = lines_.find(turns_.front());
    T value = line->second.values.Pop();
    owners_.erase(KeyOf(value));
    if (!line->second.values.empty()) {
      turns_.splice(turns_.end(), turns_, line->second.turn);
    } else {
      turns_.pop_front();
      lines_.erase(line);
    }
    return value;
  }

  // False: it is not in here.
  bool Remove(Key key) {
    const auto owner = owners_.find(key);
    if (owner == owners_.end()) return false;
    const auto line = lines_.find(owner->second);
    line->second.values.Remove(key);
    if (line->second.values.empty()) {
      turns_.erase(line->second.turn);
      lines_.erase(line);
    }
    owners_.erase(owner);
    return true;
  }

 private:
  struct Line {
    KeyedFifo<T> values;
    std::list<Owner>::iterator turn;
  };
  std::unordered_map<Owner, Line> lines_;  // that are not empty
  std::list<Owner> turns_;                 // the next first
  std::unordered_map<Key, Owner> owners_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_FAIR_FIFO_H_
