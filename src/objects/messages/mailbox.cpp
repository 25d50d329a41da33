#include "trireme/mailbox.hpp"

#include <stdexcept>

#include "config/configuration.hpp"
#include "objects/messages/local_mailbox.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri {
namespace {

// This PE's part of a mailbox, as an element.
element_ref<objects::local_mailbox> own_part_of(std::uint32_t id, const sched::pe& here) {
  return {id, static_cast<std::uint64_t>(here.number())};
}

}  // namespace

void mailbox::send_contents(sched::pe& here, int to, int tag, objects::message_contents contents) const {
  if (auto* const own_part = local(here, call::made))
    own_part->send(to, tag, std::move(contents));
  else
    own_part_of(id_, here).send<&objects::local_mailbox::send_late>(to, tag, contents.type, std::move(contents.data));
}

future<received_message> mailbox::receive(int source, int tag) const {
  auto& here = sched::this_pe();
  auto state = std::make_shared<objects::receive_state>(id_, objects::pattern_of(here, source, tag));
  objects::receive_state& waiting = *state;
  future<received_message> result(std::move(state));
  if (auto* const own_part = local(here, call::made)) {
    own_part->post(waiting);
  } else {
    const auto name = result.get_promise();
    own_part_of(id_, here).send<&objects::local_mailbox::post_late>(name.slot, name.generation);
  }
  return result;
}

std::optional<message_info> mailbox::probe(int source, int tag) const {
  auto& here = sched::this_pe();
  const auto wanted = objects::pattern_of(here, source, tag);
  auto* const own_part = local(here, call::probes);
  return own_part == nullptr ? std::nullopt : own_part->probe(wanted);
}

std::optional<mailbox_memory> mailbox::take_memory(std::uint64_t bytes) const {
  auto& here = sched::this_pe();
  auto* const own_part = local(here, call::probes);
  if (own_part == nullptr || !own_part->take_memory(bytes)) return std::nullopt;
  return mailbox_memory(id_, here.number(), bytes);
}

mailbox_statistics mailbox::statistics() const {
  auto* const own_part = own_part_of(id_, sched::this_pe()).local();
  return own_part == nullptr ? mailbox_statistics{} : own_part->statistics();
}

objects::local_mailbox* mailbox::local(sched::pe& here, call what) const {
  if (id_ == 0) throw std::logic_error("tri::mailbox: this handle names no mailbox; make one with tri::make_mailbox");
  objects::local_mailbox* const own_part = own_part_of(id_, here).local();
  if (own_part != nullptr && !own_part->has_late_calls()) [[likely]]
    return own_part;
  if (what == call::made) ++objects::pe_objects::of(here).late_mailbox_calls(id_);
  return nullptr;
}

mailbox make_mailbox(const mailbox_options& options) {
  const objects::mailbox_limits limits{
      .memory = options.memory.value_or(sched::this_pe().job().values().mailbox_memory),
      .eager_bytes = options.eager_bytes,
      .credits = options.credits.value_or(sched::this_pe().job().values().mailbox_credits)};
  return mailbox(make_group<objects::local_mailbox>(limits).id());
}

}  // namespace tri
