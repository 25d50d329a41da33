#include "objects/quiescence.hpp"

#include <memory>
#include <vector>

#include "objects/future.hpp"
#include "trireme/run.hpp"

namespace tri {
namespace objects {
namespace {

// Of PE 0, used by its thread only; shared with its idle hook.
struct requests {
  std::vector<promise<void>> waiting;
};
thread_local std::shared_ptr<requests> of_this_pe;

void request_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<promise<void>>> arguments(message);
  of_this_pe->waiting.push_back(std::get<0>(arguments.values()));
  // seq_cst: a PE that falls asleep either sees this or is counted as idle by our next sweep. pairs: idle.listener
  here.job().own_host().idle_listener.store(1, std::memory_order_seq_cst);
}
const std::uint32_t request_handler =
    register_handler_of<std::tuple<promise<void>>>(&request_deliver, "quiescence request");

}  // namespace

void install_quiescence_service(sched::pe& here) {
  if (here.number() != 0) return;
  auto service = std::make_shared<requests>();
  of_this_pe = service;
  here.add_idle_hook([&here, service] {
    if (service->waiting.empty() || !here.job().all_processed()) return false;
    here.job().own_host().idle_listener.store(0, std::memory_order_seq_cst);
    const auto waiting = std::move(service->waiting);
    service->waiting.clear();
    for (const promise<void>& each : waiting) each.set();
    return true;
  });
}

}  // namespace objects

future<void> quiescence() {
  future<void> result;
  auto& here = sched::this_pe();
  objects::post_packed(here, 0, objects::request_handler, 0, 0,
                       objects::pack_arguments<std::tuple<promise<void>>>(here, true, false, result.get_promise()));
  return result;
}

}  // namespace tri
