#include "schedules/automatic_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "os/clock.hpp"

namespace tri::schedules {
namespace {

constexpr double enough_imbalance = 0.005;  // below it blocks stay where they are, and with them the data

constexpr double enough_noise = 1.02;

// Without stealing: the share of the cost in blocks, at most once the cost is known, and before.
constexpr double rising_blocks = 0.75;
constexpr double rising_blocks_at_first = 0.5;

template <std::size_t Size>
double median_of(std::array<double, Size> values, std::size_t count) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(std::min(count, Size)));
  return *middle;
}

std::uint64_t chunk_for(std::uint64_t items) {
  // Claim numbers have 32 bits; half of them are left for sums.
  return std::max<std::uint64_t>(1, board::chunk_count(items, 0x7fffffff));
}

}  // namespace

automatic_limits automatic_limits::of_this_machine() {
  // A loop shared between two cores costs a few hand-offs of a cache line, half a microsecond or so; stealing costs one
  // more, and fetching the data that the other has had.
  const auto ticks_of = [](double us) { return static_cast<double>(os::ns_to_ticks(1000.0 * us)); };
  static const automatic_limits limits{
      .in_place = ticks_of(1.2), .claim = ticks_of(1), .least_left = ticks_of(2), .most_left = ticks_of(20)};
  return limits;
}

void automatic_schedule::start(std::uint64_t items, std::uint32_t participants) {
  if (participants != participants_) {
    executions_ = 0;
    comparing_since_ = 0;
    recent_count_ = 0;
    has_profile_ = false;
    variant_ = sharing;
    elapsed_count_ = {};
  }
  items_ = items;
  participants_ = participants;
  lay_out();
}

automatic_schedule::decision automatic_schedule::next(std::uint64_t items, std::uint32_t participants) {
  if (items != items_ || participants != participants_) start(items, participants);
  const std::uint64_t number = executions_++;
  const std::uint64_t times_seldom = seldomness();
  const bool measure = number < executions_to_learn || number % (times_seldom * measured_every) == 0;
  if (ticks_per_item_ > 0 && ticks_per_item_ * static_cast<double>(items) < limits_.in_place)
    return {true, measure, nullptr};
  if (number > executions_to_learn && number % (times_seldom * compared_every) == 0) {
    elapsed_count_ = {};
    comparing_since_ = number;
  }
  // The first half of the learning time finds the blocks; then both variants run in turn.
  const std::uint64_t compared = number - comparing_since_;
  if (comparing_since_ > 0 ? compared < 2 * samples
                           : number >= executions_to_learn - 2 * samples && number < executions_to_learn) {
    const variant turn = number % 2 == 0 ? sharing : plain;
    if (turn != variant_) {
      variant_ = turn;
      lay_out();
    }
    return {false, true, &layout_};
  }
  if (compared == 2 * samples || number == executions_to_learn) choose_variant();
  return {false, measure, &layout_};
}

std::uint64_t automatic_schedule::settled_for() const {
  const std::uint64_t number = executions_;
  if (number <= executions_to_learn) return 0;
  if (comparing_since_ > 0 && number <= comparing_since_ + 2 * samples) return 0;
  static_assert(compared_every % measured_every == 0, "what begins a comparison is a measured execution");
  const std::uint64_t every = seldomness() * measured_every;
  return (every - number % every) % every;
}

void automatic_schedule::learn(const loop_times& times, std::uint64_t elapsed) {
  const double busy = static_cast<double>(times.busy());
  const double items = static_cast<double>(times.items());
  if (busy <= 0 || items <= 0) return;
  // The least is closest to the undisturbed cost of the loop; it rises slowly, in case the loop has changed.
  const double per_item = busy / items;
  ticks_per_item_ =
      ticks_per_item_ == 0 ? per_item : std::min(per_item, ticks_per_item_ + 0.1 * (per_item - ticks_per_item_));
  if (times.items() != items_ || times.participants().size() != participants_) return;
  remember(variant_ == plain && has_profile_ ? within_blocks(times.profile()) : times.profile(), busy, per_item);
  elapsed_[variant_][elapsed_count_[variant_]++ % samples] = static_cast<double>(elapsed) / items;
  if (variant_ == plain && executions_ > executions_to_learn && !is_calm(plain)) {
    variant_ = sharing;  // until the next comparison
    lay_out();
  } else if (executions_ <= 2 || imbalance() > imbalance_to_act_on()) {
    lay_out();
  }
}

// Noise adds to the bodies' time, so a clearly slower execution carries no information on where the work is.
void automatic_schedule::remember(const cost_profile& measured, double busy, double per_item) {
  recent_busy_[recent_count_++ % samples] = per_item;
  if (has_profile_ && per_item > enough_noise * median_of(recent_busy_, std::min(recent_count_, samples))) return;
  const double share = !has_profile_ ? 1.0 : executions_ <= 4 ? 0.5 : 0.2;
  for (std::size_t bin = 0; bin < cost_bins; ++bin) profile_[bin] += share * (measured[bin] / busy - profile_[bin]);
  has_profile_ = true;
}

