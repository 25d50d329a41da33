#include "sched/seeds/pe_seeds.hpp"

#include <algorithm>

#include "sched/process_runtime.hpp"
#include "sched/remote/global_counts.hpp"
#include "sched/scheduler.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/sched/seed.hpp"

namespace tri::sched {
namespace {

// How many seeds with a priority others can reach; those that come later do not overtake them.
constexpr std::int64_t most_shown = 4;

pe_seeds& seeds_of(pe& here) { return static_cast<scheduler&>(here).seeds(); }

// Before seeds are sent: they count as sent by this PE while they count as processed.
void request_deliver(pe& here, envelope& message) {
  do_not_count_processed(here);
  seeds_of(here).asked_by(static_cast<int>(message.source));
}
void use_deliver(pe& here, envelope&) { seeds_of(here).in_use_elsewhere(); }
const std::uint32_t request_message = register_handler(&request_deliver, "seeds: asked for", nullptr, nullptr, nullptr,
                                                       nullptr, nullptr, {message_form::content::plain, 0});
const std::uint32_t use_message = register_handler(&use_deliver, "seeds: in use", nullptr, nullptr, nullptr, nullptr,
                                                   nullptr, {message_form::content::plain, 0});

void clear_message(envelope& message, std::uint32_t handler) {
  message.element = 0;
  message.collection = 0;
  message.handler = handler;
  message.kind = payload_kind::direct;
  message.flags = 0;
  message.bytes = 0;
}

// One PE on each host that is a lifeline of ours, the same one counted on its host.
std::vector<int> lifelines_of(const runtime& job, int host_pe) {
  std::vector<int> found;
  for (const int host : lifeline_hosts(job.host(), job.hosts()))
    found.push_back(job.first_pe_of(host) + host_pe % (job.processes_of_host(host) * job.pes_per_process()));
  return found;
}

}  // namespace

void seed_arrived(pe& here, envelope& message) {
  envelope seed;
  seed.assign_message(message);
  seed.handler = begin_handler(message.handler);
  seeds_of(here).arrived(seed);
}

pe_seeds::pe_seeds(pe& here, process_runtime& job)
    : here_(here),
      job_(job),
      host_pe_(static_cast<int>(job.host_pe_number(here.number()))),
      hints_(job.own_host().seeds),
      bits_(hints_.of(job.pes_of_host())),
      own_(here.record().seeds),
      requests_(lifelines_of(job, host_pe_)) {
  const int first = job.first_pe_of_host();
  for (int pe = first; pe < first + job.pes_of_host(); ++pe) deques_.push_back(&job.record_of(pe)->seeds);
}

void pe_seeds::push(const envelope& seed) {
  here_.counters().sent.add();  // first, or the PE that takes it could count it before us
  try {
    if ((seed.flags & envelope::has_priority) != 0) [[unlikely]]
      push_in_order(seed);
    else
      push_to_deque(seed);
  } catch (...) {
    here_.counters().sent.add(~std::uint64_t{0});
    throw;
  }
}

void pe_seeds::push_to_deque(const envelope& seed) {
  own_.push(seed);
  if (requests_.may_ask() && hints_.begin_use()) [[unlikely]]
    announce_use();
  // seq_cst, in set(): see seed_hints.hpp. The test before it must not come before the push: pairs: seed_hints.bit
  if ((bits_.first_word()[host_pe_ / 64].load(std::memory_order_seq_cst) >> (host_pe_ % 64) & 1) != 0) return;
  bits_.set(static_cast<std::uint32_t>(host_pe_));
  wake_another();
}

void pe_seeds::announce_use() {
  envelope message{};
  clear_message(message, use_message);
  here_.send_to_other_hosts(message);
}

void pe_seeds::wake_another() const {
  if (job_.process_record_of(job_.process())->wake(1) == 0) job_.wake_helpers(1, board::any_process);
}

void pe_seeds::push_in_order(const envelope& seed) {
  auto* const block = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  block->assign_message(seed);
  ordered_.push(block);
  has_ordered_ = true;
  show_first();
}

void pe_seeds::show_first() {
  while (!ordered_.empty() && own_.size() < most_shown) {
    envelope* const first = ordered_.pop();
    try {
      push_to_deque(*first);
    } catch (...) {  // it stays with this PE
      ordered_.push(first);
      return;
    }
    arena::release(first);
  }
}

// Those in the deque were the first ones when they got there, the oldest before the others.
bool pe_seeds::take_first(envelope& seed) {
  for (;;) {
    show_first();
    switch (own_.steal(seed)) {
      case seed_deque::outcome::taken:
        return true;
      case seed_deque::outcome::lost:
        break;
      case seed_deque::outcome::empty:
        has_ordered_ = !ordered_.empty();
        if (!has_ordered_) return false;
    }
  }
}

bool pe_seeds::take(envelope& seed) {
  if (take_own(seed)) return true;
  return bits_.any() && steal(seed);
}

// From the next PE on, in a circle: neighbours in number are neighbours in the machine, and each PE begins elsewhere.
bool pe_seeds::steal(envelope& seed) {
  const int pes = static_cast<int>(deques_.size());
  for (int step = 1; step < pes; ++step) {
    const int other = (host_pe_ + step) % pes;
    if (bits_.test(static_cast<std::uint32_t>(other)) && steal_from(other, seed)) return true;
  }
  if (bits_.test(static_cast<std::uint32_t>(host_pe_))) clear_if_empty(host_pe_);
  return false;
}

bool pe_seeds::steal_from(int host_pe, envelope& seed) {
  for (;;) {
    switch (deque_of(host_pe).steal(seed)) {
      case seed_deque::outcome::taken:
        here_.counters().seeds_stolen.add();
        if (!clear_if_empty(host_pe)) wake_another();  // the rung ones are fewer than the seeds
        return true;
      case seed_deque::outcome::empty:
        if (clear_if_empty(host_pe)) return false;
        break;
      case seed_deque::outcome::lost:
        break;
    }
  }
}

// False: it has seeds, and its bit is set.
bool pe_seeds::clear_if_empty(int host_pe) {
  const auto bit = static_cast<std::uint32_t>(host_pe);
  if (!is_empty(host_pe)) return false;
  bits_.clear(bit);
  if (is_empty(host_pe)) return true;
  bits_.set(bit);
  return false;
}

bool pe_seeds::exist_before_sleep() {
  if (!bits_.any_before_sleep()) return false;
  bool found = false;
  for (int pe = 0; pe < static_cast<int>(deques_.size()); ++pe)
    if (bits_.test(static_cast<std::uint32_t>(pe))) found |= !clear_if_empty(pe);
  return found;
}

// ---- between hosts

// An idle PE asks of its own accord, after quiescence, too, and during a checkpoint: so the request does not count.
void pe_seeds::ask() {
  requests_.starving([&](int lifeline) {
    here_.send(lifeline, [](envelope& message) { clear_message(message, request_message); });
    do_not_count_sent(here_);
  });
}

// Between two methods: the newest seed, which this PE begins next, stays.
void pe_seeds::asked_by(int other) {
  requests_.asked_by(other);
  give_all_but(1);
}

void pe_seeds::arrived(const envelope& seed) {
  requests_.arrived_from(static_cast<int>(seed.source));
  push(seed);
}

// Where this PE has none to spare it passes on those of other PEs of the host, one at a time.
void pe_seeds::give_all_but(std::int64_t kept) {
  requests_.serve([&](int asker) {
    if (has_ordered_) show_first();
    if (const std::int64_t spare = own_.size() - kept; spare > 0)
      return send_own(asker, seed_requests::share_of(spare)) > 0;
    envelope seed;
    if (kept != 0 || !bits_.any() || !steal(seed)) return false;
    send(asker, seed);
    return true;
  });
}

std::int64_t pe_seeds::send_own(int asker, std::int64_t count) {
  std::int64_t sent = 0;
  for (envelope seed; sent < count;) {
    const seed_deque::outcome taken = own_.steal(seed);
    if (taken == seed_deque::outcome::empty) break;
    if (taken == seed_deque::outcome::lost) continue;
    send(asker, seed);
    ++sent;
  }
  return sent;
}

// It counts as sent from here before it no longer counts as sent by who made it.
void pe_seeds::send(int asker, envelope& seed) {
  seed.handler = arrival_handler(seed.handler);
  here_.send_copy(asker, seed);
  here_.counters().seeds_given.add();
  here_.count_processed();
}

}  // namespace tri::sched
