// Why one run is enough. A plan has no choices: a step begins when its dependencies have ended, a message has one
// partner, a counter only grows. So a step that can begin stays able to, whatever else happens first, and every
// interleaving ends the same steps: if one comes to its end, all do, and if one blocks, all do at the same place. The
// run here lets a send end only together with its receive (a rendezvous); eager sends end earlier, which by the same
// reason blocks nothing.
//
// Why all interleavings give the same bytes. Two steps conflict when both touch a byte and one writes it. All conflicts
// are ordered by "happens before", which is the closure of: a step after its dependencies; a wait after the signals
// that it counts. Only order inside a host is used: messages never protect memory here, so it is right for eager sends
// too. Which signals a wait counts is the same in all interleavings if every signal behind the counted ones happens
// after all of these; that is checked for each value that is waited for. (Induction: take the first wait that ends with
// another set of signals. One of them came early, although it happens after one that is missing, by order that held
// until then.)
#include "coll/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "coll/access_history.hpp"
#include "coll/bit_rows.hpp"
#include "coll/plan_text.hpp"
#include "coll/ready_steps.hpp"
#include "coll/symbolic_buffer.hpp"

namespace tri::coll {
namespace {

struct wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using step_number = std::uint32_t;  // of all ranks
constexpr step_number none = ~step_number{0};
constexpr std::size_t buffers = 3;

class proof {
 public:
  proof(const request& asked, std::span<const plan> plans);

  void structure();
  void messages();
  void run();
  void races();
  void values();
  void meeting();  // of a barrier

 private:
  struct access {
    std::int32_t rank = 0;
    buffer where = buffer::input;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool writes = false;
  };
  // Steps that happen before each other: those of a host, or of one rank where ranks do not touch each other.
  struct group {
    std::vector<int> ranks;
    std::vector<step_number> steps;  // in the order of the run
  };

  // "Happens before" among the steps of a group, by their place in it.
  struct group_order {
    std::unordered_map<step_number, std::uint32_t> index_of;
    // The values that are waited for, of each counter. They divide its signals into those up to the first value, from
    // there to the second, and so on; check_counters() shows that each of a part happens after all of the part before.
    std::vector<std::pair<std::size_t, std::uint32_t>> values;
    bit_rows before;  // which steps happen before each
    bit_rows met;     // and of which ranks they are
    bit_rows ends;    // which happen before the end of each rank

    std::size_t first_of_part(std::size_t counter, std::uint32_t value) const {
      const auto found = std::ranges::lower_bound(values, std::pair(counter, value));
      return found != values.begin() && (found - 1)->first == counter ? (found - 1)->second : 0;
    }
  };

  const step& at(step_number number) const {
    const std::size_t rank = rank_of(number);
    return plans_[rank].steps[number - first_step_[rank]];
  }
  std::size_t rank_of(step_number number) const { return rank_of_[number]; }
  std::size_t counter_at(const step& one) const {
    return first_counter_[static_cast<std::size_t>(one.peer)] + one.counter;
  }
  std::uint64_t size_of(std::int32_t rank, buffer where) const;
  [[noreturn]] void fail(step_number number, const std::string& what) const;
  std::string name_of_step(step_number number) const;
  void accesses_of(step_number number, std::vector<access>& into) const;
  std::vector<group> groups() const;
  void races_of(const group& among) const;
  group_order order_of(const group& among) const;
  void check_counters(const group_order& order) const;
  void check_place(step_number number, const place& touched) const;
  bool overlap(const step& one) const;  // what it reads and what it writes
  symbolic_buffer& content(std::int32_t rank, buffer where) {
    return contents_[static_cast<std::size_t>(rank) * buffers + static_cast<std::size_t>(where)];
  }
  void read_source(step_number number, std::vector<symbolic_piece>& into);
  void reduce(step_number number, contribution_sets& sets);
  void check_outputs(contribution_sets& sets);

