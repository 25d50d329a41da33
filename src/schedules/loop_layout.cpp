// Layouts by kind of schedule. Formulas after V. Kale, PhD dissertation, Illinois 2015 (chapters 2, 3, 5, 6); guided
// after Polychronopoulos and Kuck, trapezoid after Tzen and Ni, factoring after Hummel, Schonberg and Flynn.
#include "schedules/loop_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "schedules/learning/weights.hpp"
#include "schedules/user_schedule.hpp"

namespace tri::schedules {
namespace {

// The arithmetic of 64-bit numbers of iterations.
__extension__ typedef unsigned __int128 wide;

std::uint64_t divided_up(wide value, wide by) { return static_cast<std::uint64_t>((value + by - 1) / by); }

std::uint64_t cut(std::uint64_t total, std::uint64_t index, std::uint64_t parts) {
  return static_cast<std::uint64_t>(wide{total} * index / parts);
}

std::uint64_t share(std::uint64_t total, double fraction) {
  if (fraction >= 1.0) return total;
  const long double exact = static_cast<long double>(total) * fraction;
  return std::min(total, static_cast<std::uint64_t>(std::floor(exact + 0.5L)));
}

// What every kind starts from.
struct request {
  const schedule& which;
  std::uint64_t items;
  std::uint32_t participants;
  const layout_inputs& known;

