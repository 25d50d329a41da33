// A heap with look-up: the largest key first, and any item can be removed or given another key. A strategy keeps its
// objects or PEs in one. Items are small numbers. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tri::balancing {

class object_heap {
 public:
  /// Of items 0 to `items` - 1; none is in it.
  explicit object_heap(std::size_t items) : keys_(items), places_(items, nowhere) {}

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  bool contains(std::uint32_t item) const { return places_[item] != nowhere; }
  double key_of(std::uint32_t item) const { return keys_[item]; }
  /// The item with the largest key; of equals that with the smallest number. Not of an empty heap.
  std::uint32_t top() const { return heap_.front(); }

  /// Adds it, or changes its key.
  void set(std::uint32_t item, double key) {
    if (!contains(item)) {
      places_[item] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(item);
    }
    keys_[item] = key;
    settle(places_[item]);
  }
  /// Nothing happens where it is not in the heap.
  void remove(std::uint32_t item) {
    if (!contains(item)) return;
    const std::uint32_t hole = std::exchange(places_[item], nowhere);
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    if (last == item) return;
    heap_[hole] = last;
    places_[last] = hole;
    settle(hole);
  }
  std::uint32_t pop() {
    const std::uint32_t item = top();
    remove(item);
    return item;
  }

  /// For tests: no item is above one with a larger key, and each knows its place.
  bool is_valid() const {
    for (std::uint32_t at = 0; at < heap_.size(); ++at)
      if (places_[heap_[at]] != at || (at > 0 && is_before(heap_[at], heap_[(at - 1) / 2]))) return false;
    return true;
  }

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  bool is_before(std::uint32_t a, std::uint32_t b) const { return keys_[a] != keys_[b] ? keys_[a] > keys_[b] : a < b; }
  void settle(std::uint32_t at) {
    while (at > 0 && is_before(heap_[at], heap_[(at - 1) / 2])) at = swap(at, (at - 1) / 2);
    for (;;) {
      std::uint32_t first = at;
      for (std::uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_.size(); ++child)
        if (is_before(heap_[child], heap_[first])) first = child;
      if (first == at) return;
      at = swap(at, first);
    }
  }
  std::uint32_t swap(std::uint32_t from, std::uint32_t to) {
    std::swap(heap_[from], heap_[to]);
    places_[heap_[from]] = from;
    places_[heap_[to]] = to;
    return to;
  }

  std::vector<double> keys_;
  std::vector<std::uint32_t> places_;  // in the heap, of each item
  std::vector<std::uint32_t> heap_;
};

}  // namespace tri::balancing
