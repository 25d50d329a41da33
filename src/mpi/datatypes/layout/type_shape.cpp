#include "mpi/datatypes/layout/type_shape.hpp"

#include <algorithm>
#include <utility>

#include "mpi/datatypes/layout/checked.hpp"

namespace tri::mpi {
namespace {

using form = shape::form;

// Numbers of blocks only decide what to do; a type of a few words may have more of them than a word counts.
constexpr std::uint64_t cap = std::uint64_t{1} << 62;
std::uint64_t capped_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? cap : std::min(product, cap);
}
std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) { return std::min(a + b, cap); }

std::shared_ptr<const shape> shared(shape made) { return std::make_shared<const shape>(std::move(made)); }

// Blocks in stream order under construction; a block that continues the one before becomes part of it.
struct block_list {
  std::vector<std::int64_t> displacements = {};
  std::vector<std::uint64_t> lengths = {};

  void add(std::int64_t displacement, std::uint64_t length) {
    if (!displacements.empty() && displacements.back() + checked::factor(lengths.back()) == displacement) {
      lengths.back() = checked::add_sizes(lengths.back(), length);
      return;
    }
    displacements.push_back(displacement);
    lengths.push_back(length);
  }

  void add(const placed_shape& part, std::int64_t origin) {
    const std::int64_t at = checked::add(origin, part.displacement);
    const shape& body = *part.body;
    switch (body.what) {
      case form::block:
        add(at, body.bytes);
        return;
      case form::list:
        for (std::size_t i = 0; i < body.displacements.size(); ++i) add(at + body.displacements[i], body.amounts[i]);
        return;
      case form::loop:
        for (std::uint64_t i = 0; i < body.count; ++i)
          add({0, body.body}, at + static_cast<std::int64_t>(i) * body.stride);
        return;
      case form::places:
        for (const std::int64_t displacement : body.displacements) add({0, body.body}, at + displacement);
        return;
      case form::runs:
        for (std::size_t i = 0; i < body.displacements.size(); ++i)
          for (std::uint64_t k = 0; k < body.amounts[i]; ++k)
            add({0, body.body}, at + body.displacements[i] + static_cast<std::int64_t>(k) * body.stride);
        return;
      case form::sequence:
        for (const placed_shape& inner : body.parts) add(inner, at);
        return;
    }
  }
};

// All gaps the same: the common distance. There are at least two.
bool evenly_spaced(const std::vector<std::int64_t>& displacements) {
  const std::int64_t step = checked::subtract(displacements[1], displacements[0]);
  for (std::size_t i = 2; i < displacements.size(); ++i)
    if (checked::subtract(displacements[i], displacements[i - 1]) != step) return false;
  return true;
}
bool all_equal(const std::vector<std::uint64_t>& amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [&](std::uint64_t amount) { return amount == amounts.front(); });
}

placed_shape finish(block_list blocks) {
  if (blocks.displacements.empty()) return {};
  if (blocks.displacements.size() == 1) return block_at(blocks.displacements[0], blocks.lengths[0]);
  const bool equal = all_equal(blocks.lengths);
  if (equal && evenly_spaced(blocks.displacements))
    return repeated(blocks.displacements.size(), blocks.displacements[1] - blocks.displacements[0],
                    block_at(blocks.displacements[0], blocks.lengths[0]));
  shape made;
  made.what = form::list;
  made.blocks = made.rows = blocks.displacements.size();
  made.low = blocks.displacements[0];
  made.high = checked::add(blocks.displacements[0], checked::factor(blocks.lengths[0]));
  for (std::size_t i = 0; i < blocks.displacements.size(); ++i) {
    made.bytes = checked::add_sizes(made.bytes, blocks.lengths[i]);
    made.low = std::min(made.low, blocks.displacements[i]);
    made.high = std::max(made.high, checked::add(blocks.displacements[i], checked::factor(blocks.lengths[i])));
  }
  made.displacements = std::move(blocks.displacements);
  made.amounts = std::move(blocks.lengths);
  return {0, shared(std::move(made))};
}

// A chain of loops around one block: nothing that a list would describe better, unless there are hardly any blocks.
// Then a list is as good for one instance, and for many of them better, since it becomes a comb.
bool chain_of_loops(const shape& what) {
  return what.is_block() || (what.what == form::loop && chain_of_loops(*what.body));
}
bool regular(const shape& what) {
  constexpr std::uint64_t hardly_any = 16;
  return what.rows == 1 || (what.blocks > hardly_any && chain_of_loops(what));
}

placed_shape list_if_small(placed_shape what) {
  if (what.body->what == form::list || what.body->blocks > small_list || regular(*what.body)) return what;
  block_list blocks;
  blocks.add(what, 0);
  return finish(std::move(blocks));
}

void include(shape& into, std::int64_t displacement, const shape& body, bool first) {
  const std::int64_t low = checked::add(displacement, body.low);
  const std::int64_t high = checked::add(displacement, body.high);
  into.low = first ? low : std::min(into.low, low);
  into.high = first ? high : std::max(into.high, high);
}

}  // namespace

placed_shape block_at(std::int64_t displacement, std::uint64_t bytes) {
  if (bytes == 0) return {};
  shape made;
  made.bytes = bytes;
  made.high = checked::factor(bytes);
  return {displacement, shared(std::move(made))};
}

placed_shape moved(placed_shape what, std::int64_t by) {
  if (!what.empty()) what.displacement = checked::add(what.displacement, by);
  return what;
}

