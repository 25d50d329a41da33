// A position in the packed stream of `count` instances of a layout, advanced portion by portion. Finding the position
// takes O(depth + log entries), advancing by one portion a few nanoseconds. A cursor belongs to one thread; it reads
// the layout, never the data.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "mpi/datatypes/layout/layout.hpp"
#include "mpi/datatypes/layout/portion.hpp"

namespace tri::mpi {

class cursor {
 public:
  /// At `offset` bytes of the packed stream of `count` instances, the first of which has its origin at `base`.
  /// The layout must stay as long as the cursor. offset <= count * size.
  cursor(const layout& described, std::uint64_t count, const void* base, std::uint64_t offset);
  cursor(const cursor&) = delete;
  cursor& operator=(const cursor&) = delete;

  /// Packed bytes from here to the end.
  std::uint64_t left() const { return left_; }

  /// The next portion, of at least 1 and at most `limit` bytes. Neither `limit` nor left() may be 0.
  void next(std::uint64_t limit, portion& found);

  /// The next blocks at one distance: as next(), but the portion is a grid of one row.
  void next_row(std::uint64_t limit, portion& found);

 private:
  // A node that contains others, and where in it we are.
  struct frame {
    const layout_node* node;
    std::uintptr_t place;
    std::uint64_t entry;     // of the table; loop: instance
    std::uint64_t instance;  // runs: of this entry
  };
  static constexpr std::uint32_t ordinary_depth = 12;

  void absorb_count(const layout_node& root, std::uint64_t count);
  void descend(const layout_node* node, std::uintptr_t place, std::uint64_t offset);
  void enter_next_leaf();
  void next_of_grid(std::uint64_t limit, portion& found) const;
  void next_of_list(std::uint64_t instance, std::uint64_t position, std::uint64_t limit, portion& found);
  void next_of_comb(std::uint64_t limit, portion& found);
  template <class Find>
  void advance(std::uint64_t limit, portion& found, Find&& find);

  const layout* layout_;
  std::uint64_t left_ = 0;
  const layout_node* leaf_ = nullptr;
  std::uintptr_t leaf_place_ = 0;
  std::uint64_t position_ = 0;  // in the leaf
  std::uint64_t entry_ = 0;     // list: an entry not behind the position
  std::uint32_t depth_ = 0;
  layout_node top_ = {};  // the root with `count` in it
  std::array<frame, ordinary_depth> ordinary_frames_;
  std::unique_ptr<frame[]> deep_frames_;
  frame* frames_ = ordinary_frames_.data();
};

}  // namespace tri::mpi