  const request& asked_;
  std::span<const plan> plans_;
  std::vector<step_number> first_step_;
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::size_t> first_counter_;
  std::vector<step_number> partner_;               // of messages
  std::vector<step_number> order_;                 // in which the steps ended
  std::vector<std::vector<step_number>> signals_;  // of each counter, in that order
  std::vector<symbolic_buffer> contents_;
};

proof::proof(const request& asked, std::span<const plan> plans) : asked_(asked), plans_(plans) {
  if (plans.size() != static_cast<std::size_t>(asked.hosts.ranks()))
    throw wrong(fmt::format("{} plans for {} ranks", plans.size(), asked.hosts.ranks()));
  step_number steps = 0;
  std::size_t counters = 0;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (plans[rank].rank != static_cast<int>(rank))
      throw wrong(fmt::format("plan {} is that of rank {}", rank, plans[rank].rank));
    const auto& all = plans[rank].steps;
    if (!std::ranges::is_sorted(all, {}, &step::first_dependency) ||
        (!all.empty() && all.back().first_dependency > plans[rank].dependencies.size()))
      throw wrong(fmt::format("the dependencies of the steps of rank {} are no ranges of its list", rank));
    first_step_.push_back(steps);
    first_counter_.push_back(counters);
    steps += static_cast<step_number>(plans[rank].steps.size());
    counters += plans[rank].counters;
    rank_of_.resize(steps, static_cast<std::uint32_t>(rank));
  }
  signals_.resize(counters);
}

std::string proof::name_of_step(step_number number) const {
  const std::size_t rank = rank_of(number);
  const std::size_t index = number - first_step_[rank];
  return fmt::format("rank {} step {} ({})", rank, index, text_of(plans_[rank], index));
}

void proof::fail(step_number number, const std::string& what) const {
  throw wrong(fmt::format("{}: {}", name_of_step(number), what));
}

std::uint64_t proof::size_of(std::int32_t rank, buffer where) const {
  if (where == buffer::input) return asked_.input_bytes(rank);
  if (where == buffer::output) return asked_.output_bytes(rank);
  return plans_[static_cast<std::size_t>(rank)].scratch_bytes;
}

void proof::check_place(step_number number, const place& touched) const {
  const auto [rank, where, offset] = touched;
  const step& one = at(number);
  if (one.bytes == 0) return;
  if (rank < 0 || rank >= asked_.hosts.ranks()) fail(number, fmt::format("there is no rank {}", rank));
  if (asked_.hosts.host_of(rank) != asked_.hosts.host_of(static_cast<int>(rank_of(number))))
    fail(number, fmt::format("rank {} is on another host", rank));
  if (const std::uint64_t size = size_of(rank, where); offset > size || one.bytes > size - offset)
    fail(number, fmt::format("{} of rank {} has {} bytes", name_of(where), rank, size));
  if (one.is_reduction() && (offset % asked_.extent != 0 || one.bytes % asked_.extent != 0))
    fail(number, fmt::format("a reduction splits an element of {} bytes", asked_.extent));
}

bool proof::overlap(const step& one) const {
  const place source = asked_.real_place(one.source);
  const place target = asked_.real_place(one.target);
  return source.rank == target.rank && source.where == target.where && source.offset < target.offset + one.bytes &&
         target.offset < source.offset + one.bytes;
}

void proof::structure() {
  for (step_number number = 0; number < rank_of_.size(); ++number) {
    const step& one = at(number);
    const std::size_t rank = rank_of(number);
    const std::size_t index = number - first_step_[rank];
    for (const std::uint32_t dependency : plans_[rank].dependencies_of(index))
      if (dependency >= index)
        fail(number, fmt::format("depends on step {}, which does not stand before it", dependency));
    if (one.has_source()) check_place(number, one.source);
    if (one.has_target()) {
      check_place(number, one.target);
      if (one.target.where == buffer::input && one.bytes > 0) fail(number, "an input is written");
      if (one.has_source() && overlap(one)) fail(number, "its source and its target overlap");
    }
    const bool has_peer = one.is_message() || one.kind == step_kind::signal || one.kind == step_kind::wait;
    if (!has_peer) continue;
    if (one.peer < 0 || one.peer >= asked_.hosts.ranks()) fail(number, fmt::format("there is no rank {}", one.peer));
    if (one.is_message()) {
      if (one.peer == static_cast<int>(rank)) fail(number, "a message to itself");
      continue;
    }
    if (asked_.hosts.host_of(one.peer) != asked_.hosts.host_of(static_cast<int>(rank)))
      fail(number, fmt::format("rank {} is on another host", one.peer));
    if (one.counter >= plans_[static_cast<std::size_t>(one.peer)].counters)
      fail(number,
           fmt::format("rank {} has {} counters", one.peer, plans_[static_cast<std::size_t>(one.peer)].counters));
  }
}

void proof::messages() {
  using key = std::tuple<std::int32_t, std::int32_t, std::uint32_t, std::uint8_t>;  // from, to, round, slot
  std::vector<std::pair<key, step_number>> sends;
  std::vector<std::pair<key, step_number>> receives;
  for (step_number number = 0; number < rank_of_.size(); ++number) {
    const step& one = at(number);
    const auto rank = static_cast<std::int32_t>(rank_of(number));
    if (one.kind == step_kind::send) sends.push_back({{rank, one.peer, one.round, one.slot}, number});
    if (one.kind == step_kind::receive) receives.push_back({{one.peer, rank, one.round, one.slot}, number});
  }
  std::ranges::sort(sends);
  std::ranges::sort(receives);
  const auto twice = [&](const auto& list) {
    const auto found = std::ranges::adjacent_find(list, {}, [](const auto& each) { return each.first; });
    if (found != list.end()) fail(found->second, "another message has the same source, destination, round and slot");
  };
  twice(sends);
  twice(receives);
  partner_.assign(rank_of_.size(), none);
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    if (i == receives.size() || (i < sends.size() && sends[i].first < receives[i].first))
      fail(sends[i].second, "nothing receives it");
    if (i == sends.size() || receives[i].first < sends[i].first) fail(receives[i].second, "nothing sends it");
    const step_number send = sends[i].second;
    const step_number receive = receives[i].second;
    if (at(send).bytes != at(receive).bytes)
      fail(receive, fmt::format("{} bytes are sent by {}", at(send).bytes, name_of_step(send)));
    partner_[send] = receive;
    partner_[receive] = send;
  }
}

