#include "objects/balance/balancer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "balance/snapshot_text.hpp"

namespace tri::objects {
namespace {

constexpr double per_byte_ns = 1.0;  // of a migration, beside what each element costs
constexpr double smoothing = 0.5;

balancer::actions::answer answer_to(balancer::request_number request, std::string error = {}) {
  balancer::actions::answer made;
  made.request = request;
  made.error = std::move(error);
  return made;
}

bool share_a_round(const balance_request& a, const balance_request& b) {
  return a.strategy == b.strategy && a.only_if_it_pays == b.only_if_it_pays;
}

}  // namespace

balancer::balancer(settings chosen)
    : settings_(std::move(chosen)),
      missing_(static_cast<std::size_t>(settings_.pes)),
      busy_before_(static_cast<std::size_t>(settings_.pes)) {}

std::string balancer::describe() const {
  if (phase_ == phase::idle) return {};
  const char* const what[] = {"",
                              "how long they were busy",
                              "their loads",
                              "their loads",
                              "that their elements arrive",
                              "what they decide",
                              "that their elements arrive"};
  const bool of_hosts = phase_ == phase::hosts || phase_ == phase::hosts_move;
  std::string list;
  for (std::size_t who = 0; who < missing_.size(); ++who)
    if (missing_[who]) list += fmt::format("{}{}", list.empty() ? "" : ", ", who);
  return fmt::format("load balancing waits for {} {} to report {}", of_hosts ? "hosts" : "PEs", list,
                     what[static_cast<std::size_t>(phase_)]);
}

void balancer::request(request_number number, const balance_request& options, std::int64_t now_ns, actions& out) {
  asked one{number, options};
  if (one.options.strategy.empty()) one.options.strategy = settings_.strategy;
  if (one.options.strategy == "off") {
    out.answers.push_back(answer_to(number));
    return;
  }
  try {
    static_cast<void>(balancing::find_strategy(one.options.strategy));
  } catch (const std::invalid_argument& error) {
    out.answers.push_back(answer_to(number, error.what()));
    return;
  }
  waiting_.push_back(std::move(one));
  if (phase_ == phase::idle) begin(now_ns, out);
}

void balancer::request_snapshot(request_number number, std::int64_t now_ns, actions& out) {
  asked one;
  one.number = number;
  one.for_snapshot = true;
  waiting_.push_back(std::move(one));
  if (phase_ == phase::idle) begin(now_ns, out);
}

// The first that waits, and all that can share its round.
void balancer::begin(std::int64_t now_ns, actions& out) {
  if (waiting_.empty()) return;
  const asked first = waiting_.front();
  const auto others = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const asked& each) {
    return each.for_snapshot == first.for_snapshot && share_a_round(each.options, first.options);
  });
  current_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(others));
  waiting_.erase(waiting_.begin(), others);
  began_ns_ = now_ns;
  report_ = {};
  is_refused_ = false;
  if (first.for_snapshot)
    ask_all(phase::snapshot, out);
  else if (has_to_pay())
    ask_all(phase::totals, out);
  else
    ask_for_decision(out);
}

void balancer::ask_for_decision(actions& out) {
  const std::string& strategy = current_.front().options.strategy;
  if (settings_.hosts == 1 || !is_distributed(strategy)) return ask_all(phase::loads, out);
  out.strategy = strategy;
  out.usual_rate = usual_rate_;
  ask_all(phase::hosts, out);
}

void balancer::ask_all(phase next, actions& out) {
  phase_ = next;
  out.round = ++round_;
  out.ask_for_totals = next == phase::totals;
  out.ask_for_loads = next == phase::loads;
  out.ask_for_snapshot = next == phase::snapshot;
  out.begin_on_hosts = next == phase::hosts;
  missing_count_ = next == phase::hosts ? settings_.hosts : settings_.pes;
  missing_.assign(static_cast<std::size_t>(missing_count_), true);
  report_.messages_of_pe += std::int64_t{2} * missing_count_;  // of this PE: questions and answers
}

bool balancer::answered(phase expected, std::uint32_t round, std::int32_t who) {
  if (phase_ != expected || round != round_ || who < 0 || static_cast<std::size_t>(who) >= missing_.size() ||
      !missing_[static_cast<std::size_t>(who)])
    throw std::logic_error(fmt::format("load balancing: {} {} answers question {}, which it was not asked",
                                       expected == phase::hosts || expected == phase::hosts_move ? "host" : "PE", who,
                                       round));
  missing_[static_cast<std::size_t>(who)] = false;
  return --missing_count_ == 0;
}