// Of the last executions none took clearly longer than the fastest.
bool automatic_schedule::is_calm(variant of) const {
  const auto end = elapsed_[of].begin() + static_cast<std::ptrdiff_t>(std::min(elapsed_count_[of], samples));
  const auto [least, most] = std::minmax_element(elapsed_[of].begin(), end);
  return least == end || *most <= 1.05 * *least;
}

// Plain blocks win only if they are clearly faster and nothing disturbed either variant, for they help against nothing
// that is not predicted.
void automatic_schedule::choose_variant() {
  const auto median = [&](variant of) {
    const std::size_t count = std::min(elapsed_count_[of], samples);
    return count < 3 ? -1.0 : median_of(elapsed_[of], count);
  };
  const double shared = median(sharing), blocks = median(plain);
  const bool better = shared > 0 && blocks > 0 && blocks < 0.99 * shared;
  const variant best = better && is_calm(sharing) && is_calm(plain) ? plain : sharing;
  if (best == variant_) return;
  variant_ = best;
  lay_out();
}

double automatic_schedule::share_before(const cost_profile& of, std::uint64_t item) const {
  const double position = static_cast<double>(item) / static_cast<double>(items_) * cost_bins;
  const auto bin = std::min(static_cast<std::size_t>(position), cost_bins - 1);
  const double whole = std::accumulate(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(bin), 0.0);
  return whole + (position - static_cast<double>(bin)) * of[bin];
}

// A participant that runs a block in one chunk measures only its sum: the known distribution inside it is kept.
cost_profile automatic_schedule::within_blocks(const cost_profile& measured) const {
  cost_profile finer{};
  for (const board::participant_range& range : layout_.ranges) {
    const std::uint64_t first = item_at(range.first), last = item_at(range.last);
    const double known = share_before(last) - share_before(first);
    const double now = share_before(measured, last) - share_before(measured, first);
    const double begin = static_cast<double>(first) / static_cast<double>(items_) * cost_bins;
    const double end = static_cast<double>(last) / static_cast<double>(items_) * cost_bins;
    if (!(begin < end)) continue;
    for (auto bin = static_cast<std::size_t>(begin); bin < cost_bins && static_cast<double>(bin) < end; ++bin) {
      const double part = std::min(end, static_cast<double>(bin + 1)) - std::max(begin, static_cast<double>(bin));
      finer[bin] += known > 0 ? profile_[bin] * part * now / known : now * part / (end - begin);
    }
  }
  return finer;
}

// The iteration before which this share of the total cost is.
std::uint64_t automatic_schedule::cost_to_item(double share) const {
  double before = 0;
  for (std::size_t bin = 0; bin < cost_bins; ++bin) {
    if (before + profile_[bin] >= share && profile_[bin] > 0) {
      const double position = (static_cast<double>(bin) + (share - before) / profile_[bin]) / cost_bins;
      return std::min(items_, static_cast<std::uint64_t>(std::llround(position * static_cast<double>(items_))));
    }
    before += profile_[bin];
  }
  return items_;
}

// How much longer than the mean the slowest block is expected to take.
double automatic_schedule::imbalance() const {
  double most = 0, all = 0;
  for (const board::participant_range& range : layout_.ranges) {
    const double share = share_before(item_at(range.last)) - share_before(item_at(range.first));
    most = std::max(most, share);
    all += share;
  }
  return all > 0 ? most / all * participants_ - 1.0 : 0.0;
}

std::uint64_t automatic_schedule::item_at(std::uint32_t chunk) const {
  return layout_.bounds.empty() ? std::min(items_, chunk * layout_.chunk) : layout_.bounds[chunk];
}

// Moving a border moves data between cores. In a short loop it must gain at least the cost of a small claim, or single
// measurements would move it back and forth.
double automatic_schedule::imbalance_to_act_on() const {
  const double block = ticks_per_item_ * static_cast<double>(items_) / participants_;
  return block > 0 ? std::max(enough_imbalance, std::min(0.05, limits_.claim / block)) : enough_imbalance;
}

// Blocks of equal time that together are this part of the loop's cost.
void automatic_schedule::set_blocks(double part) {
  const std::uint32_t chunks = layout_.chunks();
  layout_.ranges.resize(participants_);
  std::uint32_t first = 0;
  for (std::uint32_t number = 0; number < participants_; ++number) {
    std::uint32_t last = board::range_of(chunks, number, participants_).last;
    if (part < 1.0) last = static_cast<std::uint32_t>(part * last);
    if (has_profile_) {
      const double share = part * static_cast<double>(number + 1) / participants_;
      last = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunks, cost_to_item(share) / layout_.chunk));
    }
    if (number + 1 == participants_ && part >= 1.0) last = chunks;
    last = std::max(first, last);
    layout_.ranges[number] = {first, last, 0, 0};
    first = last;
  }
}