  std::uint64_t chunk() const {
    const std::uint64_t wanted = which.chunk != 0 ? which.chunk : items / 64 / participants;
    return std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(items, 1));
  }
  double static_fraction() const {
    return has_static_fraction(which.kind) ? which.static_fraction : 1.0 - known.dynamic_fraction;
  }
  bool weighted() const {
    return (which.weights || which.kind == schedule_kind::weighted || which.kind == schedule_kind::weighted_tasklets) &&
           !known.weights.empty();
  }
  // [0, total) in one block per participant: where they begin, and the end.
  std::vector<std::uint64_t> blocks(std::uint64_t total) const {
    if (weighted()) return starts_of(allocate(total, known.weights));
    std::vector<std::uint64_t> starts;
    for (std::uint64_t index = 0; index <= participants; ++index) starts.push_back(cut(total, index, participants));
    return starts;
  }
  // Iterations of the smallest unit that can be claimed, so that claim numbers fit into 32 bits, even when every
  // participant overshoots the end of a pool once (claim_word.hpp).
  std::uint64_t granule(std::uint64_t claim_items) const {
    const std::uint64_t claimers = std::max(participants, known.claimers);
    return std::max<std::uint64_t>(
        1, divided_up(wide{items} + wide{claimers} * claim_items, board::most_chunks - claimers - 1));
  }
};

std::uint32_t number(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

board::participant_range own_only(std::uint64_t first, std::uint64_t last) {
  return {number(first), number(last), number(last - first), number(last - first)};
}

// Blocks of the first `static_chunks`, then a pool.
void lay_out_pool(loop_layout& layout, const request& wanted, double static_fraction, std::uint64_t claim) {
  layout.chunk = wanted.granule(claim);
  const std::uint64_t chunks = board::chunk_count(wanted.items, layout.chunk);
  const std::uint64_t dealt_out = share(chunks, static_fraction);
  const std::vector<std::uint64_t> starts = wanted.blocks(dealt_out);
  for (std::uint32_t index = 0; index < wanted.participants; ++index) {
    layout.ranges.push_back(own_only(starts[index], starts[index + 1]));
  }
  if (dealt_out < chunks) layout.pool = {number(dealt_out), number(chunks)};
  layout.pool_step = number(divided_up(claim, layout.chunk));
}

// Chunks of k, dealt out in turn.
void lay_out_dealt(loop_layout& layout, const request& wanted) {
  layout.chunk = std::max(wanted.chunk(), divided_up(wanted.items, board::most_chunks));
  layout.dealt = wanted.participants;
  const std::uint32_t chunks = layout.chunks();
  std::uint64_t first = 0;
  for (std::uint32_t index = 0; index < wanted.participants; ++index) {
    const std::uint64_t length = chunks / wanted.participants + (index < chunks % wanted.participants ? 1 : 0);
    layout.ranges.push_back(own_only(first, first + length));
    first += length;
  }
}

// Blocks, one chunk each, of the iterations not in `sizes`; then chunks of these sizes. Returns the block of each
// participant, as claim numbers of an unchanged order.
std::vector<board::chunk_span> lay_out_bounds(loop_layout& layout, const request& wanted,
                                              const std::vector<std::uint64_t>& sizes, std::uint64_t dealt_out) {
  layout.bounds.push_back(0);
  std::vector<board::chunk_span> blocks;
  const std::vector<std::uint64_t> starts = wanted.blocks(dealt_out);
  for (std::uint32_t index = 0; index < wanted.participants; ++index) {
    const std::uint32_t before = layout.chunks();
    if (starts[index] < starts[index + 1]) layout.bounds.push_back(starts[index + 1]);  // none is empty
    blocks.push_back({before, layout.chunks()});
  }
  layout.first_tasklet = layout.chunks();
  for (const std::uint64_t size : sizes) layout.bounds.push_back(layout.bounds.back() + size);
  return blocks;
}

// Chunk sizes of a shared pool.
void lay_out_sizes(loop_layout& layout, const request& wanted, const std::vector<std::uint64_t>& sizes,
                   std::uint64_t dealt_out) {
  for (const board::chunk_span block : lay_out_bounds(layout, wanted, sizes, dealt_out)) {
    layout.ranges.push_back(own_only(block.first, block.last));
  }
  if (!sizes.empty()) layout.pool = {layout.first_tasklet, layout.chunks()};
}

// A tasklet is in the range of the participant that ran it last, behind its block; the owner takes them from the front,
// others from the back. Tasklets that have not run yet are in the pool. With several queues, each is behind the block
// of the participant in the middle of those nearest to it.
void lay_out_tasklets(loop_layout& layout, const request& wanted) {
  const schedule& which = wanted.which;
  const std::uint64_t dealt_out = share(wanted.items, wanted.static_fraction());
  const std::uint64_t rest = wanted.items - dealt_out;
  const std::vector<std::uint64_t> sizes =
      which.skewed ? skewed_sizes(rest, which.tasklets) : equal_sizes(rest, which.tasklets);
  const std::vector<board::chunk_span> blocks = lay_out_bounds(layout, wanted, sizes, dealt_out);
  const auto tasklets = number(sizes.size());
  layout.tasklets = tasklets;

  std::vector<std::uint32_t> holders(tasklets, no_owner);
  if (which.queues > 1) {
    const std::uint64_t queues = std::min(which.queues, wanted.participants);
    for (std::uint64_t queue = 0; queue < queues; ++queue) {
      const auto holder = number(cut(wanted.participants, 2 * queue + 1, 2 * queues));
      for (std::uint64_t task = cut(tasklets, queue, queues); task < cut(tasklets, queue + 1, queues); ++task) {
        holders[task] = holder;
      }
    }
  } else if (which.tags && wanted.known.last_owners.size() == tasklets) {
    std::copy(wanted.known.last_owners.begin(), wanted.known.last_owners.end(), holders.begin());
  }
  std::vector<std::vector<std::uint32_t>> held(wanted.participants + std::size_t{1});  // the last: without an owner
  for (std::uint32_t task = 0; task < tasklets; ++task) {
    held[std::min(holders[task], wanted.participants)].push_back(layout.first_tasklet + task);
  }
  for (std::uint32_t index = 0; index < wanted.participants; ++index) {
    const auto first = number(layout.order.size());
    for (std::uint32_t chunk = blocks[index].first; chunk < blocks[index].last; ++chunk) layout.order.push_back(chunk);
    const auto own = number(layout.order.size()) - first;
    layout.order.insert(layout.order.end(), held[index].begin(), held[index].end());
    layout.ranges.push_back({first, number(layout.order.size()), own, own});
  }
  if (!held.back().empty()) {
    layout.pool = {number(layout.order.size()), layout.chunks()};
    layout.order.insert(layout.order.end(), held.back().begin(), held.back().end());
  }
  if (which.queues > 1) layout.steal = board::steal_order::neighbours_clipped;  // the nearest queue first
  if (std::is_sorted(layout.order.begin(), layout.order.end())) layout.order.clear();
}

// A band per participant: its block, and its own dynamic part right behind it.
void lay_out_bands(loop_layout& layout, const request& wanted) {
  const std::uint64_t claim = wanted.chunk();
  layout.chunk = wanted.granule(0);
  const std::vector<std::uint64_t> starts = wanted.blocks(board::chunk_count(wanted.items, layout.chunk));
  for (std::uint32_t index = 0; index < wanted.participants; ++index) {
    const std::uint64_t band = starts[index + 1] - starts[index];
    const std::uint64_t dealt_out = share(band, wanted.static_fraction());
    const auto kept = static_cast<std::uint64_t>(std::ceil(wanted.which.keep * static_cast<double>(band - dealt_out)));
    layout.ranges.push_back({number(starts[index]), number(starts[index + 1]), number(dealt_out),
                             number(std::min(band, dealt_out + kept))});
  }
  layout.owner.step = number(std::min<std::uint64_t>(divided_up(claim, layout.chunk), board::most_chunks));
  layout.thief.step = layout.owner.step;
  if (wanted.which.skewed) layout.owner.shift = 2;  // a quarter of the rest, so sizes shrink
  layout.steal = wanted.which.wrap ? board::steal_order::neighbours : board::steal_order::neighbours_clipped;
}

void check_inputs(const request& wanted) {
  check_schedule(wanted.which);
  if (wanted.participants == 0 || wanted.participants > 65535) {
    throw std::invalid_argument(
        fmt::format("loop layout: participants is {}; it must be 1 to 65535", wanted.participants));
  }
  if (wanted.known.claimers > 1u << 30) {
    throw std::invalid_argument(
        fmt::format("loop layout: claimers is {}; it must be at most {}", wanted.known.claimers, 1u << 30));
  }
  if (!wanted.known.weights.empty() && wanted.known.weights.size() != wanted.participants) {
    throw std::invalid_argument(fmt::format("loop layout: {} weights for {} participants; it must be one each",
                                            wanted.known.weights.size(), wanted.participants));
  }
  if (!(wanted.known.dynamic_fraction >= 0.0 && wanted.known.dynamic_fraction <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("loop layout: dynamic_fraction is {}; it must lie between 0 and 1", wanted.known.dynamic_fraction));
  }
}

void lay_out_blocks(loop_layout& layout, const request& wanted) { lay_out_pool(layout, wanted, 1.0, 1); }

void lay_out_hybrid(loop_layout& layout, const request& wanted) {
  if (wanted.which.skewed) {
    const std::uint64_t dealt_out = share(wanted.items, wanted.static_fraction());
    lay_out_sizes(layout, wanted, skewed_sizes(wanted.items - dealt_out, wanted.which.tasklets), dealt_out);
  } else {
    lay_out_pool(layout, wanted, wanted.static_fraction(), wanted.chunk());
  }
}

using size_rule = std::vector<std::uint64_t>(std::uint64_t items, std::uint32_t participants, std::uint64_t least);
template <size_rule* Rule>
void lay_out_rule(loop_layout& layout, const request& wanted) {
  const std::uint64_t least =
      std::clamp<std::uint64_t>(wanted.which.chunk, 1, std::max<std::uint64_t>(wanted.items, 1));
  lay_out_sizes(layout, wanted, Rule(wanted.items, wanted.participants, least), 0);
}

struct kind_layout {
  schedule_kind kind;
  void (*lay_out)(loop_layout&, const request&);
};
constexpr kind_layout kind_layouts[] = {
    {schedule_kind::automatic, lay_out_bands},
    {schedule_kind::static_blocks,
     [](loop_layout& layout, const request& wanted) {
       wanted.which.chunk == 0 ? lay_out_blocks(layout, wanted) : lay_out_dealt(layout, wanted);
     }},
    {schedule_kind::dynamic,
     [](loop_layout& layout, const request& wanted) { lay_out_pool(layout, wanted, 0.0, wanted.chunk()); }},
    {schedule_kind::guided, lay_out_rule<guided_sizes>},
    {schedule_kind::trapezoid, lay_out_rule<trapezoid_sizes>},
    {schedule_kind::factoring, lay_out_rule<factoring_sizes>},
    {schedule_kind::hybrid, lay_out_hybrid},
    {schedule_kind::tasklets, lay_out_tasklets},
    {schedule_kind::weighted, lay_out_blocks},
    {schedule_kind::weighted_tasklets, lay_out_tasklets},
    {schedule_kind::staggered, lay_out_bands},
    {schedule_kind::static_hybrid, lay_out_hybrid},
    {schedule_kind::slack_conscious, lay_out_hybrid},
    {schedule_kind::combined, lay_out_bands},
    {schedule_kind::user,
     [](loop_layout& layout, const request& wanted) {
       lay_out_user_schedule(layout, wanted.which.user, wanted.items, wanted.participants, wanted.known.last);
     }},
};

}  // namespace

std::vector<std::uint64_t> equal_sizes(std::uint64_t items, std::uint32_t count) {
  const std::uint64_t parts = std::min<std::uint64_t>(items, count);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t index = 0; index < parts; ++index) {
    sizes.push_back(cut(items, index + 1, parts) - cut(items, index, parts));
  }
  return sizes;
}

