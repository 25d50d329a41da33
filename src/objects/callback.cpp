#include "trireme/callback.hpp"

#include <fmt/format.h>

namespace tri::objects {

void check_callback_handler(sched::pe& here, std::uint32_t handler) {
  const std::size_t handlers = sched::handler_table().size();
  if (handler >= handlers) [[unlikely]]
    here.job().fail(fmt::format("a callback names handler {}; there are 0..{}", handler, handlers - 1));
}

void throw_callback_without_target() {
  throw std::logic_error(
      "tri::callback: it has no target, as it was made by default (tri::to_nothing drops a value on purpose)");
}

}  // namespace tri::objects