void automatic_schedule::lay_out() {
  const auto blocks_of = [&] {
    std::vector<std::uint32_t> numbers{layout_.owner.step, layout_.least, layout_.pool.first, layout_.pool.last};
    for (const board::participant_range& range : layout_.ranges)
      numbers.insert(numbers.end(), {range.first, range.last, range.static_share});
    return numbers;
  };
  const std::vector<std::uint32_t> before = blocks_of();
  const std::vector<std::uint64_t> bounds_before = layout_.bounds;
  const bool same_items = layout_.items == items_;
  set_layout();
  if (!same_items || before != blocks_of() || bounds_before != layout_.bounds) ++revision_;
}

void automatic_schedule::set_layout() {
  layout_.items = items_;
  layout_.chunk = chunk_for(items_);
  layout_.bounds.clear();
  layout_.pool = {};
  const bool rising = direction_ == claim_direction::rising;
  set_blocks(rising && variant_ == sharing ? part_in_blocks() : 1.0);
  const std::uint32_t mean_block = std::max(1u, layout_.chunks() / participants_);
  // Claims are sized for the most expensive part of the loop: elsewhere they are too small, which costs little, because
  // most of a block is taken in its first few claims.
  const double dearest = has_profile_ ? std::max(1.0, *std::ranges::max_element(profile_) * cost_bins) : 1.0;
  const double ticks_per_chunk = dearest * ticks_per_item_ * static_cast<double>(layout_.chunk);
  // In claims; at most `most` of a block.
  const auto claims_in = [&](double ticks, std::uint32_t most) {
    const double claims = ticks_per_chunk > 0 ? ticks / ticks_per_chunk : 0;
    return static_cast<std::uint32_t>(std::clamp(claims, 0.0, static_cast<double>(most)));
  };
  const std::uint32_t step =
      ticks_per_chunk > 0 ? std::max(1u, claims_in(limits_.claim, mean_block / 4)) : std::max(1u, mean_block / 64);
  const double block_ticks = ticks_per_item_ * static_cast<double>(items_) / participants_;
  layout_.least = claims_in(std::clamp(0.01 * block_ticks, limits_.least_left, limits_.most_left), mean_block / 4);
  // Two share by halves; with more thieves each takes less, so that none is left without.
  layout_.owner = {step, static_cast<std::uint8_t>(participants_ <= 4 ? 1 : 2)};
  layout_.thief = {step, static_cast<std::uint8_t>(participants_ <= 2 ? 1 : 2)};
  if (rising) {
    lay_out_rising();
    return;
  }
  if (ticks_per_item_ == 0) {
    // All the work may be in a few iterations at either end: no claim takes many of them.
    layout_.owner.shift = layout_.thief.shift = board::no_share;
    for (board::participant_range& range : layout_.ranges) range.static_share = 0;
    return;
  }
  for (board::participant_range& range : layout_.ranges)
    range.static_share = variant_ == plain ? range.last - range.first : (range.last - range.first) / 2;
}

// Borders inside a bin may be off by a part of its cost, and the shared part has to compensate for that.
double automatic_schedule::part_in_blocks() const {
  if (!has_profile_) return rising_blocks_at_first;
  const double unsure = 0.25 * participants_ * *std::ranges::max_element(profile_);
  return std::clamp(1.0 - unsure, 0.0, rising_blocks);
}

// No stealing from blocks. Iterations outside of blocks are split into shared chunks by factoring: each round
// distributes half of the remaining cost.
void automatic_schedule::lay_out_rising() {
  const std::uint64_t least = layout_.owner.step * layout_.chunk;
  layout_.least = 0;
  std::uint64_t begin = 0;
  layout_.bounds.assign(1, 0);
  for (board::participant_range& range : layout_.ranges) {
    const std::uint64_t end = std::min(items_, range.last * layout_.chunk);
    const std::uint32_t before = static_cast<std::uint32_t>(layout_.bounds.size() - 1);
    if (begin < end) layout_.bounds.push_back(end);
    const std::uint32_t own = begin < end ? 1 : 0;
    range = {before, before + own, own, own};
    begin = end;
  }
  layout_.chunk = 1;
  const auto first_shared = static_cast<std::uint32_t>(layout_.bounds.size() - 1);
  const auto before = [&](std::uint64_t item) {
    return has_profile_ ? share_before(item) : static_cast<double>(item) / static_cast<double>(items_);
  };
  std::uint32_t chunk = 0;
  double share = 0;
  while (begin < items_) {
    const double done = begin == 0 ? 0 : before(begin);
    if (chunk++ % participants_ == 0) share = (1.0 - done) / (2.0 * participants_);
    const double goal = done + share;
    const std::uint64_t wanted = goal >= 1.0    ? items_
                                 : has_profile_ ? cost_to_item(goal)
                                                : static_cast<std::uint64_t>(goal * static_cast<double>(items_));
    begin = items_ - begin <= least ? items_ : std::max(begin + least, std::min(wanted, items_));
    layout_.bounds.push_back(begin);
  }
  if (first_shared < layout_.chunks()) layout_.pool = {first_shared, layout_.chunks()};
}

}  // namespace tri::schedules
