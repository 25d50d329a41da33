#include "trireme/variables.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

namespace tri::objects {
namespace {

std::vector<saved_variable>& locals() {
  static std::vector<saved_variable> registered;
  return registered;
}
struct read_only_variable {
  os::unique_function<void(sched::envelope&)> store;
  sched::handler_function drop;
  sched::handler_function make_remote;
  sched::message_form form;
  os::unique_function<bool()> is_published;
  saved_variable saved;
};
std::vector<read_only_variable>& variables() {
  static std::vector<read_only_variable> registered;
  return registered;
}

using acknowledgement = part_handler<folding<add>, int>;

// Payload of the message: that of the variable; the root of the acknowledgement travels in front, as a message of its
// own from the same sender.
thread_local std::unordered_map<std::uint32_t, root_name> pending_roots;

void root_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<root_name>> arguments(message);
  check_root(here, message, std::get<0>(arguments.values()));
  pending_roots[message.source] = std::get<0>(arguments.values());
}
const std::uint32_t root_handler =
    register_handler_of<std::tuple<root_name>>(&root_deliver, "read-only value announced");

void value_deliver(sched::pe& here, sched::envelope& message) {
  auto announced = pending_roots.extract(message.source);
  if (announced.empty()) refuse_arguments(message, "it was not announced");
  if (message.element >= variables().size())
    refuse_arguments(message, fmt::format("there is no variable {}, only 0..{}", message.element,
                                          static_cast<long>(variables().size()) - 1)
                                  .c_str());
  if (!here.job().is_on_own_host(static_cast<int>(message.source)))
    if (const std::string fault =
            sched::fault_of_arguments(variables()[message.element].form, message.kind, message.argument_bytes());
        !fault.empty())
      refuse_arguments(message, fault.c_str());
  const root_name root = announced.mapped();
  variables()[message.element].store(message);
  acknowledgement::send(here, root, 1, part_header::not_a_base, 1);
}
void value_drop(sched::pe& here, sched::envelope& message) { variables()[message.element].drop(here, message); }
void value_make_remote(sched::pe& here, sched::envelope& message) {
  if (const auto convert = variables()[message.element].make_remote) convert(here, message);
}
const std::uint32_t value_handler =
    sched::register_handler(&value_deliver, "read-only value", nullptr, &value_drop, nullptr, &value_make_remote);

}  // namespace

std::uint32_t register_pe_local(saved_variable saved) {
  locals().push_back(std::move(saved));
  return static_cast<std::uint32_t>(locals().size() - 1);
}
const std::vector<saved_variable>& pe_local_variables() { return locals(); }

void create_pe_locals() {
  struct at_thread_end {
    ~at_thread_end() { destroy_pe_locals(); }
  };
  static thread_local at_thread_end guard;
  static_cast<void>(guard);
  if (pe_local_slots == nullptr) pe_local_slots = new pe_local_slot[locals().size()]{};
}

void destroy_pe_locals() {
  if (pe_local_slots == nullptr) return;
  for (std::size_t i = 0; i < locals().size(); ++i)
    if (pe_local_slots[i].value != nullptr) pe_local_slots[i].destroy(pe_local_slots[i].value);
  delete[] pe_local_slots;
  pe_local_slots = nullptr;
}

std::uint32_t register_read_only(os::unique_function<void(sched::envelope&)> store, sched::handler_function drop,
                                 sched::handler_function make_remote, const sched::message_form& form,
                                 os::unique_function<bool()> is_published, saved_variable saved) {
  variables().push_back({std::move(store), drop, make_remote, form, std::move(is_published), std::move(saved)});
  return static_cast<std::uint32_t>(variables().size() - 1);
}
std::vector<read_only_state> read_only_variables() {
  std::vector<read_only_state> all;
  for (const read_only_variable& each : variables()) all.push_back({each.is_published(), &each.saved});
  return all;
}

void reset_read_only() {
  for (const auto& each : variables()) {
    sched::envelope nothing{};
    each.store(nothing);
  }
}

future<int> publish_read_only(std::uint32_t variable, os::function_ref<packed_arguments(bool)> pack) {
  auto& here = sched::this_pe();
  auto& job = here.job();
  future<int> all_have_it;
  reduction_root<folding<add>, int>::start(
      here, "publication of a read-only variable", 0, job.processes(), all_have_it.get_promise(),
      [&](const root_name& root) {
        for (int process = 0; process < job.processes(); ++process) {
          const int pe = process * job.pes_per_process();
          const bool same_process = process == job.process();
          post_packed(here, pe, root_handler, 0, 0,
                      pack_arguments<std::tuple<root_name>>(here, same_process, false, root));
          post_packed(here, pe, value_handler, 0, variable, pack(same_process));
        }
      });
  return all_have_it;
}

}  // namespace tri::objects
