#include "objects/balance/balance_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "balance/snapshot_text.hpp"
#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "objects/balance/balance_line.hpp"
#include "objects/balance/balance_trace.hpp"
#include "objects/balance/balancer.hpp"
#include "objects/balance/host_round.hpp"
#include "objects/balance/load_counters.hpp"
#include "objects/balance/load_meter.hpp"
#include "objects/balance/work_rate.hpp"
#include "objects/checkpoint/checkpoint_service.hpp"
#include "os/clock.hpp"
#include "os/cpu/topology.hpp"
#include "os/output_file.hpp"
#include "sched/remote/global_counts.hpp"
#include "trireme/balance.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/objects/reduction.hpp"
#include "trireme/run.hpp"
#include "trireme/variables.hpp"

namespace tri::objects {
namespace {

bool program_balances = false;  // set before main

std::vector<double> given_speeds(const config::configuration& values) {
  std::vector<double> speeds;
  if (values.balance_speeds == "measured" || values.balance_speeds == "equal") return speeds;
  std::string_view rest = values.balance_speeds;
  while (true) {
    const std::string_view one = rest.substr(0, rest.find(','));
    double speed = 0.0;
    const auto [end, fault] = std::from_chars(one.data(), one.data() + one.size(), speed);
    if (fault != std::errc() || end != one.data() + one.size() || !(speed >= balancing::lowest_speed) ||
        speed > balancing::highest_speed)
      throw config::configuration_error(fmt::format(
          "balance_speeds is '{}': '{}' is no speed; write measured, equal, or for each PE a number from {} to {}, "
          "separated by commas",
          values.balance_speeds, one, balancing::lowest_speed, balancing::highest_speed));
    speeds.push_back(speed);
    if (one.size() == rest.size()) return speeds;
    rest.remove_prefix(one.size() + 1);
  }
}

/// A broadcast without arguments that goes to a collection after a balancing.
struct collection_reply {
  std::uint32_t collection;
  std::uint32_t handler;
};
using reply = std::variant<std::monostate, promise<balance_report>, promise<std::string>, collection_reply>;

/// What only PE 0 has.
struct decider {
  explicit decider(balancer::settings chosen) : state(std::move(chosen)) {}
  balancer state;
  std::map<balancer::request_number, reply> replies;
  balancer::request_number next_request = 0;
  std::uint64_t own_messages = 0;         // of balancings, that this host has processed or will
  std::uint64_t processed_at_period = 0;  // messages of this host, without them
  int written_snapshots = 0;
  std::uint32_t traced_steps = 0;
  std::uint32_t reported_balancings = 0;

  balancer::request_number add(reply to) {
    replies.emplace(next_request, to);
    return next_request++;
  }
};

class balance_service {
 public:
  explicit balance_service(sched::pe& here) : here_(here), meter_(here) {
    pe_objects::of(here).moves = &moves_;
    find_place();
    if (here.job().hosts() > 1 && here.number() == here.job().first_pe_of_host()) begin_for_host();
    if (here.number() == 0) begin_to_decide();
  }
  ~balance_service() { pe_objects::of(here_).moves = nullptr; }
  balance_service(const balance_service&) = delete;
  balance_service& operator=(const balance_service&) = delete;

  load_part part() {
    load_part made = place_;
    made.rate = rate();
    meter_.collect(made);
    return made;
  }
  load_total total() {
    const std::int64_t background = meter_.background_ns();
    return {here_.number(), rate_ == 0.0 ? rate() : rate_, meter_.time_in_elements_ns() + background};
  }
  void measure_from_zero() { meter_.reset(); }
  void count_events(std::vector<std::string> names) {
    try {
      meter_.count_events(std::move(names));
    } catch (const std::exception& error) {
      here_.job().fail(fmt::format("load_counters: on PE {}, host {}: {}", here_.number(),
                                   here_.job().name_of_host(here_.job().host()), error.what()));
    }
  }
  move_list& moves() { return moves_; }
  decider& decides() { return *decides_; }
  /// On the first PE of a host, if there are several.
  host_round& of_host() { return *of_host_; }