void balancer::take(std::uint32_t round, const load_total& total, std::int64_t now_ns, actions& out) {
  const bool was_last = answered(phase::totals, round, total.pe);
  totals_.push_back(total);
  if (was_last) weigh_totals(now_ns, out);
}

void balancer::take(std::uint32_t round, load_part part, std::int64_t now_ns, actions& out) {
  const bool is_balancing = phase_ == phase::loads;
  const bool was_last = answered(is_balancing ? phase::loads : phase::snapshot, round, part.pe);
  parts_.push_back(std::move(part));
  if (!was_last) return;
  snapshot_ = snapshot_of(std::exchange(parts_, {}), settings_.speeds);
  out.taken = &snapshot_;
  if (is_balancing)
    decide(now_ns, out);
  else
    answer_all({}, balancing::to_text(snapshot_.loads), out);
  if (phase_ == phase::idle) begin(now_ns, out);
}

void balancer::take(std::uint32_t round, std::int32_t pe, const move_counts& counts, std::int64_t now_ns,
                    actions& out) {
  count_moves(counts, answered(phase::moves, round, pe), now_ns, out);
}

void balancer::take_of_host(std::uint32_t round, std::int32_t host, const move_counts& counts, std::int64_t now_ns,
                            actions& out) {
  count_moves(counts, answered(phase::hosts_move, round, host), now_ns, out);
}

void balancer::count_moves(const move_counts& counts, bool was_last, std::int64_t now_ns, actions& out) {
  report_.moved += counts.moved;
  report_.waiting += counts.waiting;
  report_.withdrawn += counts.withdrawn;
  if (!was_last) return;
  if (report_.moved > 0) {
    const double each =
        static_cast<double>(now_ns - moves_began_ns_) * moving_pes_ / static_cast<double>(report_.moved);
    per_object_ns_ += smoothing * (each - per_object_ns_);
  }
  finish(now_ns, out);
  begin(now_ns, out);
}

void balancer::take(std::uint32_t round, const host_round::result& decided, std::int64_t now_ns, actions& out) {
  const bool was_last = answered(phase::hosts, round, decided.host);
  hosts_decided_.push_back(decided);
  if (!was_last) return;
  weigh_hosts(now_ns, out);
  if (phase_ == phase::idle) begin(now_ns, out);
}

void balancer::weigh_hosts(std::int64_t now_ns, actions& out) {
  std::fill(busy_before_.begin(), busy_before_.end(), 0);
  balancing::quality before, after;
  double work = 0.0, speed = 0.0;
  std::vector<double> rates;
  for (const host_round::result& each : std::exchange(hosts_decided_, {})) {
    before.longest_ns = std::max(before.longest_ns, each.longest_ns);
    after.longest_ns = std::max(after.longest_ns, each.predicted_ns);
    after.moved_objects += each.moves;
    work += each.work_ns;
    speed += each.speed;
    report_.objects += each.objects;
    report_.messages_of_pe = std::max(report_.messages_of_pe, std::int64_t{4} * settings_.hosts + each.messages);
    rates.push_back(each.usual_rate);
  }
  usual_rate_ = median_of(std::move(rates));
  report_.longest_ns = report_.predicted_ns = before.longest_ns;
  report_.level_ns = std::min(before.longest_ns, work / speed);
  report_.decided_ns = now_ns - began_ns_;
  if (has_to_pay() && !pays(before, after)) {
    decision_.add_balancing(static_cast<double>(now_ns - began_ns_));
    answer_all({}, {}, out);
    return;
  }
  report_.strategy = current_.front().options.strategy;
  report_.predicted_ns = after.longest_ns;
  moves_began_ns_ = now_ns;
  moving_pes_ = settings_.pes;
  phase_ = phase::hosts_move;  // of the round that was decided
  out.round = round_;
  out.carry_out_on_hosts = true;
  missing_count_ = settings_.hosts;
  missing_.assign(static_cast<std::size_t>(missing_count_), true);
}

