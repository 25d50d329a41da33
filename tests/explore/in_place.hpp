// explore_all() for models with much memory of their own: one model, which a snapshot of its heap takes back from a
// step instead of a copy. The program is linked with trireme_snapshot_heap, and the model has all its state in itself
// and on the heap (no scratch memory that is static).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "explore/explorer.hpp"
#include "explore/snapshot_heap.hpp"

namespace tri::explore {
namespace detail {

// As copied_path.
template <class Model>
class snapshot_path {
 public:
  using guard = snapshot_heap::inside;

  explicit snapshot_path(const Model& start) {
    snapshot_heap::clear();
    const guard now;
    model_ = new Model(start);
    // A compiler takes what `new` gave, and nothing else has the address of, for unchanged by restore(). Now something
    // has it, for all that it knows.
    asm volatile("" : "+r"(model_) : : "memory");
  }
  snapshot_path(const snapshot_path&) = delete;
  snapshot_path& operator=(const snapshot_path&) = delete;
  // Without its destructor: whatever the model has is in its heap.
  ~snapshot_path() { snapshot_heap::clear(); }

  Model& end() {
    if (!is_at_end_) {
      const snapshot& last = snapshots_[length_ - 1];
      snapshot_heap::restore(last.bytes.get(), last.size);
      is_at_end_ = true;
      if (checks_left_ > 0) {
        --checks_left_;
        if (fingerprint_of(*model_).value() != last.of.value())
          throw std::logic_error("in place: the model has state that is neither in itself nor on its heap");
      }
    }
    return *model_;
  }
  Model& begin_next() {
    Model& state = end();
    is_at_end_ = false;
    return state;
  }
  Model& next() { return *model_; }
  void push() {
    if (length_ == snapshots_.size()) snapshots_.emplace_back();
    snapshot& added = snapshots_[length_++];
    added.size = snapshot_heap::bytes();
    if (added.size > added.room) {
      added.room = added.size + added.size / 4;
      added.bytes = std::make_unique<std::byte[]>(added.room);
    }
    if (checks_left_ > 0) added.of = fingerprint_of(*model_);
    snapshot_heap::save(added.bytes.get());
    is_at_end_ = true;
  }
  void pop() {
    --length_;
    is_at_end_ = false;
  }

 private:
  struct snapshot {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::size_t room = 0;
    fingerprint of;
  };
  Model* model_;
  std::vector<snapshot> snapshots_;  // the first `length_` are those of the path, the others are used again
  std::size_t length_ = 0;
  bool is_at_end_ = false;
  int checks_left_ = 1000;  // of what the model must be like, on the first returns: they cost time
};

}  // namespace detail

template <class Model>
model_outcome explore_all_in_place(const Model& start, std::uint64_t most_states = 5'000'000) {
  detail::snapshot_path<Model> path(start);
  return detail::explore_along(path, most_states);
}

}  // namespace tri::explore
