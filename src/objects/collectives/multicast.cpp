#include "trireme/detail/objects/multicast.hpp"

#include <atomic>
#include <string>

#include "objects/messages/held_messages.hpp"
#include "objects/messages/reorder_buffer.hpp"
#include "sched/remote/host_records.hpp"

namespace tri::objects {

void check_pe_of_multicast(const sched::pe& here, const sched::envelope& message, int pe) {
  if (pe < 0 || pe >= here.job().pes()) [[unlikely]]
    refuse_arguments(message, ("its route names PE " + std::to_string(pe) + "; there are PEs 0.." +
                               std::to_string(here.job().pes() - 1))
                                  .c_str());
}

void check_route(const sched::pe& here, const sched::envelope& message) {
  const multicast_route route = multicast_route::of(message);
  check_pe_of_multicast(here, message, route.sender);
  if (route.forwarder != no_pe) check_pe_of_multicast(here, message, route.forwarder);
}

void check_list(const sched::envelope& message, std::size_t size) {
  if (size == 0) [[unlikely]]
    refuse_arguments(message, "its list of members is without a number");
}

void count_forwarding(sched::pe& here, bool crossed) {
  here.counters().multicasts_forwarded.add();
  // relaxed: a hint about load. Its sender's host chose this PE, ours counts that, too.
  if (crossed) here.job().own_host().chosen[here.number()].fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t draw_multicast_number(sched::pe& here, int receiver) {
  return pe_objects::of(here).multicasts_to().draw(receiver);
}

bool take_back_multicast_number(sched::pe& here, int receiver, std::uint64_t number) {
  return pe_objects::of(here).multicasts_to().take_back(receiver, number);
}

multicast_turn multicast_arrived(sched::pe& here, int sender, std::uint64_t number) {
  if (number == 0) return {};
  const arrival whose = pe_objects::of(here).multicasts_from().arrived(sender, number);
  return {whose == arrival::early, whose == arrival::now};
}

void keep_multicast(sched::pe& here, int sender, std::uint64_t number, const sched::envelope& message) {
  pe_objects::of(here).multicasts_from().keep(sender, number, message);
  count_held(here);
}

void run_kept_multicasts(sched::pe& here, int sender) {
  auto& from = pe_objects::of(here).multicasts_from();
  for (sched::envelope next; from.next(sender, next);) release_and_run(here, next);
}

}  // namespace tri::objects
