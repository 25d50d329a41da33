#include "coll/plan_run.hpp"

#include <algorithm>

namespace tri::coll {

plan_run::plan_run(const plan& of, operation_table& shared, entry_order& order, std::int32_t first_rank,
                   std::uint32_t members, std::uint64_t operation, std::uint64_t asked, plan_driver& driver)
    : steps_(of),
      shared_(shared),
      order_(order),
      first_rank_(first_rank),
      members_(members),
      operation_(operation),
      asked_(asked),
      driver_(driver) {
  order_.expect(shared_, operation_);
}

bool plan_run::advance(bool helps, std::size_t most_steps) {
  bool worked = false;
  if (state_ == state::entering && enter()) {
    state_ = state::running;
    worked = true;
  }
  if (state_ == state::running) {
    for (std::size_t ended = 1; ended > 0 && most_steps > 0; most_steps -= ended) {
      ended = do_steps(most_steps);
      if (ended == 0 && helps && !steps_.has_failed()) ended = help(most_steps);
      if (ended > 0) worked = true;
    }
    if (steps_.is_over() && declined_ == steps_.has_failed()) {
      leave();
      worked = true;
    }
  }
  if (state_ == state::draining && record_->is_left_by_all()) {
    depart();
    worked = true;
  }
  return worked;
}

// False: an earlier operation has not ended everywhere.
bool plan_run::enter() {
  if (!order_.may_enter(shared_, operation_)) return false;
  auto [record, is_busy] = shared_.find(operation_);
  if (is_busy) return false;
  if (record == nullptr) {
    void* const memory = driver_.allocate_record(operation_record::size_for(members_));
    operation_record* const made = operation_record::create(memory, members_, asked_);
    record = shared_.add(operation_, made).record;
    if (record != made) driver_.release_record(memory);
  }
  order_.remove(shared_, operation_);
  record_ = record;
  // A failure that is known is there before the buffers are, which may be null then.
  operation_record::buffers own;
  if (record_->asked() != asked_)
    record_->fail(failure::different_arguments);
  else if (!driver_.open(own))
    record_->fail(failure::lost);
  record_->enter(own_member(), own);
  driver_.wake_others();
  return true;
}

void plan_run::fail() {
  steps_.fail();
  record_->fail(failure::lost);
  driver_.wake_others();
}

// One pass over the steps under way. How many have ended: then others may begin.
std::size_t plan_run::do_steps(std::size_t most) {
  why_failed_ = record_->why_failed();
  if (why_failed_ != failure::none) steps_.fail();
  if (steps_.has_failed() && !declined_) decline_the_rest();
  while (const auto step = steps_.next()) under_way_.push_back(*step);
  std::size_t ended = 0;
  std::erase_if(under_way_, [&](std::uint32_t index) {
    if (ended == most || !try_step(index)) return false;
    steps_.ended(index);
    ++ended;
    return true;
  });
  return ended;
}

// After a failure: steps inside the host are not done, and messages that have not begun are declined.
void plan_run::decline_the_rest() {
  declined_ = true;
  std::erase_if(under_way_, [this](std::uint32_t index) {
    const bool is_open = steps_.steps_of().steps[index].is_message() && is_begun(index);
    if (!is_open) steps_.ended(index);
    return !is_open;
  });
  const std::vector<step>& all = steps_.steps_of().steps;
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    if (!all[index].is_message() || is_begun(index)) continue;
    steps_.begin_declined();
    mark_begun(index);
    driver_.decline_message(index, all[index]);
    under_way_.push_back(index);
  }
}

bool plan_run::is_begun(std::uint32_t index) const { return !is_message_begun_.empty() && is_message_begun_[index]; }

void plan_run::mark_begun(std::uint32_t index) {
  if (is_message_begun_.empty()) is_message_begun_.resize(steps_.steps_of().steps.size());
  is_message_begun_[index] = true;
}

// What it uses is there, and what it waits for.
bool plan_run::is_possible(const step& one) const {
  const bool moves = one.bytes > 0;
  if (moves && one.has_source() && !is_there(one.source)) return false;
  if (moves && one.has_target() && !is_there(one.target)) return false;
  return one.kind != step_kind::wait || record_->has_reached(member_of(one.peer), one.counter, one.value);
}

