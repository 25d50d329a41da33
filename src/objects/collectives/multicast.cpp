#include "objects/collectives/multicast.hpp"

#include <string>

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
  if (route.meeting != no_pe) check_pe_of_multicast(here, message, route.meeting);
}

void check_list(const sched::envelope& message, std::size_t size) {
  if (size == 0) [[unlikely]]
    refuse_arguments(message, "its list of members is without a number");
}

}  // namespace tri::objects
