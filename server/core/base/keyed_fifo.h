// Things that wait, the oldest first, any of which can be taken back.
//
// Step of a request: 2, decide. A plain value without a lock of its own; no call takes longer where
// more of them wait.
#ifndef WARPFOLD_SERVER_CORE_BASE_KEYED_FIFO_H_
#define WARPFOLD_SERVER_CORE_BASE_KEYED_FIFO_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace warpfold {

// `KeyOf(value)`, found beside T, is what a value is taken back by.
template <typename T>
class KeyedFifo {
 public:
  using Key = decltype(KeyOf(std::declval<const T&>()));

  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  // REQUIRES: !empty().
  const T& front() const { return values_.front(); }

  bool Has(Key key) const { return places_.count(key) > 0; }

  // REQUIRES: it is not in here.
  void Push(T value) {
    const Key key = KeyOf(value);
    places_.emplace(key, values_.insert(values_.end(), std::move(value)));
  }

  // REQUIRES: !empty().
  T Pop() {
    T value = std::move(values_.front());
    places_.erase(KeyOf(value));
    values_.pop_front();
    return value;
  }

  // False: it is not in here.
  bool Remove(Key key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return false;
    values_.erase(place->second);
    places_.erase(place);
    return true;
  }

  // Moves all to the end of `taken`.
  void TakeAll(std::vector<T>& taken) {
    taken.insert(taken.end(), std::move_iterator(values_.begin()),
                 std::move_iterator(values_.end()));
    values_.clear();
    places_.clear();
  }

 private:
  std::list<T> values_;
  std::unordered_map<Key, typename std::list<T>::iterator> places_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_KEYED_FIFO_H_
