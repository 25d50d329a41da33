// What a rank does while it waits or polls: it makes its own progress, helps other ranks with copies and receives,
// offers its core, sleeps. arena/wait_policy.hpp decides between the last two.
#include <sched.h>

#include <algorithm>
#include <optional>

#include "mpi/engine/engine.hpp"
#include "mpi/engine/rank_trace.hpp"

namespace tri::mpi {
namespace {

// How often a waiting rank polls what costs more than its own inbox and the board.
constexpr std::uint32_t idle_steps_between_polls = 8;
constexpr std::uint32_t idle_steps_between_library_polls = 64;
constexpr std::int64_t longest_sleep_beside_others_ns = 100'000;
// Passive targets, for example, are served by the MPI library alone, and it does not ring.
constexpr std::int64_t longest_sleep_beside_library_ns = 1'000'000;

}  // namespace

bool engine::progress(bool asks_others) {
  bool worked = own_.inbox.has_message() && drain(own_);
  if (finish_copies()) worked = true;
  if (advance_operations(asks_others || (options_.several_hosts && awaited_ > 0))) worked = true;
  // One chunk at a time: the program has other work.
  if (!worked) worked = help_with_copies([] { return false; });
  return worked || help_others();
}

// What costs more than a poll of our own inbox and the board.
bool engine::help_others() {
  if (++idle_steps_ % idle_steps_between_polls != 0) return false;
  const bool worked = board_.progress().help();
  if (idle_steps_ % idle_steps_between_library_polls == 0) poll_library();
  return worked;
}

// Without the API mutex: the library may make us wait for another thread of ours inside it.
void engine::poll_library() {
  if (library_progress_ == nullptr) return;
  if (api_mutex_ != nullptr) api_mutex_->unlock();
  library_progress_();
  if (api_mutex_ != nullptr) api_mutex_->lock();
}

bool engine::progress_for(endpoint& owner) {
  if (&owner == &own_ || !drain(owner)) return false;
  endpoint_counters::add(own_.counters.helped_ranks);
  finish_copies();
  return true;
}

// ---- waiting

void engine::begin_wait(bool is_of_program) {
  if (waits_++ == 0) {
    withdraw_progress();  // we make our own progress now
    if (options_.measures_time) wait_began_ = os::ticks();
    if (rank_trace::current != nullptr) rank_trace::current->waits();
  }
  if (is_of_program && wait_observer_ != nullptr) wait_observer_->wait_begins();
  waiting_.busy();
}

void engine::end_wait(bool is_of_program) {
  publish_activity(activity::busy);
  shared_copies_ = {};  // what is still on the board now also waits for the program
  if (is_of_program && wait_observer_ != nullptr) wait_observer_->wait_ends();
  if (--waits_ > 0) return;
  if (idle_.is_idle()) idle_.ended(idle_.last_look());
  if (rank_trace::current != nullptr) rank_trace::current->resumes();
  if (options_.measures_time) endpoint_counters::add(own_.counters.waited_ticks, os::ticks() - wait_began_);
}

void engine::offer_progress() {
  if (!options_.received_by_others) return;
  board_.progress().offer_progress();
  offers_progress_ = true;
}

void engine::withdraw_progress() {
  if (!offers_progress_) return;
  board_.progress().withdraw_progress();
  offers_progress_ = false;
}

// The ranks that far ones would help. Reads a line of each, so it is called for such work only.
domain_activity engine::activity_of(std::int32_t domain) const {
  domain_activity found;
  for (const endpoint* const each : endpoints_) {
    if (each->domain != domain) continue;
    const activity now = each->now.load(std::memory_order_relaxed);  // relaxed: a hint
    if (now == activity::busy) ++found.busy;
    if (now == activity::looking) ++found.looking;
  }
  return found;
}

// A rank always copies its own messages: no other may help.
bool engine::takes_part_in_copies_of(std::uint32_t poster) {
  if (!has_domains_) return true;
  const std::int32_t domain = endpoints_[poster]->domain;
  if (!is_far(domain, own_.domain) || open_sends_[poster] > 0 || helps_far(options_.help, activity_of(domain)))
    return true;
  endpoint_counters::add(own_.counters.refused);
  refused_ = true;
  return false;
}

template <class Again>
bool engine::help_with_copies(Again&& again) {
  refused_ = false;
  return board_.help(again, [this](std::uint32_t poster) {
    const bool takes_part = takes_part_in_copies_of(poster);
    if (takes_part) publish_activity(activity::busy);
    return takes_part;
  }) > 0;
}

// Leaves a task as soon as a message arrives for us (Ouyang 2022, 2.4.1).
bool engine::help_one_rank() {
  const std::uint64_t began = options_.measures_time ? os::ticks() : 0;
  const bool worked = help_with_copies([this] { return !own_.inbox.has_message(); }) || help_others();
  if (worked && options_.measures_time) endpoint_counters::add(own_.counters.helped_ticks, os::ticks() - began);
  return worked;
}

bool engine::step_of_wait() {
  bool worked = own_.inbox.has_message() && drain(own_);
  if (open_copies_ > 0) worked = finish_copies();
  if (advance_operations()) worked = true;
  if (!worked) worked = help_one_rank();
  if (worked) {
    waiting_.busy();
    if (idle_.is_idle()) idle_.ended(idle_.last_look());
    return false;
  }
  publish_activity(activity::looking);
  const std::uint64_t now = os::ticks();
  idle_.nothing_found(now);
  if (rank_trace::current != nullptr) rank_trace::current->idle(now);
  switch (waiting_.next(now)) {
    case arena::wait_step::poll:
      if (api_mutex_ != nullptr)
        yield();
      else
        os::cpu_relax();
      return false;
    case arena::wait_step::yield:
      yield(waiting_);
      return false;
    case arena::wait_step::sleep:
      break;
  }
  return true;
}

void engine::polled(bool found) {
  if (found) {
    polling_.busy();
    return;
  }
  const std::uint64_t now = os::ticks();
  const std::uint64_t outside = now - last_poll_;
  if (outside > polling_ticks_)
    polling_.busy();
  else
    pace_.looked(outside);
  if (options_.oversubscribed && pace_.works_between()) {
    if (pace_.is_time_to_offer(now)) {
      yield();
      const std::uint64_t after = os::ticks();
      pace_.offered(after, after - now < vain_yield_ticks_);
    }
    last_poll_ = os::ticks();
    return;
  }
  switch (polling_.next(now)) {
    case arena::wait_step::poll:
      break;
    case arena::wait_step::yield:
      yield(polling_);
      break;
    case arena::wait_step::sleep:
      nap();
      break;
  }
  last_poll_ = os::ticks();
}

void engine::yield(arena::wait_policy& policy) {
  const std::uint64_t began = os::ticks();
  yield();
  const std::uint64_t took = os::ticks() - began;
  if (took < vain_yield_ticks_)
    policy.was_vain();
  else if (cores_ && took > expensive_yield_ticks_ && !has_its_share_of_cores())
    policy.was_expensive();
}

// Until a message or the completion of a request wakes us, and not for long: what the program polls for may arrive
// without a wake-up.
void engine::nap() {
  const std::uint32_t heard = own_.inbox.bell.listen();
  if (!own_.inbox.prepare_sleep()) {
    if (!own_.inbox.has_message()) yield();
    return;
  }
  if (!advance_operations(true) && !board_.has_work_before_sleep()) sleep(heard, true);
  own_.inbox.woken();
  if (sleepers_ > 0) own_.inbox.bell.ring();  // as in a wait
}

// Of all ranks; 0 when it cannot be known.
std::int64_t engine::used_by_all_ns() const {
  std::int64_t used = 0;
  for (const endpoint* const each : endpoints_) {
    const std::optional<std::int64_t> time = processor_time_ns(each->process);
    if (!time) return 0;
    used += *time;
  }
  return used;
}

bool engine::has_its_share_of_cores() {
  const std::int64_t now = os::now_ns();
  if (cores_->is_due(now)) cores_->judge(now, used_by_all_ns());
  return cores_->are_enough();
}

// Yields the core to any runnable thread, and the API mutex to the other threads of the process.
void engine::yield() {
  const bool gives_mutex = api_mutex_ != nullptr && !keeps_api_mutex_;
  if (gives_mutex) api_mutex_->unlock();
  sched_yield();
  if (gives_mutex) api_mutex_->lock();
}

void engine::sleep(std::uint32_t heard, bool asks_others) {
  endpoint_counters::add(own_.counters.sleeps);
  own_.lock.lock();
  own_.inbox.publish_read();
  own_.lock.unlock();
  ++sleepers_;
  publish_activity(activity::asleep);
  idle_.publish();
  const std::uint64_t fell_asleep = options_.measures_time ? os::ticks() : 0;
  // Our messages are published before we check which ranks offer progress: either we see that a rank has returned to
  // computing, and sleep only briefly, or that rank sees our message. A fence here, so that publishing needs none; a
  // computing rank pays nothing on x86, where its part is loads. pairs: engine.leave
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool others = asks_others || board_.progress().any_offered_before_sleep();
  if (api_mutex_ != nullptr) api_mutex_->unlock();
  if (library_progress_ != nullptr) library_progress_();
  own_.inbox.bell.sleep(heard, others                         ? longest_sleep_beside_others_ns
                               : library_progress_ != nullptr ? longest_sleep_beside_library_ns
                                                              : -1);
  if (api_mutex_ != nullptr) api_mutex_->lock();
  --sleepers_;
  const std::uint64_t now = os::ticks();
  if (idle_.is_idle()) idle_.nothing_found(now);
  if (options_.measures_time) endpoint_counters::add(own_.counters.slept_ticks, now - fell_asleep);
}

}  // namespace tri::mpi