void proof::run() {
  std::vector<ready_steps> progress;
  progress.reserve(plans_.size());
  std::vector<step_number> ready;
  std::vector<std::uint32_t> fresh;
  const auto add = [&](std::size_t rank) {
    for (const std::uint32_t index : fresh) ready.push_back(first_step_[rank] + index);
    fresh.clear();
  };
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    progress.emplace_back(plans_[rank]);
    progress.back().begin(fresh);
    add(rank);
  }
  order_.reserve(rank_of_.size());
  const auto ended = [&](step_number number) {
    order_.push_back(number);
    const std::size_t rank = rank_of(number);
    progress[rank].ended(number - first_step_[rank], fresh);
    add(rank);
  };
  std::vector<bool> begun(rank_of_.size());
  std::vector<std::vector<step_number>> waits(signals_.size());
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const step_number number = ready[next];
    const step& one = at(number);
    begun[number] = true;
    if (one.is_message()) {
      if (!begun[partner_[number]]) continue;
      ended(one.kind == step_kind::send ? number : partner_[number]);
      ended(one.kind == step_kind::send ? partner_[number] : number);
    } else if (one.kind == step_kind::wait) {
      if (signals_[counter_at(one)].size() >= one.value)
        ended(number);
      else
        waits[counter_at(one)].push_back(number);
    } else if (one.kind == step_kind::signal) {
      const std::size_t counter = counter_at(one);
      signals_[counter].push_back(number);
      ended(number);
      std::erase_if(waits[counter], [&](step_number waiting) {
        if (signals_[counter].size() < at(waiting).value) return false;
        ended(waiting);
        return true;
      });
    } else {
      ended(number);
    }
  }
  if (order_.size() == rank_of_.size()) return;
  std::vector<bool> over(rank_of_.size());
  for (const step_number number : order_) over[number] = true;
  for (step_number number = 0; number < rank_of_.size(); ++number)
    if (begun[number] && !over[number]) fail(number, "it never ends");
  throw wrong("steps never begin");  // not reached: dependencies stand before their step
}

