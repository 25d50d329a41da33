// Checks that bytes are a valid layout, before a process follows offsets that another one has written.
#include <bit>
#include <limits>

#include "mpi/datatypes/layout/layout.hpp"

namespace tri::mpi {
namespace {

constexpr std::uint64_t too_much = std::uint64_t{1} << 63;
constexpr std::uint32_t deepest =
    1 << 12;  // of nested nodes: the check descends by recursion, the cursor has a frame for each
bool product_is(std::uint64_t a, std::uint64_t b, std::uint64_t expected) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && product == expected && product < too_much;
}

class checker {
 public:
  explicit checker(const layout& checked) : layout_(checked) {}

  bool whole() {
    if (layout_.size >= too_much || layout_.elements >= too_much || !std::has_single_bit(layout_.alignment) ||
        layout_.kind > element_kind::mixed || layout_.depth > deepest ||
        layout_.extent == std::numeric_limits<std::int64_t>::min())
      return false;
    if ((layout_.root == 0) != (layout_.size == 0) || (layout_.signature_root == 0) != (layout_.elements == 0))
      return false;
    return (layout_.root == 0 || bytes_of(layout_.root, 0, 0) == layout_.size) &&
           (layout_.signature_root == 0 || elements_of(layout_.signature_root, 0, 0) == layout_.elements);
  }

 private:
  template <class T>
  bool inside(std::uint64_t offset, std::uint64_t number) const {
    if (offset < sizeof(layout) || offset % alignof(T) != 0 || offset > layout_.total_bytes) return false;
    return number <= (layout_.total_bytes - offset) / sizeof(T);
  }
  // Grows from 0 up to `last`.
  bool is_prefix(std::uint64_t offset, std::uint64_t entries, std::uint64_t last) const {
    if (entries == 0 || !inside<std::uint64_t>(offset, entries + 1)) return false;
    const std::uint64_t* values = layout_.at<std::uint64_t>(offset);
    for (std::uint64_t i = 0; i < entries; ++i)
      if (values[i + 1] <= values[i]) return false;
    return values[0] == 0 && values[entries] == last;
  }

  // Nothing is contained twice: all visits together cannot need more bytes than the layout has. Without this, nodes
  // that share their bodies are visited exponentially often.
  bool first_visit(std::uint64_t bytes) {
    visited_bytes_ += bytes;
    return visited_bytes_ <= layout_.total_bytes;
  }

  // A node comes after those that contain it, so no node contains itself. 0: something is wrong.
  std::uint64_t bytes_of(std::uint64_t offset, std::uint64_t parent, std::uint32_t level) {
    if (offset <= parent || !inside<layout_node>(offset, 1) || !first_visit(sizeof(layout_node))) return 0;
    const layout_node& node = *layout_.at<layout_node>(offset);
    if (node.bytes == 0 || node.bytes >= too_much || node.count == 0) return 0;
    return consistent(node, offset, level) ? node.bytes : 0;
  }