 private:
  // The best so far: a neighbour on the same core, or a turbo of others, slow it down for a while.
  double rate() { return rate_ = std::max(rate_, measured_work_rate(os::task_clock::of_this_thread())); }
  void find_place() {
    place_.pe = here_.number();
    place_.host = here_.job().host();
    const std::vector<int>& cpus = here_.job().placement().cpus;
    const os::topology& machine = os::topology::shared(here_.job().values().topology);
    const auto own = static_cast<std::size_t>(here_.local_number());
    if (own >= cpus.size() || !machine.has(cpus[own])) return;
    place_.numa_node = machine.at(cpus[own]).numa;
    place_.cache = std::max(0, machine.at(cpus[own]).cache);
  }
  // Of all PEs; empty: they are measured.
  std::vector<double> speeds_of_job() const {
    const config::configuration& values = here_.job().values();
    const auto pes = static_cast<std::size_t>(here_.job().pes());
    if (values.balance_speeds == "equal") return std::vector<double>(pes, 1.0);
    std::vector<double> speeds = given_speeds(values);
    if (!speeds.empty() && speeds.size() != pes)
      here_.job().fail(fmt::format("balance_speeds has {} numbers, and the job has {} PEs: one for each is needed",
                                   speeds.size(), pes));
    return speeds;
  }
  void begin_for_host() {
    const sched::runtime& job = here_.job();
    host_round::place where{job.host(), job.hosts(), job.first_pe_of_host(), job.pes_of_host()};
    const std::vector<double> speeds = speeds_of_job();
    if (!speeds.empty())
      where.speeds.assign(speeds.begin() + where.first_pe, speeds.begin() + where.first_pe + where.pes);
    where.tolerance = here_.job().values().balance_tolerance;
    of_host_.emplace(std::move(where));
  }
  void begin_to_decide() {
    const config::configuration& values = here_.job().values();
    std::vector<double> speeds = speeds_of_job();
    decides_.emplace(balancer::settings{.pes = here_.job().pes(),
                                        .hosts = here_.job().hosts(),
                                        .strategy = values.balance,
                                        .pays_always = values.balance_when == config::balance_occasion::pays,
                                        .speeds = std::move(speeds),
                                        .tolerance = values.balance_tolerance});
    pe_objects::of(here_).report_waiting([this] {
      const std::string waits = decides_->state.describe();
      return waits.empty() ? std::string() : "\n  PE 0: " + waits;
    });
  }