void proof::accesses_of(step_number number, std::vector<access>& into) const {
  const step& one = at(number);
  into.clear();
  if (one.bytes == 0) return;
  const auto add = [&](place raw, bool writes) {
    const place real = asked_.real_place(raw);
    into.push_back({real.rank, real.where, real.offset, real.offset + one.bytes, writes});
  };
  if (one.has_source()) add(one.source, false);
  if (one.has_target()) add(one.target, true);
}

std::vector<proof::group> proof::groups() const {
  const shape& hosts = asked_.hosts;
  std::vector<bool> shares(static_cast<std::size_t>(hosts.hosts()));
  std::vector<access> touched;
  for (step_number number = 0; number < rank_of_.size(); ++number) {
    const auto rank = static_cast<std::int32_t>(rank_of(number));
    accesses_of(number, touched);
    bool is_shared = at(number).kind == step_kind::signal || at(number).kind == step_kind::wait;
    for (const access& each : touched) is_shared |= each.rank != rank;
    if (is_shared) shares[static_cast<std::size_t>(hosts.host_of(rank))] = true;
  }
  std::vector<group> found;
  std::vector<std::size_t> group_of(plans_.size());
  for (int host = 0; host < hosts.hosts(); ++host)
    for (int rank = hosts.first_rank(host); rank < hosts.first_rank(host + 1); ++rank) {
      if (rank == hosts.first_rank(host) || !shares[static_cast<std::size_t>(host)]) found.emplace_back();
      found.back().ranks.push_back(rank);
      group_of[static_cast<std::size_t>(rank)] = found.size() - 1;
    }
  for (const step_number number : order_) found[group_of[rank_of(number)]].steps.push_back(number);
  return found;
}

void proof::races() {
  for (const group& each : groups()) races_of(each);
}

void proof::races_of(const group& among) const {
  const auto first_rank = static_cast<std::size_t>(among.ranks.front());
  const group_order order = order_of(among);
  std::vector<access_history> histories(among.ranks.size() * buffers);
  struct visit {
    std::uint32_t index;
    std::size_t owner;
  };
  std::vector<visit> visits;  // to inputs and outputs of others
  std::vector<access> touched;
  for (std::uint32_t i = 0; i < among.steps.size(); ++i) {
    const step_number number = among.steps[i];
    accesses_of(number, touched);
    for (const access& each : touched) {
      const std::size_t owner = static_cast<std::size_t>(each.rank) - first_rank;
      if (static_cast<std::size_t>(each.rank) != rank_of(number) && each.where != buffer::scratch) {
        if (!order.met.has(i, owner)) fail(number, fmt::format("rank {} may not have come yet", each.rank));
        visits.push_back({i, owner});
      }
      access_history& history = histories[owner * buffers + static_cast<std::size_t>(each.where)];
      const auto conflict = each.writes ? history.write(each.begin, each.end, i, order.before)
                                        : history.read(each.begin, each.end, i, order.before);
      if (conflict)
        fail(number, fmt::format("unordered to what {} these bytes: {}", conflict->writes ? "writes" : "reads",
                                 name_of_step(among.steps[conflict->step])));
    }
  }
  for (const visit& each : visits)
    if (!order.ends.has(each.owner, each.index))
      fail(among.steps[each.index], fmt::format("rank {} may have left already", first_rank + each.owner));
  check_counters(order);
}

proof::group_order proof::order_of(const group& among) const {
  const std::size_t count = among.steps.size();
  const auto first_rank = static_cast<std::size_t>(among.ranks.front());
  group_order order{
      {}, {}, bit_rows(count, count), bit_rows(count, among.ranks.size()), bit_rows(among.ranks.size(), count)};
  for (std::size_t i = 0; i < count; ++i) order.index_of[among.steps[i]] = static_cast<std::uint32_t>(i);
  for (const step_number number : among.steps)
    if (at(number).kind == step_kind::wait) order.values.emplace_back(counter_at(at(number)), at(number).value);
  std::ranges::sort(order.values);
  order.values.erase(std::unique(order.values.begin(), order.values.end()), order.values.end());
  for (std::size_t i = 0; i < count; ++i) {
    const step_number number = among.steps[i];
    const std::size_t rank = rank_of(number);
    const step& one = at(number);
    const auto follow = [&](step_number earlier) {
      const std::uint32_t from = order.index_of.at(earlier);
      order.before.add(i, order.before, from);
      order.before.set(i, from);
      order.met.add(i, order.met, from);
      order.met.set(i, rank_of(earlier) - first_rank);
    };
    for (const std::uint32_t dependency : plans_[rank].dependencies_of(number - first_step_[rank]))
      follow(first_step_[rank] + dependency);
    if (one.kind == step_kind::wait)
      for (std::size_t k = order.first_of_part(counter_at(one), one.value); k < one.value; ++k)
        follow(signals_[counter_at(one)][k]);
    order.ends.add(rank - first_rank, order.before, i);
    order.ends.set(rank - first_rank, i);
  }
  return order;
}

