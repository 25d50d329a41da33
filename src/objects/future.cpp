#include "trireme/future.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "trireme/detail/objects/ends_elsewhere.hpp"

namespace tri::objects {
namespace {

// A message that keeps a result alive on its way; these stay inside a process.
struct kept_result {
  std::shared_ptr<result_base>* result;  // owned by the message
  result_base::relay_name relay;
  result_table::name name;
};
void post(sched::pe& here, int pe, std::uint32_t handler, std::shared_ptr<result_base> result,
          const result_base::relay_name& relay, result_table::name name) {
  post_packed(here, pe, handler, 0, 0,
              pack_arguments<std::tuple<kept_result>>(
                  here, true, false, kept_result{new std::shared_ptr<result_base>(std::move(result)), relay, name}));
}
struct received_result : unpacked_arguments<std::tuple<kept_result>> {
  using unpacked_arguments::unpacked_arguments;
  ~received_result() { delete facts().result; }
  received_result(const received_result&) = delete;
  received_result& operator=(const received_result&) = delete;
  kept_result& facts() { return std::get<0>(values()); }
  result_base& result() { return **facts().result; }
};
void drop_result(sched::pe&, sched::envelope& message) { received_result last(message); }

// A future has ended elsewhere.
void forget_deliver(sched::pe& here, sched::envelope& message) {
  received_result future(message);
  pe_objects::of(here).results.remove(future.facts().name);
  future.result().part();
}
// At the end of the job, before the table goes or afterwards: then another result may have the name.
void forget_drop(sched::pe& here, sched::envelope& message) {
  received_result future(message);
  const result_table::name name = future.facts().name;
  result_table& results = pe_objects::of(here).results;
  if (results.find(name.slot, name.generation) == &future.result()) results.remove(name);
}
const std::uint32_t forget_handler =
    sched::register_handler(&forget_deliver, "future forgotten", nullptr, &forget_drop);

// On the PE of the result: a wait elsewhere starts or ends.
void ask_deliver(sched::pe&, sched::envelope& message) {
  received_result asked(message);
  asked.result().add_relay(asked.facts().relay);
}
void let_go_deliver(sched::pe&, sched::envelope& message) {
  received_result asked(message);
  asked.result().remove_relay(asked.facts().relay);
}
const std::uint32_t ask_handler = sched::register_handler(&ask_deliver, "future asked for", nullptr, &drop_result);
const std::uint32_t let_go_handler =
    sched::register_handler(&let_go_deliver, "future let go of", nullptr, &drop_result);

// On the PE of the wait.
void ready_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<>> nothing(message);
  auto* const relay = static_cast<result_relay*>(find_result(here, message));
  if (relay == nullptr) return;  // no longer awaited
  method_scope scope(pe_objects::of(here));
  relay->fire();
}
const std::uint32_t ready_handler = sched::register_handler(&ready_deliver, "future ready");

void tell(const result_base::relay_name& relay) {
  sched::pe& here = sched::this_pe();
  post_packed(here, static_cast<int>(relay.pe), ready_handler, 0, pack_name(relay.slot, relay.generation),
              pack_arguments<std::tuple<>>(here, true, false));
}

}  // namespace

void throw_no_such_pe(std::uint32_t pe, int pes) {
  throw std::out_of_range(fmt::format("tri::promise: its future is on PE {}; there are PEs 0..{}", pe, pes - 1));
}

// Its PE had set it before when that was recorded, so it does not wait for this one.
bool is_ready_elsewhere(sched::pe& here, const result_base& result) {
  const bool ready = here.repeatable(result.is_ready() ? 1 : 0) != 0;
  while (ready && !result.is_ready()) std::this_thread::yield();
  return ready;
}

void forget_elsewhere(sched::pe& here, int pe, result_table::name name, std::shared_ptr<result_base> result) {
  if (auto* const at_once = dynamic_cast<ends_elsewhere*>(result.get())) at_once->future_ends();
  post(here, pe, forget_handler, std::move(result), {}, name);
}

void result_base::add_relay(const relay_name& relay) {
  if (is_ready())
    tell(relay);
  else
    relays_.push_back(relay);
}

void result_base::notify_relays() {
  for (const relay_name& relay : std::exchange(relays_, {})) tell(relay);
}

result_relay::result_relay(sched::pe& here, int pe_of_result, std::shared_ptr<result_base> result)
    : awaited_result(&kind_of_result<result_relay>),
      here_(here),
      pe_of_result_(pe_of_result),
      result_(std::move(result)) {
  result_->begin_relay(*this);
  name_ = pe_objects::of(here).results.add(*this);
  post(here, pe_of_result_, ask_handler, result_,
       {static_cast<std::uint32_t>(here.number()), name_.slot, name_.generation}, {});
}

// The result is destroyed on its own PE, for it may have to notify others there.
result_relay::~result_relay() {
  if (waiter_ != nullptr) waiter_->part();
  result_->end_relay();
  if (!abandoned_) pe_objects::of(here_).results.remove(name_);
  sched::pe* const here = sched::detail::this_pe;
  if (here != nullptr && !result_->is_abandoned())
    post(*here, pe_of_result_, let_go_handler, std::move(result_),
         {static_cast<std::uint32_t>(here_.number()), name_.slot, name_.generation}, {});
}

// Its own PE describes the result.
std::string result_relay::describe() const { return fmt::format("a future that PE {} has made", pe_of_result_); }

}  // namespace tri::objects