std::vector<std::uint64_t> skewed_sizes(std::uint64_t items, std::uint32_t count) {
  std::uint32_t levels = 1;
  while (4 * ((std::uint64_t{2} << levels) - 1) <= count) ++levels;
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t level = 0; level < levels; ++level) {
    const std::uint64_t held = cut(items, level + 1, levels) - cut(items, level, levels);
    const std::uint64_t parts = std::min<std::uint64_t>(std::uint64_t{4} << level, count);
    // The longer ones first, so that no tasklet is longer than the one before it.
    for (std::uint64_t index = 0; index < std::min(parts, held); ++index) {
      sizes.push_back(held / parts + (index < held % parts ? 1 : 0));
    }
  }
  return sizes;
}

std::vector<std::uint64_t> guided_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t left = items; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min(left, std::max(least, divided_up(left, participants))));
  }
  return sizes;
}

std::vector<std::uint64_t> trapezoid_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least) {
  std::vector<std::uint64_t> sizes;
  const std::uint64_t first = std::max(least, divided_up(items, wide{2} * participants));
  const std::uint64_t steps = divided_up(wide{2} * items, wide{first} + least);  // claims in all
  std::uint64_t left = items;
  for (std::uint64_t step = 0; left > 0; ++step) {
    const std::uint64_t smaller = steps > 1 ? cut(first - least, std::min(step, steps - 1), steps - 1) : 0;
    sizes.push_back(std::min(left, first - smaller));
    left -= sizes.back();
  }
  return sizes;
}

