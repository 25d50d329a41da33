#include "trireme/archive.hpp"

#include <fmt/format.h>

#include <map>

#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {

void input_archive::too_deep() {
  --levels_;  // a level that was not made does not end
  throw archive_error(fmt::format("objects lie more than {} deep in each other", most_levels));
}

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

struct output_archive::shared_objects {
  std::map<std::pair<const void*, const void*>, std::uint32_t> numbers;  // by address and kind
  std::vector<std::shared_ptr<const void>> owners;
};

output_archive::shared_number output_archive::number_of_shared(std::shared_ptr<const void> object, const void* kind) {
  if (shared_ == nullptr) shared_ = std::make_shared<shared_objects>();
  const auto next = static_cast<std::uint32_t>(shared_->owners.size());
  const auto [found, is_new] = shared_->numbers.try_emplace({object.get(), kind}, next);
  if (is_new) shared_->owners.push_back(std::move(object));
  return {found->second, is_new};
}

const std::shared_ptr<void>* input_archive::shared_of(std::uint32_t number, const void* kind) const {
  if (number == shared_.size()) return nullptr;
  if (number > shared_.size()) {
    throw archive_error(
        fmt::format("the number of a shared object is {}, but only {} were before it", number, shared_.size()));
  }
  if (shared_[number].kind != kind) {
    throw archive_error(fmt::format("the shared object {} is of another type than what refers to it", number));
  }
  return &shared_[number].object;
}

void refuse_to_archive(const sched::pe& here, const sched::envelope& message, const char* why) {
  here.job().fail(fmt::format("the arguments of '{}' cannot be sent to another process: {}",
                              sched::handler_table()[message.handler].name, why));
}

void refuse_arguments(const sched::envelope& message, const char* why) {
  const sched::runtime& job = sched::this_pe().job();
  job.fail(fmt::format("process {} on {} sent process {} wrong arguments of '{}': {}",
                       job.process_of(static_cast<int>(message.source)),
                       job.name_of_host(job.host_of(static_cast<int>(message.source))), job.process(),
                       sched::handler_table()[message.handler].name, why));
}

}  // namespace tri::objects
