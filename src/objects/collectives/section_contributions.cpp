#include "trireme/detail/objects/section_contribution.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "sched/inbox.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/variables.hpp"

namespace tri::objects {
namespace {

struct numbered_section {
  section_name section;
  std::uint64_t number;
  friend bool operator<(const numbered_section& a, const numbered_section& b) {
    return std::pair(a.section.id, a.number) < std::pair(b.section.id, b.number);
  }
};

// Shared: the initial value of a variable of a PE can be copied.
using parts_of_pe = std::map<numbered_section, std::shared_ptr<section_part>>;

// NOLINTBEGIN(cert-err58-cpp): registration before main, as of all variables of a PE
pe_local<std::uint64_t> sections_made;
pe_local<parts_of_pe> parts;
pe_local<parts_of_pe> parts_of_host;
pe_local<std::map<numbered_section, root_name>> roots;
// NOLINTEND(cert-err58-cpp)

// The ids of one PE follow each other in one of these ranges.
constexpr int bits_of_numbers = 40;

void send_parts(sched::pe& here) {
  for (const auto& [which, part] : std::exchange(*parts, {})) part->send(here, which.section, which.number);
}

void flush_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<>> nothing(message);
  for (const auto& [which, part] : std::exchange(*parts_of_host, {}))
    part->send_to_root(here, which.section, which.number);
}
const std::uint32_t flush_handler =
    register_handler_of<std::tuple<>>(&flush_deliver, "contributions of sections leave their host");

// Through the inbox, as if it came from another PE: behind all that waits there, parts of other PEs among it. In an
// order of messages that is recorded or replayed what a PE sends to itself goes the usual way.
void post_flush(sched::pe& here) {
  const packed_arguments nothing = pack_arguments<std::tuple<>>(here, true, false);
  if (static_cast<const sched::process_runtime&>(here.job()).order() != nullptr)
    return post_packed(here, here.number(), flush_handler, 0, 0, nothing);
  sched::inbox_shared& inbox = *here.record().inbox;
  const sched::inbox_slot slot = claim(inbox);
  sched::envelope message{};
  message.handler = flush_handler;
  message.source = static_cast<std::uint32_t>(here.number());
  nothing.store(message);
  slot.message->assign_message(message);
  here.counters().sent.add();
  publish(inbox, slot);
}

}  // namespace

std::uint64_t draw_section_id() {
  return (static_cast<std::uint64_t>(sched::this_pe().number()) << bits_of_numbers) | ++*sections_made;
}

std::uint64_t sections_made_here() { return *sections_made; }
void begin_sections_behind(std::uint64_t last) { *sections_made = last; }

std::string incomplete_section_contribution() {
  if (roots->empty()) return {};
  const numbered_section& which = roots->begin()->first;
  return describe_section_contribution(which.section, which.number) + " is not complete";
}

int root_pe_of_section(const sched::pe& here, const section_name& section) {
  const std::uint64_t made_by = section.id >> bits_of_numbers;
  return static_cast<int>((made_by + section.id) % static_cast<std::uint64_t>(here.job().pes()));
}

root_name& section_root(const section_name& section, std::uint64_t number) { return (*roots)[{section, number}]; }
void forget_section_root(const section_name& section, std::uint64_t number) { roots->erase({section, number}); }

section_part& section_part_here(sched::pe& here, const section_name& section, std::uint64_t number,
                                os::function_ref<std::unique_ptr<section_part>()> make) {
  if (parts->empty()) pe_objects::of(here).defer([&here] { send_parts(here); });
  std::shared_ptr<section_part>& slot = (*parts)[{section, number}];
  if (slot == nullptr) slot = make();
  return *slot;
}

section_part& section_part_of_host(sched::pe& here, const section_name& section, std::uint64_t number,
                                   os::function_ref<std::unique_ptr<section_part>()> make) {
  if (parts_of_host->empty()) post_flush(here);
  std::shared_ptr<section_part>& slot = (*parts_of_host)[{section, number}];
  if (slot == nullptr) slot = make();
  return *slot;
}

// Sections of one PE take the PEs of a host in turn.
int collector_of_section(const sched::pe& here, const section_name& section) {
  const sched::runtime& job = here.job();
  if (job.pes_of_host() == 1 || job.is_on_own_host(root_pe_of_section(here, section))) return -1;
  return job.first_pe_of_host() + static_cast<int>(section.id % static_cast<std::uint64_t>(job.pes_of_host()));
}

void check_section_collector_here(sched::pe& here, const sched::envelope& message, const section_name& section) {
  if (collector_of_section(here, section) != here.number() ||
      !here.job().is_on_own_host(static_cast<int>(message.source)))
    refuse_arguments(message, "only PEs of a host add up their contributions there");
}

std::string describe_section_contribution(const section_name& section, std::uint64_t number) {
  return fmt::format("contribution {} of a section of {} elements that PE {} has made", number, section.size,
                     section.id >> bits_of_numbers);
}

void throw_no_section() {
  throw std::logic_error("contribute: this section has no members (one that was made by default?)");
}

void refuse_mixed_section(sched::pe& here, const section_name& section, std::uint64_t number) {
  here.job().fail(describe_section_contribution(section, number) +
                  ": its members contribute values of different types, or with different reducers");
}

void check_section_root_here(sched::pe& here, const sched::envelope& message, const section_name& section) {
  if (root_pe_of_section(here, section) != here.number())
    refuse_arguments(message, fmt::format("contributions of this section meet on PE {}, not on PE {}",
                                          root_pe_of_section(here, section), here.number())
                                  .c_str());
}

}  // namespace tri::objects