placed_shape repeated(std::uint64_t count, std::int64_t stride, const placed_shape& body) {
  if (count == 0 || body.empty()) return {};
  if (count == 1) return body;
  const shape& inner = *body.body;
  if (inner.is_block() && stride == checked::factor(inner.bytes))
    return block_at(body.displacement, checked::multiply_sizes(count, inner.bytes));
  if (inner.what == form::loop && stride == checked::multiply(checked::factor(inner.count), inner.stride))
    return repeated(checked::multiply_sizes(count, inner.count), inner.stride, {body.displacement, inner.body});
  shape made;
  made.what = form::loop;
  made.count = count;
  made.stride = stride;
  made.body = body.body;
  made.bytes = checked::multiply_sizes(count, inner.bytes);
  made.blocks = capped_product(count, inner.blocks);
  made.rows = inner.is_block() ? 1 : capped_product(count, inner.rows);
  made.depth = inner.depth + 1;
  include(made, 0, inner, true);
  include(made, checked::multiply(checked::factor(count - 1), stride), inner, false);
  return list_if_small({body.displacement, shared(std::move(made))});
}

placed_shape at_places(std::vector<std::int64_t> displacements, const placed_shape& body) {
  if (displacements.empty() || body.empty()) return {};
  for (std::int64_t& displacement : displacements) displacement = checked::add(displacement, body.displacement);
  const shape& inner = *body.body;
  if (displacements.size() == 1) return {displacements[0], body.body};
  if (inner.is_block()) {
    block_list blocks;
    for (const std::int64_t displacement : displacements) blocks.add(displacement, inner.bytes);
    return finish(std::move(blocks));
  }
  if (evenly_spaced(displacements))
    return repeated(displacements.size(), displacements[1] - displacements[0], {displacements[0], body.body});
  shape made;
  made.what = form::places;
  made.body = body.body;
  made.bytes = checked::multiply_sizes(displacements.size(), inner.bytes);
  made.blocks = capped_product(displacements.size(), inner.blocks);
  made.rows = capped_product(displacements.size(), inner.rows);
  made.depth = inner.depth + 1;
  for (std::size_t i = 0; i < displacements.size(); ++i) include(made, displacements[i], inner, i == 0);
  made.displacements = std::move(displacements);
  return list_if_small({0, shared(std::move(made))});
}

placed_shape in_runs(std::vector<std::int64_t> displacements, std::vector<std::uint64_t> counts, std::int64_t stride,
                     const placed_shape& body) {
  if (body.empty()) return {};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    if (counts[i] == 0) continue;
    displacements[kept] = checked::add(displacements[i], body.displacement);
    counts[kept++] = counts[i];
  }
  displacements.resize(kept);
  counts.resize(kept);
  if (kept == 0) return {};
  const shape& inner = *body.body;
  if (inner.is_block() && stride == checked::factor(inner.bytes)) {
    block_list blocks;
    for (std::size_t i = 0; i < kept; ++i)
      blocks.add(displacements[i], checked::multiply_sizes(counts[i], inner.bytes));
    return finish(std::move(blocks));
  }
  if (all_equal(counts)) return at_places(std::move(displacements), repeated(counts[0], stride, {0, body.body}));
  shape made;
  made.what = form::runs;
  made.body = body.body;
  made.stride = stride;
  made.depth = inner.depth + 1;
  made.blocks = made.rows = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    made.bytes = checked::add_sizes(made.bytes, checked::multiply_sizes(counts[i], inner.bytes));
    made.blocks = capped_sum(made.blocks, capped_product(counts[i], inner.blocks));
    made.rows = capped_sum(made.rows, capped_product(counts[i], inner.rows));
    include(made, displacements[i], inner, i == 0);
    const std::int64_t last = checked::multiply(checked::factor(counts[i] - 1), stride);
    include(made, checked::add(displacements[i], last), inner, false);
  }
  made.displacements = std::move(displacements);
  made.amounts = std::move(counts);
  return list_if_small({0, shared(std::move(made))});
}

placed_shape in_sequence(std::vector<placed_shape> parts) {
  std::erase_if(parts, [](const placed_shape& part) { return part.empty(); });
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const auto same_body = [&](const placed_shape& part) { return part.body == parts[0].body; };
  if (!parts[0].body->is_block() && std::all_of(parts.begin(), parts.end(), same_body)) {
    std::vector<std::int64_t> displacements;
    displacements.reserve(parts.size());
    for (const placed_shape& part : parts) displacements.push_back(part.displacement);
    return at_places(std::move(displacements), {0, parts[0].body});
  }
  // Nested parts are flattened, and plain blocks become one list per range.
  std::vector<placed_shape> flat;
  block_list blocks;
  const auto end_of_blocks = [&] {
    if (const placed_shape list = finish(std::exchange(blocks, {})); !list.empty()) flat.push_back(list);
  };
  const auto take = [&](const placed_shape& part, const auto& again) -> void {
    const shape& body = *part.body;
    if (body.what == form::sequence) {
      for (const placed_shape& inner : body.parts) again(moved(inner, part.displacement), again);
    } else if (body.is_block() || body.what == form::list || (body.blocks <= small_list && !regular(body))) {
      blocks.add(part, 0);
    } else {
      end_of_blocks();
      flat.push_back(part);
    }
  };
  for (const placed_shape& part : parts) take(part, take);
  end_of_blocks();
  if (flat.size() == 1) return flat[0];
  shape made;
  made.what = form::sequence;
  made.blocks = made.rows = 0;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const shape& body = *flat[i].body;
    made.bytes = checked::add_sizes(made.bytes, body.bytes);
    made.blocks = capped_sum(made.blocks, body.blocks);
    made.rows = capped_sum(made.rows, body.rows);
    made.depth = std::max(made.depth, body.depth + 1);
    include(made, flat[i].displacement, body, i == 0);
  }
  made.parts = std::move(flat);
  return list_if_small({0, shared(std::move(made))});
}

}  // namespace tri::mpi
