#include "mpi/datatypes/layout/cursor.hpp"

#include <algorithm>

namespace tri::mpi {
namespace {

std::uintptr_t moved(std::uintptr_t place, std::int64_t by) { return place + static_cast<std::uintptr_t>(by); }
// Displacements may wrap on the way to an address, as absolute ones do.
std::uintptr_t moved(std::uintptr_t place, std::int64_t stride, std::uint64_t times) {
  return place + static_cast<std::uintptr_t>(stride) * times;
}

// The last entry that begins at or before `value`. prefix[0] is 0 and prefix[entries] is greater than `value`.
std::uint64_t entry_at(const std::uint64_t* prefix, std::uint64_t first, std::uint64_t entries, std::uint64_t value) {
  if (prefix[first + 1] > value) return first;  // as when going on from where we were
  return static_cast<std::uint64_t>(std::upper_bound(prefix + first, prefix + entries, value) - prefix) - 1;
}

void set_grid(portion& found, std::uintptr_t place, std::uint64_t rows, std::int64_t row_stride, std::uint64_t columns,
              std::int64_t column_stride, std::uint64_t length) {
  found.what = portion::form::grid;
  found.place = place;
  found.rows = rows;
  found.row_stride = row_stride;
  found.columns = columns;
  found.column_stride = column_stride;
  found.length = length;
  found.bytes = rows * columns * length;
}
void set_block(portion& found, std::uintptr_t place, std::uint64_t length) {
  set_grid(found, place, 1, 0, 1, static_cast<std::int64_t>(length), length);
}

}  // namespace

cursor::cursor(const layout& described, std::uint64_t count, const void* base, std::uint64_t offset)
    : layout_(&described), left_(count * described.size - offset) {
  if (left_ == 0) return;
  if (described.depth + 1 > ordinary_depth) {
    deep_frames_ = std::make_unique<frame[]>(described.depth + 1);
    frames_ = deep_frames_.get();
  }
  absorb_count(*described.at<layout_node>(described.root), count);
  descend(&top_, reinterpret_cast<std::uintptr_t>(base), offset);
}

// `count` instances are a loop around the root. Where the root is a leaf with a loop to spare, the count becomes that
// loop: an array of a type with a hole is one strided portion.
void cursor::absorb_count(const layout_node& root, std::uint64_t count) {
  top_ = root;
  if (count == 1) return;
  const std::int64_t extent = layout_->extent;
  top_.bytes = count * root.bytes;
  if (root.kind == node_kind::grid) {
    if (root.count == 1 && root.columns == 1) {
      if (extent == static_cast<std::int64_t>(root.length)) {
        top_.length = top_.bytes;
      } else {
        top_.columns = count;
        top_.column_stride = extent;
      }
      return;
    }
    if (root.count == 1 &&
        static_cast<std::uint64_t>(root.column_stride) * root.columns == static_cast<std::uint64_t>(extent)) {
      top_.columns = count * root.columns;
      return;
    }
    if (root.count == 1) {
      top_.count = count;
      top_.stride = extent;
      return;
    }
    if (static_cast<std::uint64_t>(root.stride) * root.count == static_cast<std::uint64_t>(extent)) {
      top_.count = count * root.count;
      return;
    }
  }
  if (root.kind == node_kind::list) {
    top_.kind = node_kind::comb;
    top_.count = count;
    top_.stride = extent;
    const std::int64_t reach = extent < 0 ? -extent : extent;
    top_.interleaved = layout_->true_extent > reach ? 1 : 0;
    return;
  }
  top_ = {};
  top_.kind = node_kind::loop;
  top_.bytes = count * root.bytes;
  top_.count = count;
  top_.stride = extent;
  top_.body = layout_->root;
}

void cursor::descend(const layout_node* node, std::uintptr_t place, std::uint64_t offset) {
  for (;;) {
    place = moved(place, node->displacement);
    std::uint64_t instance = 0;
    const auto into_body = [&] {
      const auto* body = layout_->at<layout_node>(node->body);
      if (offset != 0) {
        instance = offset / body->bytes;
        offset -= instance * body->bytes;
      }
      return body;
    };
    switch (node->kind) {
      case node_kind::grid:
      case node_kind::list:
      case node_kind::comb:
        leaf_ = node;
        leaf_place_ = place;
        position_ = offset;
        entry_ = 0;
        return;
      case node_kind::loop: {
        const layout_node* body = into_body();
        frames_[depth_++] = {node, place, instance, 0};
        place = moved(place, node->stride, instance);
        node = body;
        break;
      }
      case node_kind::places: {
        const layout_node* body = into_body();
        frames_[depth_++] = {node, place, instance, 0};
        place = moved(place, layout_->at<std::int64_t>(node->table)[instance]);
        node = body;
        break;
      }
      case node_kind::runs: {
        const layout_node* body = into_body();
        const auto* prefix = layout_->at<std::uint64_t>(node->prefix);
        const std::uint64_t entry = entry_at(prefix, 0, node->entries, instance);
        instance -= prefix[entry];
        frames_[depth_++] = {node, place, entry, instance};
        place = moved(moved(place, layout_->at<std::int64_t>(node->table)[entry]), node->stride, instance);
        node = body;
        break;
      }
      case node_kind::sequence: {
        const auto* prefix = layout_->at<std::uint64_t>(node->prefix);
        const std::uint64_t entry = entry_at(prefix, 0, node->entries, offset);
        offset -= prefix[entry];
        frames_[depth_++] = {node, place, entry, 0};
        node = layout_->at<layout_node>(layout_->at<std::uint64_t>(node->table)[entry]);
        break;
      }
    }
  }
}

// Up to the nearest node that has something left, and down again. There is one, since bytes are left.
void cursor::enter_next_leaf() {
  for (;;) {
    frame& at = frames_[depth_ - 1];
    const layout_node& node = *at.node;
    const auto go = [&](const layout_node* next, std::uintptr_t place) { descend(next, place, 0); };
    switch (node.kind) {
      case node_kind::loop:
        if (++at.entry < node.count)
          return go(layout_->at<layout_node>(node.body), moved(at.place, node.stride, at.entry));
        break;
      case node_kind::places:
        if (++at.entry < node.entries)
          return go(layout_->at<layout_node>(node.body),
                    moved(at.place, layout_->at<std::int64_t>(node.table)[at.entry]));
        break;
      case node_kind::runs: {
        const auto* prefix = layout_->at<std::uint64_t>(node.prefix);
        if (++at.instance == prefix[at.entry + 1] - prefix[at.entry]) {
          at.instance = 0;
          ++at.entry;
        }
        if (at.entry < node.entries)
          return go(layout_->at<layout_node>(node.body),
                    moved(moved(at.place, layout_->at<std::int64_t>(node.table)[at.entry]), node.stride, at.instance));
        break;
      }
      default:
        if (++at.entry < node.entries)
          return go(layout_->at<layout_node>(layout_->at<std::uint64_t>(node.table)[at.entry]), at.place);
        break;
    }
    --depth_;
  }
}

// Descends to the next portion: the frame of a node is popped before its parent continues, so descend() pushes onto the
// parent.
template <class Find>
void cursor::advance(std::uint64_t limit, portion& found, Find&& find) {
  if (position_ == leaf_->bytes) enter_next_leaf();
  limit = std::min(limit, leaf_->bytes - position_);
  find(limit);
  position_ += found.bytes;
  left_ -= found.bytes;
}

void cursor::next_of_grid(std::uint64_t limit, portion& found) const {
  const layout_node& leaf = *leaf_;
  if (position_ == 0 && limit == leaf.bytes)
    return set_grid(found, leaf_place_, leaf.count, leaf.stride, leaf.columns, leaf.column_stride, leaf.length);
  std::uint64_t block = 0, in_block = position_;
  if (position_ >= leaf.length) {
    block = position_ / leaf.length;
    in_block = position_ - block * leaf.length;
  }
  const std::uint64_t row = leaf.count == 1 ? 0 : block / leaf.columns;
  const std::uint64_t column = block - row * leaf.columns;
  const std::uintptr_t place = moved(moved(leaf_place_, leaf.stride, row), leaf.column_stride, column) + in_block;
  if (in_block != 0 || limit < leaf.length) return set_block(found, place, std::min(limit, leaf.length - in_block));
  const std::uint64_t blocks = limit / leaf.length;
  if (column != 0 || blocks < leaf.columns)
    return set_grid(found, place, 1, 0, std::min(blocks, leaf.columns - column), leaf.column_stride, leaf.length);
  set_grid(found, place, blocks / leaf.columns, leaf.stride, leaf.columns, leaf.column_stride, leaf.length);
}

// `position` bytes into one instance of the list at `place`.
void cursor::next_of_list(std::uint64_t instance, std::uint64_t position, std::uint64_t limit, portion& found) {
  const layout_node& leaf = *leaf_;
  const std::uintptr_t place = moved(leaf_place_, leaf.stride, instance);
  const auto* displacements = layout_->at<std::int64_t>(leaf.table);
  found.rows = 1;
  if (leaf.length != 0) {
    const std::uint64_t entry = position / leaf.length, in_block = position - entry * leaf.length;
    if (in_block != 0 || limit < leaf.length)
      return set_block(found, moved(place, displacements[entry]) + in_block, std::min(limit, leaf.length - in_block));
    found.entries = std::min(limit / leaf.length, leaf.entries - entry);
    found.displacements = displacements + entry;
    found.length = leaf.length;
    found.bytes = found.entries * leaf.length;
  } else {
    const auto* prefix = layout_->at<std::uint64_t>(leaf.prefix);
    if (prefix[entry_] > position) entry_ = 0;  // a comb's next row
    const std::uint64_t entry = entry_at(prefix, entry_, leaf.entries, position);
    const std::uint64_t in_block = position - prefix[entry];
    entry_ = entry;
    if (in_block != 0 || limit < prefix[entry + 1] - position)
      return set_block(found, moved(place, displacements[entry]) + in_block,
                       std::min(limit, prefix[entry + 1] - position));
    const std::uint64_t end = position + limit >= prefix[leaf.entries]
                                  ? leaf.entries
                                  : entry_at(prefix, entry, leaf.entries, position + limit);
    found.entries = end - entry;
    found.displacements = displacements + entry;
    found.lengths = prefix + entry;
    found.length = 0;
    found.bytes = prefix[end] - position;
    entry_ = end;
  }
  found.what = portion::form::list;
  found.place = place;
}

void cursor::next_of_comb(std::uint64_t limit, portion& found) {
  const layout_node& leaf = *leaf_;
  const std::uint64_t once = leaf.bytes / leaf.count;
  const std::uint64_t row = position_ / once, position = position_ - row * once;
  if (position != 0 || limit < once) return next_of_list(row, position, std::min(limit, once - position), found);
  found.what = portion::form::comb;
  found.interleaved = leaf.interleaved != 0;
  found.place = moved(leaf_place_, leaf.stride, row);
  found.rows = limit / once;
  found.row_stride = leaf.stride;
  found.bytes = found.rows * once;
  found.entries = leaf.entries;
  found.displacements = layout_->at<std::int64_t>(leaf.table);
  found.length = leaf.length;
  found.lengths = leaf.length != 0 ? nullptr : layout_->at<std::uint64_t>(leaf.prefix);
}

void cursor::next(std::uint64_t limit, portion& found) {
  advance(limit, found, [&](std::uint64_t most) {
    switch (leaf_->kind) {
      case node_kind::grid:
        return next_of_grid(most, found);
      case node_kind::list:
        return next_of_list(0, position_, most, found);
      default:
        return next_of_comb(most, found);
    }
  });
}

void cursor::next_row(std::uint64_t limit, portion& found) {
  advance(limit, found, [&](std::uint64_t most) {
    if (leaf_->kind == node_kind::grid) {
      next_of_grid(most, found);
      if (found.rows == 1) return;
      found.rows = 1;
      found.bytes = found.columns * found.length;
      return;
    }
    // One block: the rest of the one we are in.
    std::uint64_t row = 0, position = position_;
    if (leaf_->kind == node_kind::comb) {
      const std::uint64_t once = leaf_->bytes / leaf_->count;
      row = position / once;
      position -= row * once;
    }
    const std::uintptr_t place = moved(leaf_place_, leaf_->stride, row);
    std::uint64_t entry = 0, begin = 0, end = 0;
    if (leaf_->length != 0) {
      entry = position / leaf_->length;
      begin = entry * leaf_->length;
      end = begin + leaf_->length;
    } else {
      const auto* prefix = layout_->at<std::uint64_t>(leaf_->prefix);
      if (prefix[entry_] > position) entry_ = 0;
      entry = entry_ = entry_at(prefix, entry_, leaf_->entries, position);
      begin = prefix[entry];
      end = prefix[entry + 1];
    }
    set_block(found, moved(place, layout_->at<std::int64_t>(leaf_->table)[entry]) + (position - begin),
              std::min(most, end - position));
  });
}

}  // namespace tri::mpi