// Could an early wait count other signals?
void proof::check_counters(const group_order& order) const {
  for (std::size_t v = 0; v < order.values.size(); ++v) {
    const auto [counter, value] = order.values[v];
    const std::vector<step_number>& all = signals_[counter];
    const bool has_next = v + 1 < order.values.size() && order.values[v + 1].first == counter;
    const std::size_t last = has_next ? order.values[v + 1].second : all.size();
    for (std::size_t late = value; late < last; ++late)
      for (std::size_t early = order.first_of_part(counter, value); early < value; ++early)
        if (!order.before.has(order.index_of.at(all[late]), order.index_of.at(all[early])))
          fail(all[late], fmt::format("a wait for {} may count it instead of {}", value, name_of_step(all[early])));
  }
}

void proof::read_source(step_number number, std::vector<symbolic_piece>& into) {
  const step& one = at(number);
  into.clear();
  const place from = asked_.real_place(one.source);
  if (!content(from.rank, from.where).read(from.offset, from.offset + one.bytes, into))
    fail(number, "it reads what was never written");
}

void proof::reduce(step_number number, contribution_sets& sets) {
  const step& one = at(number);
  std::vector<symbolic_piece> source;
  std::vector<symbolic_piece> target;
  read_source(number, source);
  const place target_place = asked_.real_place(one.target);
  symbolic_buffer& into = content(target_place.rank, target_place.where);
  if (!into.read(target_place.offset, target_place.offset + one.bytes, target))
    fail(number, "it adds to what was never written");
  std::vector<symbolic_piece> sum;
  std::size_t s = 0;
  std::size_t t = 0;
  for (std::uint64_t begin = 0; begin < one.bytes;) {
    const std::uint64_t end = std::min(source[s].end, target[t].end);
    const std::uint64_t origin = source[s].origin + (begin - source[s].begin);
    if (origin != target[t].origin + (begin - target[t].begin))
      fail(number, fmt::format("element {} is combined with another one", origin / asked_.extent));
    std::string problem;
    const bool is_left = one.kind == step_kind::reduce_left;
    const auto set =
        sets.combined(is_left ? source[s].set : target[t].set, is_left ? target[t].set : source[s].set, problem);
    if (set == contribution_sets::none) fail(number, problem);
    sum.push_back({begin, end, set, origin});
    if (source[s].end == end) ++s;
    if (target[t].end == end) ++t;
    begin = end;
  }
  into.write(target_place.offset, sum);
}

void proof::values() {
  const int ranks = asked_.hosts.ranks();
  contribution_sets sets(ranks, reduces(asked_.what) && !asked_.commutative);
  contents_.assign(static_cast<std::size_t>(ranks) * buffers, {});
  for (int rank = 0; rank < ranks; ++rank)
    if (const std::uint64_t bytes = asked_.input_bytes(rank); bytes > 0) {
      const place input = asked_.real_place({rank, buffer::input, 0});
      content(rank, input.where).write(input.offset, {{0, bytes, sets.of_rank(rank), 0}});
    }
  std::vector<symbolic_piece> moved;
  for (const step_number number : order_) {
    const step& one = at(number);
    if (one.bytes == 0) continue;
    if (one.is_reduction()) {
      reduce(number, sets);
    } else if (one.kind == step_kind::copy || one.kind == step_kind::receive) {
      read_source(one.kind == step_kind::copy ? number : partner_[number], moved);
      const place target = asked_.real_place(one.target);
      symbolic_buffer& into = content(target.rank, target.where);
      // In place the own block may be written again, as it is.
      if (one.target.where == buffer::output && !asked_.in_place && into.has_some_of(target.offset, moved))
        fail(number, "it delivers bytes a second time");
      into.write(target.offset, moved);
    }
  }
  check_outputs(sets);
}

