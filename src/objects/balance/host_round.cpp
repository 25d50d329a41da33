#include "objects/balance/host_round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace tri::objects {
namespace {

[[noreturn]] void refuse(std::uint32_t round, const std::string& what) {
  throw std::logic_error(fmt::format("load balancing, round {}: {}", round, what));
}

}  // namespace

bool is_distributed(const std::string& strategy) { return strategy == "gossip" || strategy == "hierarchy"; }

void host_round::begin(std::uint32_t round, const std::string& strategy, double usual_rate, actions& out) {
  if (round <= round_ || missing_parts_ != 0 || missing_moves_count_ != 0)
    refuse(round, fmt::format("begins while round {} has not ended", round_));
  round_ = round;
  strategy_ = strategy;
  usual_rate_ = usual_rate;
  missing_parts_ = where_.pes;
  parts_.clear();
  machine_ = std::monostate();
  has_decided_ = false;
  result_ = {};
  out.ask_for_loads = true;
}

void host_round::take(std::uint32_t round, load_part part, actions& out) {
  const auto is_same_pe = [&](const load_part& other) { return other.pe == part.pe; };
  if (round != round_ || missing_parts_ == 0 || part.pe < where_.first_pe || part.pe >= where_.first_pe + where_.pes ||
      std::ranges::any_of(parts_, is_same_pe))
    refuse(round, fmt::format("PE {} reports loads that host {} has not asked for", part.pe, where_.host));
  parts_.push_back(std::move(part));
  if (--missing_parts_ == 0) begin_machine(out);
}

void host_round::begin_machine(actions& out) {
  std::vector<double> rates;
  for (const load_part& each : parts_) rates.push_back(each.rate);
  result_.usual_rate = median_of(rates);
  snapshot_ = snapshot_of(std::exchange(parts_, {}), where_.speeds, usual_rate_);
  balancing::check(snapshot_.loads);
  balancing::host_part part = balancing::host_part::of_host(snapshot_.loads, where_.host, where_.first_pe);
  result_.host = where_.host;
  result_.objects = static_cast<std::int64_t>(snapshot_.loads.objects.size());
  result_.work_ns = part.work();
  result_.speed = part.speed();
  result_.longest_ns = part.longest_time();
  const auto start = [&]<class Host>(Host host) {
    typename Host::outbox sent;
    host.begin(sent);
    machine_ = std::move(host);
    send_all(sent, out);
  };
  if (strategy_ == "gossip") {
    balancing::gossip_options options;
    options.seed = round_;
    options.tolerance = where_.tolerance;
    start(balancing::gossip_host(std::move(part), where_.host, where_.hosts, options));
  } else {
    start(balancing::hierarchy_host(std::move(part), where_.host, where_.hosts, where_.tolerance));
  }
  std::vector<early_message> waiting = std::exchange(early_, {});
  for (early_message& each : waiting) {
    if (each.round == round_)
      deliver(each.from, each.what, out);
    else
      early_.push_back(std::move(each));
  }
  look_whether_decided(out);
}

void host_round::receive(std::uint32_t round, std::int32_t from, message what, actions& out) {
  check(from, what);
  if (round < round_ || (round == round_ && has_decided_ && std::holds_alternative<std::monostate>(machine_)))
    refuse(round,
           fmt::format("host {} sends a message of it to host {}, which is in round {}", from, where_.host, round_));
  if (round > round_ || missing_parts_ != 0 || std::holds_alternative<std::monostate>(machine_)) {
    early_.push_back({round, from, std::move(what)});
    return;
  }
  deliver(from, what, out);
  look_whether_decided(out);
}

// What the machines take for granted.
void host_round::check(std::int32_t from, const message& what) const {
  const auto is_host = [&](std::int32_t host) { return host >= 0 && host < where_.hosts; };
  bool is_right = is_host(from) && from != where_.host;
  std::visit(
      [&](const auto& inner) {
        using kind = typename std::decay_t<decltype(inner)>::kind;
        constexpr auto last = std::is_same_v<std::decay_t<decltype(inner)>, balancing::gossip_message>
                                  ? static_cast<std::uint8_t>(balancing::gossip_message::kind::answer)
                                  : static_cast<std::uint8_t>(balancing::hierarchy_message::kind::decided);
        is_right = is_right && static_cast<std::uint8_t>(static_cast<kind>(inner.what)) <= last;
        for (const auto& each : inner.offered) is_right = is_right && is_host(each.host);
        for (const auto& each : inner.accepted) is_right = is_right && is_host(each.host);
        if constexpr (std::is_same_v<std::decay_t<decltype(inner)>, balancing::gossip_message>)
          for (const auto& each : inner.known) is_right = is_right && is_host(each.host);
      },
      what);
  if (!is_right) refuse(round_, fmt::format("host {} sends a message that names no host of the job", from));
}