// Inside the host.
void plan_run::perform(const step& one) {
  switch (one.kind) {
    case step_kind::copy:
      return driver_.copy(address_of(one.source), address_of(one.target), one.bytes);
    case step_kind::reduce_left:
    case step_kind::reduce_right:
      return driver_.reduce(one.kind, address_of(one.source), address_of(one.target), one.bytes);
    case step_kind::signal:
      record_->signal(member_of(one.peer), one.counter);
      return driver_.wake_others();
    default:
      return;
  }
}

bool plan_run::try_step(std::uint32_t index) {
  const step& one = steps_.steps_of().steps[index];
  if (one.is_message()) return (is_begun(index) || is_possible(one)) && try_message(index, one);
  const std::uint32_t own = own_member();
  if (!is_possible(one)) return record_->state_of(own, index) == step_state::ended;
  if (!record_->claim_step(own, index)) return record_->state_of(own, index) == step_state::ended;
  perform(one);
  record_->end_step(own, index);
  return true;
}

bool plan_run::try_message(std::uint32_t index, const step& message) {
  if (!is_begun(index)) {
    const place& of = message.kind == step_kind::send ? message.source : message.target;
    mark_begun(index);
    driver_.begin_message(index, message, message.bytes > 0 ? address_of(of) : nullptr);
  }
  switch (driver_.test_message(index)) {
    case message_state::under_way:
      return false;
    case message_state::lost:
      if (!steps_.has_failed()) fail();
      return true;
    case message_state::complete:
      break;
  }
  // A step that another rank does may depend on it.
  if (!steps_.has_failed()) {
    record_->end_step(own_member(), index);
    driver_.wake_others();
  }
  return true;
}

std::size_t plan_run::help(std::size_t most) {
  std::size_t ended = 0;
  for (std::uint32_t member = 0; member < members_ && ended < most; ++member)
    if (member != own_member()) ended += help_member(member, most - ended);
  return ended;
}

// Steps depend on earlier ones only, so one pass does all that are possible.
std::size_t plan_run::help_member(std::uint32_t member, std::size_t most) {
  const operation_record::buffers* const theirs = record_->buffers_of(member);
  if (theirs == nullptr || theirs->steps == nullptr) return 0;
  const auto is_ended = [&](std::uint32_t step) { return record_->state_of(member, step) == step_state::ended; };
  if (first_open_.empty()) first_open_.resize(members_);
  std::uint32_t& first = first_open_[member];
  while (first < theirs->step_count && record_->state_of(member, first) != step_state::open) ++first;
  if (first == theirs->step_count) return 0;
  const plan* const their_plan = driver_.plan_of(first_rank_ + static_cast<std::int32_t>(member));
  // Another number of steps: that rank called with other arguments than this one, which MPI calls erroneous.
  if (their_plan == nullptr || their_plan->steps.size() != theirs->step_count) return 0;
  std::size_t ended = 0;
  for (std::uint32_t index = first; index < theirs->step_count && ended < most; ++index) {
    const step& one = their_plan->steps[index];
    if (one.is_message() || record_->state_of(member, index) != step_state::open) continue;
    if (!std::ranges::all_of(their_plan->dependencies_of(index), is_ended) || !is_possible(one)) continue;
    if (!record_->claim_step(member, index)) continue;
    perform(one);
    record_->end_step(member, index);
    driver_.wake_others();
    ++ended;
  }
  return ended;
}

void plan_run::leave() {
  const bool failed = steps_.has_failed();
  if (!failed) driver_.close();
  record_->leave();
  driver_.wake_others();
  if (failed)
    state_ = state::draining;
  else
    depart();
}

void plan_run::depart() {
  state_ = state::over;
  if (!record_->depart()) return;
  for (std::uint32_t member = 0; member < members_; ++member) driver_.release(*record_->buffers_of(member));
  shared_.remove(operation_);
  driver_.release_record(record_);
  driver_.wake_others();
}

// Not those of a rank that has failed as it entered.
bool plan_run::is_there(const place& of) const {
  const operation_record::buffers* const owner = record_->buffers_of(member_of(of.rank));
  return owner != nullptr && owner->steps != nullptr;
}

std::byte* plan_run::address_of(const place& of) const {
  const operation_record::buffers& owner = *record_->buffers_of(member_of(of.rank));
  std::byte* const start = of.where == buffer::input    ? owner.input
                           : of.where == buffer::output ? owner.output
                                                        : owner.scratch;
  return start == nullptr ? nullptr : start + of.offset;
}

}  // namespace tri::coll