void proof::check_outputs(contribution_sets& sets) {
  const int ranks = asked_.hosts.ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint64_t bytes = asked_.output_bytes(rank);
    if (bytes == 0) continue;
    std::vector<symbolic_piece> found;
    const place output = asked_.real_place({rank, buffer::output, 0});
    if (!content(rank, output.where).read(output.offset, output.offset + bytes, found))
      throw wrong(fmt::format("output of rank {}: a part of its {} bytes is never written", rank, bytes));
    // What is promised for the bytes from `at` on: whose, from where in the inputs, and up to which byte.
    const auto promised = [&](std::uint64_t begin, int block_rank) -> symbolic_piece {
      switch (asked_.what) {
        case collective::broadcast:
          return {0, bytes, sets.of_rank(asked_.root), 0};
        case collective::scatter:
          return {0, bytes, sets.of_rank(asked_.root), asked_.begin_of(rank)};
        case collective::gather:
        case collective::allgather:
          return {begin, begin + asked_.bytes_of(block_rank), sets.of_rank(block_rank), 0};
        case collective::alltoall:
          return {begin, begin + asked_.bytes_of(block_rank), sets.of_rank(block_rank), asked_.begin_of(rank)};
        case collective::reduce_scatter:
          return {0, bytes, sets.of_ranks(0, ranks), asked_.begin_of(rank)};
        case collective::scan:
          return {0, bytes, sets.of_ranks(0, rank + 1), 0};
        case collective::exscan:
          return {0, bytes, sets.of_ranks(0, rank), 0};
        default:
          return {0, bytes, sets.of_ranks(0, ranks), 0};
      }
    };
    std::size_t next = 0;
    int block_rank = 0;
    for (std::uint64_t begin = 0; begin < bytes;) {
      symbolic_piece wanted = promised(begin, block_rank++);
      if (wanted.end == wanted.begin) continue;
      const symbolic_piece& piece = found[next];
      // Pieces are merged wherever they can be, and neighbours that are promised never can.
      if (piece.begin != wanted.begin || piece.set != wanted.set || piece.origin != wanted.origin ||
          piece.end != wanted.end)
        throw wrong(fmt::format("output of rank {}, bytes {} to {}: {} from {}, promised are {} to {}: {} from {}",
                                rank, piece.begin, piece.end, sets.text_of(piece.set), piece.origin, wanted.begin,
                                wanted.end, sets.text_of(wanted.set), wanted.origin));
      begin = wanted.end;
      ++next;
    }
  }
}

void proof::meeting() {
  const auto ranks = static_cast<std::size_t>(asked_.hosts.ranks());
  bit_rows met(rank_of_.size(), ranks);  // which ranks have come when a step ends
  bit_rows at_end(ranks, ranks);
  for (const step_number number : order_) {
    const std::size_t rank = rank_of(number);
    const step& one = at(number);
    met.set(number, rank);
    for (const std::uint32_t dependency : plans_[rank].dependencies_of(number - first_step_[rank]))
      met.add(number, met, first_step_[rank] + dependency);
    if (one.kind == step_kind::wait)
      for (std::size_t k = 0; k < one.value; ++k) met.add(number, met, signals_[counter_at(one)][k]);
    if (one.kind == step_kind::receive) met.add(number, met, partner_[number]);
    at_end.add(rank, met, number);
  }
  for (std::size_t rank = 0; rank < ranks && ranks > 1; ++rank)
    if (at_end.count(rank) != ranks)
      throw wrong(
          fmt::format("rank {} leaves when {} of {} ranks may not have come", rank, ranks - at_end.count(rank), ranks));
}

}  // namespace

std::string problem_of(const request& asked, std::span<const plan> plans) {
  try {
    proof one(asked, plans);
    one.structure();
    one.messages();
    one.run();
    one.races();
    if (asked.what == collective::barrier)
      one.meeting();
    else
      one.values();
  } catch (const wrong& found) {
    return found.what();
  }
  return "";
}

}  // namespace tri::coll