  bool consistent(const layout_node& node, std::uint64_t offset, std::uint32_t level) {
    const bool leaf = node.kind == node_kind::grid || node.kind == node_kind::list || node.kind == node_kind::comb;
    if (!leaf && level >= layout_.depth) return false;
    const auto body_times = [&](std::uint64_t times) {
      const std::uint64_t body = bytes_of(node.body, offset, level + 1);
      return body != 0 && product_is(body, times, node.bytes);
    };
    switch (node.kind) {
      case node_kind::grid: {
        std::uint64_t row = 0;
        return node.columns != 0 && node.length != 0 && !__builtin_mul_overflow(node.columns, node.length, &row) &&
               product_is(row, node.count, node.bytes);
      }
      case node_kind::list:
      case node_kind::comb: {
        if (node.kind == node_kind::list && node.count != 1) return false;
        if (node.bytes % node.count != 0 || !inside<std::int64_t>(node.table, node.entries)) return false;
        const std::uint64_t once = node.bytes / node.count;
        return node.length != 0 ? product_is(node.length, node.entries, once) && node.prefix == 0
                                : is_prefix(node.prefix, node.entries, once);
      }
      case node_kind::loop:
        return body_times(node.count);
      case node_kind::places:
        return inside<std::int64_t>(node.table, node.entries) && body_times(node.entries);
      case node_kind::runs:
        return inside<std::int64_t>(node.table, node.entries) && inside<std::uint64_t>(node.prefix, node.entries + 1) &&
               is_prefix(node.prefix, node.entries, layout_.at<std::uint64_t>(node.prefix)[node.entries]) &&
               body_times(layout_.at<std::uint64_t>(node.prefix)[node.entries]);
      case node_kind::sequence: {
        if (!inside<std::uint64_t>(node.table, node.entries) || !is_prefix(node.prefix, node.entries, node.bytes))
          return false;
        const std::uint64_t* nodes = layout_.at<std::uint64_t>(node.table);
        const std::uint64_t* before = layout_.at<std::uint64_t>(node.prefix);
        for (std::uint64_t i = 0; i < node.entries; ++i)
          if (bytes_of(nodes[i], offset, level + 1) != before[i + 1] - before[i]) return false;
        return true;
      }
    }
    return false;
  }

  std::uint64_t elements_of(std::uint64_t offset, std::uint64_t parent, std::uint32_t level) {
    if (offset <= parent || level > deepest || !inside<signature_node>(offset, 1) ||
        !first_visit(sizeof(signature_node)))
      return 0;
    const signature_node& node = *layout_.at<signature_node>(offset);
    return node.elements != 0 && node.elements < too_much && node.element <= element_kind::mixed &&
                   consistent(node, offset, level)
               ? node.elements
               : 0;
  }

  bool consistent(const signature_node& node, std::uint64_t offset, std::uint32_t level) {
    switch (node.kind) {
      case signature_kind::run:
        return node.element < element_kind::mixed && node.count == node.elements &&
               product_is(node.count, facts_of(node.element).bytes, node.bytes);
      case signature_kind::loop: {
        const std::uint64_t body = elements_of(node.body, offset, level + 1);
        return body != 0 && product_is(body, node.count, node.elements) &&
               product_is(layout_.at<signature_node>(node.body)->bytes, node.count, node.bytes);
      }
      case signature_kind::sequence: {
        if (!inside<std::uint64_t>(node.table, node.entries) ||
            !is_prefix(node.element_prefix, node.entries, node.elements) ||
            !is_prefix(node.byte_prefix, node.entries, node.bytes))
          return false;
        const std::uint64_t* nodes = layout_.at<std::uint64_t>(node.table);
        const std::uint64_t* before = layout_.at<std::uint64_t>(node.element_prefix);
        const std::uint64_t* bytes_before = layout_.at<std::uint64_t>(node.byte_prefix);
        for (std::uint64_t i = 0; i < node.entries; ++i)
          if (elements_of(nodes[i], offset, level + 1) != before[i + 1] - before[i] ||
              layout_.at<signature_node>(nodes[i])->bytes != bytes_before[i + 1] - bytes_before[i])
            return false;
        return true;
      }
    }
    return false;
  }

  const layout& layout_;
  std::uint64_t visited_bytes_ = 0;
};

}  // namespace

const layout* layout_at(const void* memory, std::size_t available_bytes) {
  if (reinterpret_cast<std::uintptr_t>(memory) % alignof(layout) != 0 || available_bytes < sizeof(layout))
    return nullptr;
  const auto* found = static_cast<const layout*>(memory);
  if (found->version != layout::current_version || found->total_bytes > available_bytes ||
      found->total_bytes < sizeof(layout))
    return nullptr;
  return checker(*found).whole() ? found : nullptr;
}

}  // namespace tri::mpi
