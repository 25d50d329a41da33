#include "mpi/datatypes/layout/layout_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace tri::mpi {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// A list that a loop repeats is kept as a comb, which moves block by block of many instances at a time.
constexpr std::uint64_t longest_comb_list = small_list;

class encoder {
 public:
  owned_layout encode(const datatype& described) {
    reserve(sizeof(layout));
    layout header;
    header.size = described.size();
    header.lower_bound = described.lower_bound();
    header.extent = described.extent();
    header.true_lower_bound = described.true_lower_bound();
    header.true_extent = described.true_extent();
    header.alignment = described.alignment();
    if (const placed_shape& shape = described.shape(); !shape.empty()) {
      header.blocks = shape.body->blocks;
      header.rows = shape.body->rows;
      header.root = node_for(shape, 0);
      header.depth = depth_;
    }
    if (const shared_signature& elements = described.elements(); elements != nullptr) {
      header.elements = elements->elements;
      header.kind = elements->kind;
      header.signature_root = node_for(*elements);
    }
    header.total_bytes = words_.size() * word_bytes;
    store(0, header);
    return owned_layout(std::move(words_));
  }

 private:
  using form = shape::form;

  std::uint64_t reserve(std::uint64_t bytes) {
    const std::uint64_t offset = words_.size() * word_bytes;
    words_.resize(words_.size() + bytes / word_bytes);
    return offset;
  }
  template <class T>
  void store(std::uint64_t offset, const T& value) {
    std::memcpy(&words_[offset / word_bytes], &value, sizeof value);
  }
  template <class T>
  std::uint64_t append(const std::vector<T>& values) {
    static_assert(sizeof(T) == word_bytes);
    const std::uint64_t offset = reserve(values.size() * word_bytes);
    std::memcpy(&words_[offset / word_bytes], values.data(), values.size() * word_bytes);
    return offset;
  }
  template <class Amounts>
  static std::vector<std::uint64_t> prefix_of(const Amounts& amounts) {
    std::vector<std::uint64_t> prefix = {0};
    for (const auto& amount : amounts) prefix.push_back(prefix.back() + amount);
    return prefix;
  }

  // Nodes are reserved before those that they contain: the order that layout_at() demands.
  std::uint64_t node_for(const placed_shape& placed, std::uint32_t level) {
    const std::uint64_t offset = reserve(sizeof(layout_node));
    const shape& body = *placed.body;
    layout_node node;
    node.bytes = body.bytes;
    node.displacement = placed.displacement;
    if (!leaf(body, node)) inner(body, node, level);
    store(offset, node);
    return offset;
  }

  bool leaf(const shape& what, layout_node& node) {
    if (what.is_block()) {
      node.kind = node_kind::grid;
      node.length = what.bytes;
      return true;
    }
    if (what.what == form::list) {
      list(what, node);
      node.kind = node_kind::list;
      return true;
    }
    if (what.what != form::loop) return false;
    const shape& inside = *what.body;
    if (inside.is_block()) {
      node.kind = node_kind::grid;
      node.columns = what.count;
      node.column_stride = what.stride;
      node.length = inside.bytes;
      return true;
    }
    if (inside.what == form::loop && inside.body->is_block()) {
      node.kind = node_kind::grid;
      node.count = what.count;
      node.stride = what.stride;
      node.columns = inside.count;
      node.column_stride = inside.stride;
      node.length = inside.body->bytes;
      return true;
    }
    if (inside.what != form::list || inside.displacements.size() > longest_comb_list) return false;
    node.kind = node_kind::comb;
    node.count = what.count;
    node.stride = what.stride;
    node.interleaved = inside.high - inside.low > std::abs(what.stride) ? 1 : 0;
    list(inside, node);
    return true;
  }

  void list(const shape& what, layout_node& node) {
    node.entries = what.displacements.size();
    node.table = append(what.displacements);
    const auto differs = [&](std::uint64_t length) { return length != what.amounts[0]; };
    if (std::none_of(what.amounts.begin(), what.amounts.end(), differs))
      node.length = what.amounts[0];
    else
      node.prefix = append(prefix_of(what.amounts));
  }

  void inner(const shape& what, layout_node& node, std::uint32_t level) {
    depth_ = std::max(depth_, level + 1);
    switch (what.what) {
      case form::loop:
        node.kind = node_kind::loop;
        node.count = what.count;
        node.stride = what.stride;
        break;
      case form::places:
        node.kind = node_kind::places;
        node.entries = what.displacements.size();
        node.table = append(what.displacements);
        break;
      case form::runs:
        node.kind = node_kind::runs;
        node.entries = what.displacements.size();
        node.table = append(what.displacements);
        node.prefix = append(prefix_of(what.amounts));
        node.stride = what.stride;
        break;
      default: {
        node.kind = node_kind::sequence;
        std::vector<std::uint64_t> bytes, nodes;
        for (const placed_shape& part : what.parts) {
          bytes.push_back(part.body->bytes);
          nodes.push_back(node_for(part, level + 1));
        }
        node.entries = nodes.size();
        node.table = append(nodes);
        node.prefix = append(prefix_of(bytes));
        return;
      }
    }
    node.body = node_for({0, what.body}, level + 1);
  }

  std::uint64_t node_for(const signature& what) {
    const std::uint64_t offset = reserve(sizeof(signature_node));
    signature_node node;
    node.element = what.kind;
    node.count = what.count;
    node.elements = what.elements;
    node.bytes = what.bytes;
    node.hash = what.hash.value;
    node.hash_power = what.hash.power;
    switch (what.what) {
      case signature::form::run:
        node.kind = signature_kind::run;
        break;
      case signature::form::loop:
        node.kind = signature_kind::loop;
        node.body = node_for(*what.body);
        break;
      case signature::form::sequence: {
        node.kind = signature_kind::sequence;
        std::vector<std::uint64_t> nodes, bytes, elements;
        for (const shared_signature& part : what.parts) {
          nodes.push_back(node_for(*part));
          bytes.push_back(part->bytes);
          elements.push_back(part->elements);
        }
        node.entries = nodes.size();
        node.table = append(nodes);
        node.byte_prefix = append(prefix_of(bytes));
        node.element_prefix = append(prefix_of(elements));
        break;
      }
    }
    store(offset, node);
    return offset;
  }

  std::vector<std::uint64_t> words_;
  std::uint32_t depth_ = 0;
};

}  // namespace

owned_layout encode(const datatype& described) { return encoder().encode(described); }

}  // namespace tri::mpi
