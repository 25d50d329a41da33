#include <fmt/format.h>

#include <map>

#include "trireme/section.hpp"
#include "trireme/variables.hpp"

namespace tri::objects {
namespace {

// NOLINTNEXTLINE(cert-err58-cpp): registration before main, as of all variables of a PE
pe_local<std::map<std::uint64_t, callback_section>> sections;

}  // namespace

void keep_callback_section(const section_name& name, const callback_section& facts) {
  if (name.size == 0) throw std::logic_error("tri::to: this section has no members (one that was made by default?)");
  sections->try_emplace(name.id, facts);
}

const callback_section& find_callback_section(sched::pe& here, std::uint64_t id) {
  const auto found = sections->find(id);
  if (found == sections->end())
    here.job().fail(fmt::format("a callback names section {}, which PE {} does not know", id, here.number()));
  return found->second;
}

}  // namespace tri::objects
