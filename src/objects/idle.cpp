#include "trireme/idle.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "objects/idle_service.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri {
namespace {

// Of a PE, during one job; shared with its idle hook. The list may grow while its functions run.
struct idle_functions {
  const sched::pe* owner;
  std::uint64_t job;
  std::vector<std::shared_ptr<objects::idle_function>> all;
};
thread_local std::shared_ptr<idle_functions> of_this_pe;

bool call(sched::pe& here, objects::idle_function& function) {
  try {
    objects::method_scope scope(objects::pe_objects::of(here));
    return function.call();
  } catch (const std::exception& error) {
    here.job().fail(std::string("an exception left a function of tri::call_when_idle: ") + error.what());
  } catch (...) {
    here.job().fail("an exception that is not a std::exception left a function of tri::call_when_idle");
  }
}

bool call_all(sched::pe& here, idle_functions& functions) {
  bool worked = false;
  for (std::size_t i = 0; i < functions.all.size() && !here.job().stopping(); ++i) {
    const std::shared_ptr<objects::idle_function> each = functions.all[i];  // it may end itself
    if (each->is_wanted) worked |= call(here, *each);
  }
  std::erase_if(functions.all, [](const auto& each) { return !each->is_wanted; });
  return worked;
}

}  // namespace

namespace objects {

// Destructors of what they hold may do anything, so nothing is half done when they run.
void end_idle_service() {
  if (const auto ending = std::exchange(of_this_pe, nullptr)) std::exchange(ending->all, {}).clear();
}

}  // namespace objects

idle_callback call_when_idle(os::unique_function<bool()> function) {
  sched::pe& here = sched::this_pe();
  if (of_this_pe == nullptr || of_this_pe->owner != &here || of_this_pe->job != here.job().number()) {
    of_this_pe = std::make_shared<idle_functions>(idle_functions{&here, here.job().number(), {}});
    here.add_idle_hook([&here, functions = of_this_pe] { return call_all(here, *functions); });
  }
  auto made = std::make_shared<objects::idle_function>();
  made->call = std::move(function);
  of_this_pe->all.push_back(made);
  return idle_callback(made);
}

}  // namespace tri