  sched::pe& here_;
  load_meter meter_;
  move_list moves_;
  load_part place_;
  double rate_ = 0.0;
  std::optional<decider> decides_;
  std::optional<host_round> of_host_;
};

pe_local<std::shared_ptr<balance_service>> service_of_pe;  // NOLINT(cert-err58-cpp): registration before main

balance_service& service() { return **service_of_pe; }

// ---- on all PEs; PE 0 asks

void took_total(std::uint32_t round, load_total total);
void took_part(std::uint32_t round, load_part part);
void took_moves(std::uint32_t round, int pe, move_counts counts);

void give_total(std::uint32_t round) { tri::send<&took_total>(0, round, service().total()); }
void give_snapshot(std::uint32_t round) { tri::send<&took_part>(0, round, service().part()); }
void give_loads(std::uint32_t round) {
  tri::send<&took_part>(0, round, service().part());
  service().measure_from_zero();
}

void count_events(std::vector<std::string> names) { service().count_events(std::move(names)); }

// The file of the names is read on PE 0 only: other hosts need not have it.
void choose_counters(sched::pe& here) {
  std::vector<std::string> names;
  try {
    names = load_counter_names(here.job().values().load_counters);
  } catch (const std::invalid_argument& error) {
    here.job().fail(error.what());
  }
  for (int pe = 0; pe < here.job().pes(); ++pe) tri::send<&count_events>(pe, names);
}

void carry_out(std::uint32_t round, bool for_host, const std::vector<move_order>& orders) {
  sched::pe& here = sched::this_pe();
  pe_objects& objects = pe_objects::of(here);
  move_list& moves = service().moves();
  moves.begin(round, static_cast<std::int64_t>(orders.size()), for_host);
  for (const move_order& order : orders) {
    local_collection* const home = objects.find_local_collection(order.name.collection);
    element_base* const element = home == nullptr ? nullptr : home->find(order.name.number);
    if (element == nullptr || order.to < 0 || order.to >= here.job().pes() || order.to == here.number()) {
      moves.cannot();
      continue;
    }
    moves.ordered(order.name);
    home->migrate(*element, order.to);
  }
  report_moves(here, moves);
}

// ---- on the first PE of each host, for distributed strategies

void took_part_of_host(std::uint32_t round, load_part part);
void give_loads_to_host(std::uint32_t round, int to) {
  tri::send<&took_part_of_host>(to, round, service().part());
  service().measure_from_zero();
}

void heard_from_host(std::uint32_t round, int from, host_round::message what);
void host_decided(std::uint32_t round, host_round::result decided);
void host_moved(std::uint32_t round, int host, move_counts counts);

/// Gives the host's machine an event and does what it asks for.
template <class Event>
void step_of_host(Event&& event) {
  sched::pe& here = sched::this_pe();
  const sched::runtime& job = here.job();
  host_round& state = service().of_host();
  host_round::actions wanted;
  try {
    event(state, wanted);
  } catch (const std::exception& error) {  // a faulty process of another host, or loads that cannot be
    job.fail(error.what());
  }
  if (here.number() == 0)  // this message, and those that go to PEs of this host
    service().decides().own_messages +=
        1 + (wanted.ask_for_loads ? static_cast<std::uint64_t>(job.pes_of_host()) : 0) + wanted.orders.size();
  if (wanted.ask_for_loads)
    for (int pe = job.first_pe_of_host(); pe < job.first_pe_of_host() + job.pes_of_host(); ++pe)
      tri::send<&give_loads_to_host>(pe, state.round(), here.number());
  for (auto& [host, what] : wanted.messages)
    tri::send<&heard_from_host>(job.first_pe_of(host), state.round(), job.host(), std::move(what));
  if (wanted.decided) tri::send<&host_decided>(0, state.round(), *wanted.decided);
  for (auto& each : wanted.orders) tri::send<&carry_out>(each.pe, state.round(), true, std::move(each.orders));
  if (wanted.moved) tri::send<&host_moved>(0, state.round(), job.host(), *wanted.moved);
}

void begin_on_host(std::uint32_t round, std::string strategy, double usual_rate) {
  step_of_host([&](host_round& state, auto& out) { state.begin(round, strategy, usual_rate, out); });
}
void took_part_of_host(std::uint32_t round, load_part part) {
  step_of_host([&](host_round& state, auto& out) { state.take(round, std::move(part), out); });
}
void heard_from_host(std::uint32_t round, int from, host_round::message what) {
  step_of_host([&](host_round& state, auto& out) { state.receive(round, from, std::move(what), out); });
}
void carry_out_on_host(std::uint32_t round) {
  step_of_host([&](host_round& state, auto& out) { state.carry_out(round, out); });
}
void took_moves_of_host(std::uint32_t round, int pe, move_counts counts) {
  step_of_host([&](host_round& state, auto& out) { state.take(round, pe, counts, out); });
}

// ---- on PE 0

void write_snapshot(const named_snapshot& taken) {
  const std::string& folder = sched::this_pe().job().values().balance_snapshots;
  if (folder.empty()) return;
  std::filesystem::create_directories(folder);
  os::write_output_file(fmt::format("{}/balancing_{:04}.json", folder, service().decides().written_snapshots++),
                        balancing::to_text(taken.loads));
}

void answer(const balancer::actions::answer& given) {
  sched::pe& here = sched::this_pe();
  const auto found = service().decides().replies.extract(given.request);
  if (found.empty()) return;
  if (const auto* const future = std::get_if<promise<balance_report>>(&found.mapped())) {
    if (given.error.empty())
      future->set(given.report);
    else
      future->fail(given.error);
  } else if (const auto* const text = std::get_if<promise<std::string>>(&found.mapped())) {
    if (given.error.empty())
      text->set(given.snapshot);
    else
      text->fail(given.error);
  } else if (!given.error.empty()) {
    here.job().fail("load balancing: " + given.error);
  } else if (const auto* const collection = std::get_if<collection_reply>(&found.mapped())) {
    const local_collection* const home = pe_objects::of(here).find_local_collection(collection->collection);
    if (home == nullptr || pe_objects::of(here).is_ending()) return;
    post_broadcast<std::tuple<>>(here, *home, collection->handler);
  }
}

void perform(const balancer::actions& wanted) {
  sched::pe& here = sched::this_pe();
  decider& decides = service().decides();
  const bool asks = wanted.ask_for_totals || wanted.ask_for_loads || wanted.ask_for_snapshot;
  if (asks) decides.own_messages += static_cast<std::uint64_t>(here.job().pes_of_host() + here.job().pes());
  for (const auto& each : wanted.orders) decides.own_messages += here.job().is_on_own_host(each.pe) ? 2 : 1;
  for (int pe = 0; pe < here.job().pes(); ++pe) {
    if (wanted.ask_for_totals) tri::send<&give_total>(pe, wanted.round);
    if (wanted.ask_for_loads) tri::send<&give_loads>(pe, wanted.round);
    if (wanted.ask_for_snapshot) tri::send<&give_snapshot>(pe, wanted.round);
  }
  for (const auto& each : wanted.orders) tri::send<&carry_out>(each.pe, wanted.round, false, each.orders);
  for (int host = 0; host < here.job().hosts(); ++host) {
    if (wanted.begin_on_hosts)
      tri::send<&begin_on_host>(here.job().first_pe_of(host), wanted.round, wanted.strategy, wanted.usual_rate);
    if (wanted.carry_out_on_hosts) tri::send<&carry_out_on_host>(here.job().first_pe_of(host), wanted.round);
  }
  if (wanted.taken != nullptr) write_snapshot(*wanted.taken);
  if (here.trace() != nullptr && wanted.taken != nullptr && !wanted.orders.empty()) [[unlikely]]
    trace_balancing(*here.trace(), ++decides.traced_steps, *wanted.taken, wanted.orders);
  if (wanted.has_balanced && here.job().values().balance_report) {
    const balancer::actions::answer& any = wanted.answers.back();
    fmt::print(stderr, "trireme: {}\n", balance_line(++decides.reported_balancings, any.report, any.is_refused));
  }
  for (const auto& each : wanted.answers) answer(each);
}

/// Gives the balancer an event and does what it asks for.
template <class Event>
void step(Event&& event) {
  balancer::actions wanted;
  try {
    event(service().decides().state, os::now_ns(), wanted);
    perform(wanted);
  } catch (const std::exception& error) {  // a faulty process of another host, or a file that cannot be written
    sched::this_pe().job().fail(error.what());
  }
}

void took_total(std::uint32_t round, load_total total) {
  step([&](balancer& state, std::int64_t now, auto& out) { state.take(round, total, now, out); });
}
void took_part(std::uint32_t round, load_part part) {
  step([&](balancer& state, std::int64_t now, auto& out) { state.take(round, std::move(part), now, out); });
}
void took_moves(std::uint32_t round, int pe, move_counts counts) {
  step([&](balancer& state, std::int64_t now, auto& out) { state.take(round, pe, counts, now, out); });
}

void host_decided(std::uint32_t round, host_round::result decided) {
  ++service().decides().own_messages;
  step([&](balancer& state, std::int64_t now, auto& out) { state.take(round, decided, now, out); });
}
void host_moved(std::uint32_t round, int host, move_counts counts) {
  ++service().decides().own_messages;
  step([&](balancer& state, std::int64_t now, auto& out) { state.take_of_host(round, host, counts, now, out); });
}

void request(const balance_request& options, reply to) {
  const auto number = service().decides().add(to);
  step([&](balancer& state, std::int64_t now, auto& out) { state.request(number, options, now, out); });
}
void asked_by_program(const balance_request& options, promise<balance_report> to) { request(options, to); }
void asked_for_collection(std::uint32_t collection, std::uint32_t handler) {
  request({}, collection_reply{collection, handler});
}
void asked_for_snapshot(promise<std::string> to) {
  const auto number = service().decides().add(to);
  step([&](balancer& state, std::int64_t now, auto& out) { state.request_snapshot(number, now, out); });
}

// In a period in which no message ran but those of balancings there is nothing to measure; and a program that waits for
// good has to be found out.
void period_deliver(sched::pe& here, sched::envelope&);
const std::uint32_t period_handler = sched::register_handler(&period_deliver, "load balancing period");

void set_period(sched::pe& here) {
  sched::envelope alarm{};
  alarm.handler = period_handler;
  alarm.kind = sched::payload_kind::direct;
  here.send_later(std::int64_t{here.job().values().balance_every_ms} * 1'000'000, alarm);
  sched::do_not_count_sent(here);
}

void period_deliver(sched::pe& here, sched::envelope&) {
  sched::do_not_count_processed(here);
  if (pe_objects::of(here).is_ending()) return;
  decider& decides = service().decides();
  const std::uint64_t processed = here.job().counts_of_host().processed - decides.own_messages;
  if (decides.state.is_idle() && processed != decides.processed_at_period && !is_writing_checkpoint()) {
    decides.processed_at_period = processed;
    balance_request options;
    options.only_if_it_pays = here.job().values().balance_when != config::balance_occasion::always;
    request(options, std::monostate{});
  }
  set_period(here);
}

void collection_is_ready_deliver(sched::pe&, sched::envelope& message) {
  unpacked_arguments<std::tuple<std::uint64_t, std::uint8_t>> nothing(message);
  tri::send<&asked_for_collection>(0, message.collection, static_cast<std::uint32_t>(message.element));
}

}  // namespace

const std::uint32_t collection_is_ready_handler = register_handler_of<std::tuple<std::uint64_t, std::uint8_t>>(
    &collection_is_ready_deliver, "load balancing of a collection");

void note_balancing() { program_balances = true; }

void check_balance_options(const config::configuration& values) {
  try {
    if (values.balance != "off") static_cast<void>(balancing::find_strategy(values.balance));
  } catch (const std::invalid_argument& error) {
    throw config::configuration_error(fmt::format("balance is '{}': {}", values.balance, error.what()));
  }
  static_cast<void>(given_speeds(values));
}

void install_balance_service(sched::pe& here) {
  const bool counts = !here.job().values().load_counters.empty();
  if (!program_balances && here.job().values().balance_every_ms == 0) {
    if (counts && here.number() == 0)
      fmt::print(stderr,
                 "trireme: --tri-load-counters has no effect: this program measures no loads (tri::balance, "
                 "tri::load_snapshot or --tri-balance-every-ms)\n");
    return;
  }
  *service_of_pe = std::make_shared<balance_service>(here);
  if (counts && here.number() == 0) choose_counters(here);
  if (here.number() == 0 && here.job().values().balance_every_ms > 0) set_period(here);
}

void report_moves(sched::pe& here, move_list& moves) {
  if (!moves.take_end()) return;
  if (moves.is_for_host())
    tri::send<&took_moves_of_host>(here.job().first_pe_of_host(), moves.round(), here.number(), moves.counts());
  else
    tri::send<&took_moves>(0, moves.round(), here.number(), moves.counts());
}

future<balance_report> begin_balancing(const balance_options& options) {
  future<balance_report> result;
  tri::send<&asked_by_program>(0, balance_request{std::string(options.strategy), options.only_if_it_pays},
                               result.get_promise());
  return result;
}

future<std::string> collect_snapshot() {
  future<std::string> result;
  tri::send<&asked_for_snapshot>(0, result.get_promise());
  return result;
}

}  // namespace tri::objects
