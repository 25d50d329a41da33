#include "coll/plan_text.hpp"

#include <fmt/format.h>

namespace tri::coll {

std::string_view name_of(step_kind kind) {
  switch (kind) {
    case step_kind::send:
      return "send";
    case step_kind::receive:
      return "receive";
    case step_kind::copy:
      return "copy";
    case step_kind::reduce_left:
      return "reduce_left";
    case step_kind::reduce_right:
      return "reduce_right";
    case step_kind::signal:
      return "signal";
    case step_kind::wait:
      return "wait";
    case step_kind::join:
      return "join";
  }
  return "";
}

std::string_view name_of(buffer where) {
  switch (where) {
    case buffer::input:
      return "input";
    case buffer::output:
      return "output";
    case buffer::scratch:
      return "scratch";
  }
  return "";
}

std::string text_of(const plan& of, std::size_t index) {
  const step& one = of.steps[index];
  const auto place_text = [&](const place& at) {
    return fmt::format("{} {}{}", name_of(at.where), at.offset,
                       at.rank == of.rank ? "" : fmt::format(" of rank {}", at.rank));
  };
  const auto source = [&] { return place_text(one.source); };
  const auto target = [&] { return place_text(one.target); };
  switch (one.kind) {
    case step_kind::send:
      return fmt::format("send {} bytes of {} to rank {}, round {}", one.bytes, source(), one.peer, one.round);
    case step_kind::receive:
      return fmt::format("receive {} bytes into {} from rank {}, round {}", one.bytes, target(), one.peer, one.round);
    case step_kind::copy:
      return fmt::format("copy {} bytes of {} to {}", one.bytes, source(), target());
    case step_kind::reduce_left:
      return fmt::format("reduce {} bytes: {} = {} op it", one.bytes, target(), source());
    case step_kind::reduce_right:
      return fmt::format("reduce {} bytes: {} = it op {}", one.bytes, target(), source());
    case step_kind::signal:
      return fmt::format("signal counter {} of rank {}", one.counter, one.peer);
    case step_kind::wait:
      return fmt::format("wait until counter {} of rank {} is {}", one.counter, one.peer, one.value);
    case step_kind::join:
      return "join";
  }
  return "";
}

}  // namespace tri::coll
