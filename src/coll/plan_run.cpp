#include "coll/plan_run.hpp"

namespace tri::coll {

plan_run::plan_run(const plan& of, control_block& shared, std::int32_t first_rank, std::uint64_t operation,
                   plan_driver& driver, bool asked_to_fail)
    : steps_(of),
      shared_(shared),
      first_rank_(first_rank),
      operation_(operation),
      driver_(driver),
      asked_to_fail_(asked_to_fail) {}

bool plan_run::advance(std::size_t most_steps) {
  bool worked = false;
  if (state_ == state::entering && shared_.may_enter(operation_)) {
    enter();
    state_ = state::running;
    worked = true;
  }
  if (state_ == state::running) {
    for (std::size_t ended = 1; ended > 0 && most_steps > 0; most_steps -= ended) {
      ended = do_steps(most_steps);
      if (ended > 0) worked = true;
    }
    if (steps_.is_over() && declined_ == steps_.has_failed()) {
      leave();
      worked = true;
    }
  }
  if (state_ == state::draining && shared_.is_left_by_all(operation_)) {
    state_ = state::over;
    worked = true;
  }
  return worked;
}

void plan_run::enter() {
  control_block::buffers own;
  const bool has_memory = driver_.open(own);
  shared_.enter(member_of(steps_.steps_of().rank), operation_, own);
  driver_.wake_others();
  if (!has_memory || asked_to_fail_) fail();
}

void plan_run::fail() {
  steps_.fail();
  shared_.fail(operation_);
  driver_.wake_others();
}

// One pass over the steps under way. How many have ended: then others may begin.
std::size_t plan_run::do_steps(std::size_t most) {
  if (!steps_.has_failed() && shared_.has_failed(operation_)) steps_.fail();
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
    begin(index, nullptr);
    under_way_.push_back(index);
  }
}

bool plan_run::is_begun(std::uint32_t index) const { return !is_message_begun_.empty() && is_message_begun_[index]; }

void plan_run::begin(std::uint32_t index, std::byte* at) {
  const std::vector<step>& all = steps_.steps_of().steps;
  if (is_message_begun_.empty()) is_message_begun_.resize(all.size());
  is_message_begun_[index] = true;
  driver_.begin_message(index, all[index], at);
}

bool plan_run::try_step(std::uint32_t index) {
  const step& one = steps_.steps_of().steps[index];
  if (one.is_message() && is_begun(index)) return try_message(index, one);
  if ((one.has_source() && !is_there(one.source)) || (one.has_target() && !is_there(one.target))) return false;
  switch (one.kind) {
    case step_kind::send:
    case step_kind::receive:
      return try_message(index, one);
    case step_kind::copy:
      driver_.copy(address_of(one.source), address_of(one.target), one.bytes);
      return true;
    case step_kind::reduce_left:
    case step_kind::reduce_right:
      driver_.reduce(one.kind, address_of(one.source), address_of(one.target), one.bytes);
      return true;
    case step_kind::signal:
      shared_.signal(operation_, member_of(one.peer), one.counter);
      driver_.wake_others();
      return true;
    case step_kind::wait:
      return shared_.has_reached(operation_, member_of(one.peer), one.counter, one.value);
    case step_kind::join:
      return true;
  }
  return true;
}

bool plan_run::try_message(std::uint32_t index, const step& message) {
  if (!is_begun(index)) begin(index, address_of(message.kind == step_kind::send ? message.source : message.target));
  switch (driver_.test_message(index)) {
    case message_state::under_way:
      return false;
    case message_state::lost:
      if (!steps_.has_failed()) fail();
      [[fallthrough]];
    case message_state::complete:
      return true;
  }
  return true;
}

void plan_run::leave() {
  const bool failed = steps_.has_failed();
  if (!failed) driver_.close();
  state_ = failed ? state::draining : state::over;
  if (!shared_.leave(operation_)) return;
  for (std::uint32_t member = 0; member < shared_.members(); ++member)
    driver_.release(*shared_.buffers_of(member, operation_));
  shared_.open_for_next(operation_);
  driver_.wake_others();
}

bool plan_run::is_there(const place& of) const { return shared_.buffers_of(member_of(of.rank), operation_) != nullptr; }

std::byte* plan_run::address_of(const place& of) const {
  const control_block::buffers& owner = *shared_.buffers_of(member_of(of.rank), operation_);
  std::byte* const start = of.where == buffer::input    ? owner.input
                           : of.where == buffer::output ? owner.output
                                                        : owner.scratch;
  return start == nullptr ? nullptr : start + of.offset;
}

}  // namespace tri::coll
