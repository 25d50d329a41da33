#include "mpi/datatypes/layout/element_count.hpp"

#include <algorithm>

namespace tri::mpi {
namespace {

// The whole stream as a loop around the signature of one instance.
signature_node whole(const layout& described, std::uint64_t count) {
  const signature_node& root = *described.at<signature_node>(described.signature_root);
  signature_node made = root;
  made.bytes = count * root.bytes;
  made.elements = count * root.elements;
  if (root.kind == signature_kind::run || root.kind == signature_kind::loop) {
    made.count = count * root.count;
    return made;
  }
  made = {};
  made.kind = signature_kind::loop;
  made.element = root.element;
  made.count = count;
  made.bytes = count * root.bytes;
  made.elements = count * root.elements;
  made.body = described.signature_root;
  return made;
}

std::uint64_t entry_at(const std::uint64_t* prefix, std::uint64_t entries, std::uint64_t value) {
  return static_cast<std::uint64_t>(std::upper_bound(prefix, prefix + entries, value) - prefix) - 1;
}

// The run at a place of the stream that `before` measures: in bytes or in elements.
struct found_run {
  const signature_node* run = nullptr;
  std::uint64_t elements_before = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t rest = 0;  // of the place, in the run
};

enum class unit { bytes, elements };

template <unit Unit>
found_run find(const layout& described, const signature_node& top, std::uint64_t place) {
  found_run found;
  const signature_node* node = &top;
  for (;;) {
    switch (node->kind) {
      case signature_kind::run:
        found.run = node;
        found.rest = place;
        return found;
      case signature_kind::loop: {
        const auto* body = described.at<signature_node>(node->body);
        const std::uint64_t once = Unit == unit::bytes ? body->bytes : body->elements;
        const std::uint64_t times = place / once;
        place -= times * once;
        found.elements_before += times * body->elements;
        found.bytes_before += times * body->bytes;
        node = body;
        break;
      }
      case signature_kind::sequence: {
        const auto* bytes = described.at<std::uint64_t>(node->byte_prefix);
        const auto* elements = described.at<std::uint64_t>(node->element_prefix);
        const std::uint64_t* prefix = Unit == unit::bytes ? bytes : elements;
        const std::uint64_t entry = entry_at(prefix, node->entries, place);
        place -= prefix[entry];
        found.elements_before += elements[entry];
        found.bytes_before += bytes[entry];
        node = described.at<signature_node>(described.at<std::uint64_t>(node->table)[entry]);
        break;
      }
    }
  }
}

sequence_hash hash_in(const signature_node& node) { return {node.hash, node.hash_power}; }

sequence_hash hash_of_first(const layout& described, const signature_node& node, std::uint64_t elements) {
  switch (node.kind) {
    case signature_kind::run:
      return repeated(hash_of(node.element), elements);
    case signature_kind::loop: {
      const signature_node& body = *described.at<signature_node>(node.body);
      const std::uint64_t times = elements / body.elements, rest = elements - times * body.elements;
      const sequence_hash hash = repeated(hash_in(body), times);
      return rest == 0 ? hash : joined(hash, hash_of_first(described, body, rest));
    }
    case signature_kind::sequence: {
      const auto* nodes = described.at<std::uint64_t>(node.table);
      sequence_hash hash = {};
      for (std::uint64_t i = 0; elements > 0; ++i) {
        const signature_node& part = *described.at<signature_node>(nodes[i]);
        if (elements < part.elements) return joined(hash, hash_of_first(described, part, elements));
        hash = joined(hash, hash_in(part));
        elements -= part.elements;
      }
      return hash;
    }
  }
  return {};
}

}  // namespace

element_position elements_in(const layout& described, std::uint64_t count, std::uint64_t bytes) {
  const std::uint64_t all = count * described.size;
  if (bytes >= all) return {count * described.elements, bytes - all};
  const signature_node top = whole(described, count);
  const found_run found = find<unit::bytes>(described, top, bytes);
  const std::uint64_t element = facts_of(found.run->element).bytes;
  return {found.elements_before + found.rest / element, found.rest % element};
}

std::uint64_t bytes_of_elements(const layout& described, std::uint64_t count, std::uint64_t elements) {
  if (elements >= count * described.elements) return count * described.size;
  const signature_node top = whole(described, count);
  const found_run found = find<unit::elements>(described, top, elements);
  return found.bytes_before + found.rest * facts_of(found.run->element).bytes;
}

element_run run_at(const layout& described, std::uint64_t count, std::uint64_t offset) {
  const signature_node top = whole(described, count);
  const found_run found = find<unit::bytes>(described, top, offset);
  return {found.run->element, found.rest % facts_of(found.run->element).bytes, found.run->bytes - found.rest};
}

std::uint64_t element_start(const layout& described, std::uint64_t count, std::uint64_t offset) {
  return offset - elements_in(described, count, offset).remainder;
}

sequence_hash signature_of_first(const layout& described, std::uint64_t count, std::uint64_t elements) {
  if (elements == 0) return {};
  return hash_of_first(described, whole(described, count), std::min(elements, count * described.elements));
}

bool may_receive(const layout& sent, std::uint64_t count, const layout& received, std::uint64_t received_count) {
  const std::uint64_t elements = count * sent.elements;
  return elements <= received_count * received.elements &&
         signature_of_first(sent, count, elements) == signature_of_first(received, received_count, elements);
}

}  // namespace tri::mpi