void host_round::deliver(std::int32_t from, const message& what, actions& out) {
  ++result_.messages;
  const auto give = [&]<class Host>(Host& host) {
    const auto* const own = std::get_if<typename Host::message>(&what);
    if (own == nullptr) refuse(round_, fmt::format("host {} sends a message of another strategy", from));
    typename Host::outbox sent;
    host.receive(from, *own, sent);
    send_all(sent, out);
  };
  if (auto* const gossip = std::get_if<balancing::gossip_host>(&machine_))
    give(*gossip);
  else
    give(std::get<balancing::hierarchy_host>(machine_));
}

template <class Outbox>
void host_round::send_all(Outbox& sent, actions& out) {
  for (auto& [to, what] : sent) {
    ++result_.messages;
    out.messages.emplace_back(to, std::move(what));
  }
}

const balancing::host_part& host_round::decided_part() const {
  if (const auto* const gossip = std::get_if<balancing::gossip_host>(&machine_)) return gossip->part();
  return std::get<balancing::hierarchy_host>(machine_).part();
}

// A host of gossip may still have to answer offers, and accept objects: its prediction is that of this moment.
void host_round::look_whether_decided(actions& out) {
  if (has_decided_) return;
  const auto* const gossip = std::get_if<balancing::gossip_host>(&machine_);
  has_decided_ = gossip != nullptr ? gossip->is_done() : std::get<balancing::hierarchy_host>(machine_).is_done();
  if (!has_decided_) return;
  for (const actions::orders_of_pe& each : orders()) result_.moves += static_cast<std::int64_t>(each.orders.size());
  result_.predicted_ns = decided_part().longest_time();
  out.decided = result_;
}

std::vector<host_round::actions::orders_of_pe> host_round::orders() const {
  std::vector<std::vector<move_order>> by_pe(static_cast<std::size_t>(where_.pes));
  for (const balancing::accepted_object& each : decided_part().placed()) {
    const std::int32_t from = snapshot_.loads.objects[each.object].pe;
    if (from + where_.first_pe != each.pe)
      by_pe[static_cast<std::size_t>(from)].push_back({snapshot_.names[each.object], each.pe});
  }
  std::vector<actions::orders_of_pe> list;
  for (std::int32_t pe = 0; pe < where_.pes; ++pe)
    if (auto& orders_of_it = by_pe[static_cast<std::size_t>(pe)]; !orders_of_it.empty())
      list.push_back({pe, std::move(orders_of_it)});
  return list;
}

void host_round::carry_out(std::uint32_t round, actions& out) {
  if (round != round_ || !has_decided_ || missing_moves_count_ != 0)
    refuse(round, fmt::format("host {} is to carry out what it has not decided", where_.host));
  out.orders = orders();
  missing_moves_.assign(static_cast<std::size_t>(where_.pes), false);
  counts_ = {};
  for (actions::orders_of_pe& each : out.orders) {
    missing_moves_[static_cast<std::size_t>(each.pe)] = true;
    ++missing_moves_count_;
    each.pe += where_.first_pe;
  }
  machine_ = std::monostate();
  if (missing_moves_count_ == 0) out.moved = counts_;
}

void host_round::take(std::uint32_t round, std::int32_t pe, const move_counts& counts, actions& out) {
  const std::int32_t own = pe - where_.first_pe;
  if (round != round_ || own < 0 || own >= where_.pes || missing_moves_count_ == 0 ||
      !missing_moves_[static_cast<std::size_t>(own)])
    refuse(round, fmt::format("PE {} reports migrations that host {} has not ordered", pe, where_.host));
  missing_moves_[static_cast<std::size_t>(own)] = false;
  counts_ += counts;
  if (--missing_moves_count_ == 0) out.moved = counts_;
}

}  // namespace tri::objects
