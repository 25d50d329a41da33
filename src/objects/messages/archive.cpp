#include "objects/messages/archive.hpp"

#include <fmt/format.h>

#include "sched/envelope.hpp"
#include "sched/handler_table.hpp"
#include "sched/pe.hpp"
#include "sched/runtime.hpp"

namespace tri::objects {

void input_archive::too_short(std::size_t wanted) const {
  throw archive_error(fmt::format("{} bytes are to be read, but the archive has only {} left", wanted, left_));
}

void input_archive::too_many(std::uint64_t elements, std::size_t bytes_each) const {
  throw archive_error(fmt::format("a size is {}, but the archive has only {} bytes left, at least {} for each element",
                                  elements, left_, bytes_each));
}

void refuse_arguments(const sched::envelope& message, const char* why) {
  const sched::runtime& job = sched::this_pe().job();
  job.fail(fmt::format("process {} on {} sent process {} wrong arguments of '{}': {}",
                       job.process_of(static_cast<int>(message.source)),
                       job.name_of_host(job.host_of(static_cast<int>(message.source))), job.process(),
                       sched::handler_table()[message.handler].name, why));
}

}  // namespace tri::objects
