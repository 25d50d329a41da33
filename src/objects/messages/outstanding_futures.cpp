#include "trireme/detail/objects/outstanding_futures.hpp"

#include <string>
#include <tuple>

#include "trireme/detail/objects/deliver.hpp"
#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {
namespace {

void answered_deliver(sched::pe& here, sched::envelope& message) {
  element_base* const element = find_receiver(here, message);
  if (element == nullptr) return;
  method_scope scope(pe_objects::of(here));
  element->coroutines().wait_ended();
}
void answered_refuse(sched::pe&, sched::envelope&, const std::string&) {}  // it was deleted, and moves nowhere
const std::uint32_t answered_handler =
    register_handler_of<std::tuple<>>(&answered_deliver, "element has its answers", nullptr, &answered_refuse);

}  // namespace

void coroutine_owner::find_outstanding() {
  knows_outstanding_ = true;
  if (element_ == nullptr) return;
  const local_collection& home = element_->home();
  if (home.facts().one_per_pe || home.here().job().processes() == 1 ||
      element_type_of(element_->type()).save == nullptr)
    return;
  outstanding_ = new outstanding_futures(home.facts().id, element_->number());
  outstanding_->wait_for_end(wants_to_leave_);
}

// The element may be anywhere in this process.
void end_outstanding_future(outstanding_futures& outstanding) {
  const outstanding_futures::ended_future ended = outstanding.end_one();
  sched::pe* const here = sched::detail::this_pe;
  if (!ended.is_last_and_awaited || here == nullptr || pe_objects::of(*here).is_ending()) return;
  post_to_element(*here, ended.collection, ended.element, answered_handler, nullptr,
                  [&](bool same_process, bool needs_block) {
                    return pack_arguments<std::tuple<>>(*here, same_process, needs_block);
                  });
}

}  // namespace tri::objects
