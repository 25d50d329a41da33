#include "trireme/received_message.hpp"

#include <fmt/format.h>

#include <deque>

namespace tri {
namespace objects {
namespace {

std::deque<message_type>& types() {
  // The first is for a message that was not sent.
  static std::deque<message_type> registered{{"nothing", 0}};
  return registered;
}

}  // namespace

std::uint32_t register_message_type(message_type type) {
  types().push_back(std::move(type));
  return static_cast<std::uint32_t>(types().size() - 1);
}

const message_type& message_type_of(std::uint32_t number) { return types()[number]; }

}  // namespace objects

std::string received_message::describe() const {
  const objects::message_type& type = objects::message_type_of(contents_.type);
  const std::size_t count = type.bytes == 0 ? 1 : bytes() / type.bytes;
  const std::string what = type.bytes == 0 ? type.name
                           : count == 1    ? "one value of " + type.name
                                           : fmt::format("{} values of {}", count, type.name);
  return fmt::format("{} from PE {} with tag {}", what, source_, tag_);
}

void received_message::refuse(const char* how, const std::string& name) const {
  throw message_mismatch(
      fmt::format("tri::received_message: {}{} was asked for, but this is {}", how, name, describe()));
}

}  // namespace tri