std::vector<std::uint64_t> factoring_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t left = items; left > 0;) {
    const std::uint64_t size = std::max(least, divided_up(left, wide{2} * participants));
    for (std::uint32_t claim = 0; claim < participants && left > 0; ++claim) {
      sizes.push_back(std::min(left, size));
      left -= sizes.back();
    }
  }
  return sizes;
}

loop_layout layout_of(const schedule& which, std::uint64_t items, std::uint32_t participants,
                      const layout_inputs& known) {
  const request wanted{which, items, participants, known};
  check_inputs(wanted);
  loop_layout layout;
  layout.items = items;
  for (const kind_layout& row : kind_layouts) {
    if (row.kind == which.kind) row.lay_out(layout, wanted);
  }
  return layout;
}

board::task_spec task_of(const loop_layout& layout) {
  board::task_spec task;
  const bool alike = layout.bounds.empty() && layout.in_order();
  task.total = alike ? layout.items : layout.chunks();
  task.chunk = alike ? layout.chunk : 1;
  task.participants = static_cast<std::uint32_t>(layout.ranges.size());
  task.owner = layout.owner;
  task.thief = layout.thief;
  task.least = layout.least;
  task.least = layout.least;
  task.order = layout.steal;
  task.ranges = layout.ranges;
  task.pool = layout.pool;
  task.pool_step = layout.pool_step;
  return task;
}

}  // namespace tri::schedules
