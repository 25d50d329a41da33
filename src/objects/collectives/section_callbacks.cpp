#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "trireme/section.hpp"
#include "trireme/variables.hpp"

namespace tri::objects {
namespace {

struct known_sections {
  std::map<std::uint64_t, callback_section> by_id;
  std::map<std::pair<std::uint32_t, std::vector<std::uint64_t>>, std::uint64_t> ids;  // by collection and members

  template <class Archive>
  void serialize(Archive& archive) {
    archive(by_id, ids);
  }
  void on_shrink(known_sections& leaving) {
    by_id.merge(leaving.by_id);
    ids.merge(leaving.ids);
  }
};
// Checkpoints contain them, as elements may keep callbacks.
// NOLINTNEXTLINE(cert-err58-cpp): registration before main, as of all variables of a PE
pe_local<known_sections> sections(saved);

}  // namespace

std::uint64_t keep_callback_section(const section_name& name, const callback_section& facts) {
  if (name.size == 0) throw std::logic_error("tri::to: this section has no members (one that was made by default?)");
  if (sections->by_id.contains(name.id)) return name.id;
  const auto [same, is_new] = sections->ids.try_emplace({facts.collection, facts.members}, name.id);
  if (is_new) sections->by_id.emplace(name.id, facts);
  return same->second;
}

// With fewer PEs than there were before a restart, another one has the sections of a PE that is no more.
const callback_section* find_callback_section(sched::pe& here, std::uint64_t id, std::uint64_t asked_before) {
  const auto found = sections->by_id.find(id);
  if (found != sections->by_id.end()) return &found->second;
  if (asked_before + 1 >= static_cast<std::uint64_t>(here.job().pes()))
    here.job().fail(fmt::format("a callback names section {}, which no PE knows", id));
  return nullptr;
}

}  // namespace tri::objects
