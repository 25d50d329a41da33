#include "objects/collectives/quiescence.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sched/remote/global_counts.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

namespace tri {
namespace objects {
namespace {

constexpr std::int64_t first_pause_ns = 20'000;
constexpr std::int64_t longest_pause_ns = 2'000'000;

// Of PE 0, used by its thread only; shared with its idle hook.
struct requests {
  std::vector<promise<void>> waiting;
  // With several hosts: between two questions to all of them.
  std::int64_t pause_ns = first_pause_ns;
  bool pausing = false;
};
thread_local std::shared_ptr<requests> of_this_pe;

void request_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<promise<void>>> arguments(message);
  of_this_pe->waiting.push_back(std::get<0>(arguments.values()));
  here.job().own_host().listener.listen(0);
}
const std::uint32_t request_handler =
    register_handler_of<std::tuple<promise<void>>>(&request_deliver, "quiescence request");

void answer(sched::pe& here, requests& service) {
  here.job().own_host().listener.stop();
  service.pause_ns = first_pause_ns;
  for (const promise<void>& each : std::exchange(service.waiting, {})) each.set();
}

void pause_deliver(sched::pe& here, sched::envelope&) {
  sched::do_not_count_processed(here);
  of_this_pe->pausing = false;
}
const std::uint32_t pause_handler =
    sched::with_role(sched::message_role::service, sched::register_handler(&pause_deliver, "quiescence pause"));

// Other hosts do not report when they become idle: query again, at growing intervals while there is work.
void pause(sched::pe& here, requests& service) {
  service.pausing = true;
  sched::envelope alarm{};
  alarm.handler = pause_handler;
  alarm.kind = sched::payload_kind::direct;
  here.send_later(service.pause_ns, alarm);
  sched::do_not_count_sent(here);
  service.pause_ns = std::min(2 * service.pause_ns, longest_pause_ns);
}

}  // namespace

void install_quiescence_service(sched::pe& here) {
  if (here.number() != 0) return;
  auto service = std::make_shared<requests>();
  of_this_pe = service;
  here.add_idle_hook([&here, service] {
    if (service->waiting.empty()) return false;
    if (here.job().hosts() == 1) {
      if (!here.job().counts_of_host().all_processed()) return false;
      answer(here, *service);
      return true;
    }
    if (service->pausing || here.global_counts().is_running()) return false;
    here.global_counts().begin(here, [&here, service](const sched::message_counts& counts) {
      if (counts.all_processed())
        answer(here, *service);
      else
        pause(here, *service);
    });
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
