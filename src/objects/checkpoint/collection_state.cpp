// What checkpoints need of a collection on one PE: its elements as records, and back. While no message is in flight,
// most of a collection_manager is as in the beginning: broadcasts are delivered everywhere, no element is on its way.
// So the numbers of broadcasts and contributions begin again at 0 after a restart.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "objects/checkpoint/pe_state.hpp"
#include "objects/collection_manager.hpp"
#include "objects/messages/awaited_messages.hpp"
#include "objects/messages/local_mailbox.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/sched/handler_table.hpp"

namespace tri::objects {
namespace {

std::string describe_wait(element_base& element) {
  if (element.has_awaited())
    for (const waiting_coroutine& waiting : element.awaited().waiters())
      for (const message_waiter* const waiter : waiting.wanted)
        if (!waiter->satisfied())
          return fmt::format("a coroutine of it waits for {} with reference number {}",
                             sched::handler_table()[waiter->key().method].name, waiter->key().reference);
  return element.waits_for_results() ? "a coroutine of it waits for a future" : "a coroutine of it has not ended";
}

// Writes the messages that an element keeps. It keeps them, also when there is no memory for an archive.
void write_unused_messages(sched::pe& here, element_base& element, output_archive& archive) {
  std::vector<awaited_messages::kept> kept;
  if (element.has_awaited()) kept = element.awaited().take_messages();
  archive(static_cast<std::uint64_t>(kept.size()));
  std::exception_ptr error;
  for (awaited_messages::kept& each : kept) {
    try {
      make_carried_portable(here, each.message);
      archive(each.key.method, each.key.reference);
      archive.write(&each.message, sizeof each.message);
      if (each.message.kind != sched::payload_kind::direct)
        archive.write(each.message.block().block, each.message.block().bytes);
    } catch (...) {
      error = std::current_exception();
    }
    element.awaited().arrive(each.key, each.message);  // no coroutine waits for it
  }
  if (error != nullptr) std::rethrow_exception(error);
}

// Empty: the element can be written.
std::string obstacle_of(element_base& element, const element_base* caller) {
  if (dynamic_cast<const local_mailbox*>(&element) != nullptr)
    return "it is a tri::mailbox, which checkpoints do not contain";
  if (const element_type& type = element_type_of(element.type()); type.save == nullptr || type.load == nullptr)
    return fmt::format("its class {} has no serialize function", type.name);
  const coroutine_owner& coroutines = element.coroutines();
  const bool is_caller = &element == caller;
  const bool waits_for_messages = element.has_awaited() && !element.awaited().waiters().empty();
  if (coroutines.count() > (is_caller ? 1 : 0) || waits_for_messages || (!is_caller && coroutines.waits_for_result()))
    return describe_wait(element);
  if (!is_caller && coroutines.has_outstanding_futures()) return "it has made a future and not taken its value";
  std::string obstacle;
  if (element.has_awaited())
    element.awaited().visit_messages([&](const sched::envelope& kept) {
      const sched::handler_row& row = sched::handler_table()[kept.handler];
      if (row.refuse != nullptr)  // its promise would name a future that no later job has
        obstacle = fmt::format("it keeps a '{}' from PE {}, whose caller waits for the answer", row.name, kept.source);
    });
  return obstacle;
}

// The archive fills up with zeros behind the last value (archive.hpp).
bool has_only_zeros_left(input_archive& archive) {
  while (archive.left() != 0) {
    char byte = 0;
    archive.read(&byte, 1);
    if (byte != 0) return false;
  }
  return true;
}

}  // namespace

void check_is_read(input_archive& archive, const std::string& what) {
  const std::size_t left = archive.left();
  if (!has_only_zeros_left(archive))
    throw archive_error(fmt::format("{}: its load() has left {} bytes of what save() wrote", what, left));
}

std::string collection_manager::obstacle_to_checkpoint(const element_base* caller) const {
  for (element_base* const element : local_)
    if (const std::string obstacle = obstacle_of(*element, caller); !obstacle.empty())
      return fmt::format("{} on PE {}: {}", element->describe(), here_.number(), obstacle);
  if (!contributions_.empty()) {
    const auto& [number, part] = *contributions_.begin();
    return fmt::format("contribution {} of {} is not complete: PE {} has it of {} of {} elements", number, name_,
                       here_.number(), part->count, local_.size());
  }
  std::string waiting;
  if (host_contributions_ != nullptr)
    host_contributions_->visit_waiting([&](std::uint64_t number, const auto& sum, std::size_t) {
      waiting = fmt::format("contribution {} of {} is not complete: the host of PE {} has it of {} elements", number,
                            name_, here_.number(), sum->count);
    });
  if (!waiting.empty()) return waiting;
  if (!contribution_roots_.empty())
    return fmt::format("contribution {} of {} is not complete", contribution_roots_.begin()->first, name_);
  if (!pending_inserts_.empty()) return fmt::format("{} is being inserted", describe(pending_inserts_.begin()->first));
  return {};
}

void collection_manager::write_elements(checkpoint_files::state_writer& writer) {
  for (element_base* const element : local_)
    write_record(writer, {record_kind::element, element->type(), facts_.id, element->number()},
                 [&](output_archive& archive) {
                   write_unused_messages(here_, *element, archive);
                   element_type_of(element->type()).save(*element, archive);
                 });
  location_.visit_dead([&](std::uint64_t first, std::uint64_t last) {
    writer.write({record_kind::deleted, 0, facts_.id, first}, &last, sizeof last);
  });
}

void collection_manager::begin_restore(int pes) {
  if (!facts_.shape.dense) return;
  // What contributions_of_hosts() believes of a PE that has elements by the placement; end_restore() says what is so.
  if (std::ranges::find(*initial_routes_, here_.number()) != initial_routes_->end()) reported_watermark_.level = 0;
  // Members of PEs that are no more.
  if (facts_.one_per_pe)
    for (std::uint64_t number = static_cast<std::uint64_t>(pes); number < dense_.size(); ++number)
      if (home_of(number) == here_.number()) restored_elsewhere(number, no_pe);
}

std::unique_ptr<element_base> collection_manager::load_restored(std::uint64_t number, std::uint32_t type,
                                                                input_archive& archive) {
  check_element_type(type);
  std::uint64_t kept_count = 0;
  archive(kept_count);
  archive.check_size(kept_count, sizeof(sched::envelope));
  std::vector<awaited_messages::kept> kept(kept_count);
  for (awaited_messages::kept& each : kept) {
    archive(each.key.method, each.key.reference);
    load_carried_message(archive, each.message);
    each.message.source = static_cast<std::uint32_t>(here_.number());  // its sender may be no more
  }
  current_construction() = {this, number, nullptr};
  const owner_scope before(running_owner);  // element_base sets that of the new element
  std::unique_ptr<element_base> element = element_type_of(type).load(archive);
  check_is_read(archive, element->describe());
  for (awaited_messages::kept& each : kept) element->awaited().arrive(each.key, each.message);
  return element;
}

void collection_manager::install_restored(std::unique_ptr<element_base> element) {
  const std::uint64_t number = element->number();
  if (find(number) != nullptr) throw archive_error(fmt::format("{} is there twice", describe(number)));
  install(std::move(element));
  ++created_;
  if (leader_ != nullptr) return;  // which has the location
  location_actions actions;
  location_.begin_at(number, here_.number(), actions);
  carry_out(number, actions);
}

void collection_manager::restored_elsewhere(std::uint64_t number, pe_number place) {
  if (leader_ != nullptr) return;
  location_actions actions;
  location_.begin_at(number, place, actions);
  carry_out(number, actions);
}

void collection_manager::end_restore() { flush_contributions(); }

}  // namespace tri::objects
