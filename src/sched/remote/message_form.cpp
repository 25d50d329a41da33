#include "trireme/detail/sched/message_form.hpp"

#include <fmt/format.h>

namespace tri::sched {

std::string fault_of_arguments(const message_form& form, payload_kind kind, std::uint64_t bytes) {
  switch (form.what) {
    case message_form::content::anything:
      return {};
    case message_form::content::plain:
      if (kind != payload_kind::direct && kind != payload_kind::block) return "its arguments come as an archive";
      if (bytes == form.bytes) return {};
      return fmt::format("its arguments have {} bytes, which must be {}", bytes, form.bytes);
    case message_form::content::archive:
      return kind == payload_kind::serialized ? std::string() : "its arguments do not come as an archive";
    case message_form::content::stays_in_host:
      break;
  }
  return "its arguments mean nothing to another host";
}

}  // namespace tri::sched
