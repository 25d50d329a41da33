#include "objects/messages/archive.hpp"

#include <fmt/format.h>

#include <algorithm>

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

std::uint32_t input_archive::read_choice(std::uint64_t alternatives) {
  std::uint32_t choice = 0;
  read(&choice, sizeof choice);
  if (choice >= alternatives) {
    throw archive_error(fmt::format("the number of an alternative is {}, but there are only {}", choice, alternatives));
  }
  return choice;
}

output_archive::shared_number output_archive::number_of_shared(const void* object) {
  const auto found = std::find(shared_.begin(), shared_.end(), object);
  const auto number = static_cast<std::uint32_t>(found - shared_.begin());
  const bool is_new = found == shared_.end();
  if (is_new) shared_.push_back(object);
  return {number, is_new};
}

const std::shared_ptr<void>* input_archive::shared_of(std::uint32_t number) const {
  if (number < shared_.size()) return &shared_[number];
  if (number == shared_.size()) return nullptr;
  throw archive_error(
      fmt::format("the number of a shared object is {}, but only {} were before it", number, shared_.size()));
}

void refuse_arguments(const sched::envelope& message, const char* why) {
  const sched::runtime& job = sched::this_pe().job();
  job.fail(fmt::format("process {} on {} sent process {} wrong arguments of '{}': {}",
                       job.process_of(static_cast<int>(message.source)),
                       job.name_of_host(job.host_of(static_cast<int>(message.source))), job.process(),
                       sched::handler_table()[message.handler].name, why));
}

}  // namespace tri::objects