// An iteration has ended: its times are what was added since the last totals.
void balancer::weigh_totals(std::int64_t now_ns, actions& out) {
  std::sort(totals_.begin(), totals_.end(), [](const load_total& a, const load_total& b) { return a.pe < b.pe; });
  std::vector<double> rates;
  for (const load_total& each : totals_) rates.push_back(each.rate);
  const std::vector<double> speeds = settings_.speeds.empty() ? speeds_of(rates, median_of(rates)) : settings_.speeds;
  double longest = 0.0, work = 0.0, speed = 0.0;
  for (std::size_t pe = 0; pe < totals_.size(); ++pe) {
    const double busy = static_cast<double>(std::max<std::int64_t>(0, totals_[pe].busy_ns - busy_before_[pe]));
    busy_before_[pe] = totals_[pe].busy_ns;
    longest = std::max(longest, busy);
    work += busy * speeds[pe];
    speed += speeds[pe];
  }
  totals_.clear();
  decision_.add_iteration(longest, std::min(longest, work / speed));
  report_.longest_ns = report_.predicted_ns = longest;
  report_.level_ns = std::min(longest, work / speed);
  if (decision_.decide() == balancing::verdict::balance) {
    ask_for_decision(out);
    return;
  }
  answer_all({}, {}, out);
  begin(now_ns, out);
}

void balancer::decide(std::int64_t now_ns, actions& out) {
  std::fill(busy_before_.begin(), busy_before_.end(), 0);  // PEs measure from zero now
  balancing::outcome decided;
  try {
    decided = balancing::balance(snapshot_.loads, balancing::find_strategy(current_.front().options.strategy),
                                 {.tolerance = settings_.tolerance});
  } catch (const std::exception& error) {
    answer_all(error.what(), {}, out);
    return;
  }
  is_refused_ = decided.is_refused;
  report_.objects = static_cast<std::int64_t>(snapshot_.loads.objects.size());
  report_.longest_ns = decided.before.longest_ns;
  report_.level_ns = decided.before.level_ns;
  report_.predicted_ns = decided.before.longest_ns;
  report_.decided_ns = now_ns - began_ns_;
  if (has_to_pay() && !pays(decided.before, decided.after)) {
    decision_.add_balancing(static_cast<double>(now_ns - began_ns_));
    answer_all({}, {}, out);
    return;
  }
  report_.strategy = current_.front().options.strategy;
  report_.predicted_ns = decided.after.longest_ns;
  if (decided.moves.empty())
    finish(now_ns, out);
  else {
    moves_began_ns_ = now_ns;
    order(snapshot_, decided.moves, out);
  }
}

bool balancer::pays(const balancing::quality& before, const balancing::quality& after) const {
  return decision_.pays(before, after, per_object_ns_, per_byte_ns, settings_.pes);
}

void balancer::order(const named_snapshot& of, const std::vector<balancing::move>& moves, actions& out) {
  std::vector<std::vector<move_order>> by_pe(static_cast<std::size_t>(settings_.pes));
  for (const balancing::move& each : moves)
    by_pe[static_cast<std::size_t>(each.from)].push_back({of.names[each.object], each.to});
  phase_ = phase::moves;
  out.round = ++round_;
  missing_.assign(static_cast<std::size_t>(settings_.pes), false);
  missing_count_ = 0;
  for (std::int32_t pe = 0; pe < settings_.pes; ++pe) {
    std::vector<move_order>& orders = by_pe[static_cast<std::size_t>(pe)];
    if (orders.empty()) continue;
    missing_[static_cast<std::size_t>(pe)] = true;
    ++missing_count_;
    out.orders.push_back({pe, std::move(orders)});
  }
  moving_pes_ = missing_count_;
  report_.messages_of_pe += std::int64_t{2} * missing_count_;
}

void balancer::finish(std::int64_t now_ns, actions& out) {
  report_.took_ns = now_ns - began_ns_;
  decision_.add_balancing(static_cast<double>(report_.took_ns));
  answer_all({}, {}, out);
}

void balancer::answer_all(const std::string& error, const std::string& snapshot, actions& out) {
  out.has_balanced = error.empty() && snapshot.empty();
  for (const asked& each : std::exchange(current_, {})) {
    actions::answer made = answer_to(each.number, error);
    made.report = report_;
    made.is_refused = is_refused_;
    made.snapshot = snapshot;
    out.answers.push_back(std::move(made));
  }
  phase_ = phase::idle;
}

}  // namespace tri::objects
