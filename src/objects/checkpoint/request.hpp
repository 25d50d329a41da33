// A question of one PE to another: a function that runs there, and a future of what it returns. An exception goes to
// the future, as remote_error.
#pragma once

#include <exception>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/detail/objects/post.hpp"
#include "trireme/future.hpp"

namespace tri::objects {

template <class F>
struct question_facts;
template <class R, class... A>
struct question_facts<R (*)(sched::pe&, A...)> {
  using result = R;
  using tuple = std::tuple<promise<R>, std::decay_t<A>...>;
};

template <auto Function>
struct question {
  using facts = question_facts<decltype(Function)>;
  using result = typename facts::result;
  using tuple = typename facts::tuple;

  static void deliver(sched::pe& here, sched::envelope& message) {
    method_scope scope(pe_objects::of(here));  // it may use objects
    const owner_scope no_owner(nullptr);
    unpacked_arguments<tuple> arguments(message);
    const promise<result> answer = std::get<0>(arguments.values());
    const auto call = [&]() -> decltype(auto) {
      return std::apply(
          [&](auto&, auto&... argument) -> decltype(auto) { return Function(here, std::move(argument)...); },
          arguments.values());
    };
    try {
      if constexpr (std::is_void_v<result>) {
        call();
        answer.set();
      } else {
        answer.set(call());
      }
    } catch (const std::exception& error) {
      answer.fail(error.what());
    }
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, method_name<Function>());
};

template <auto Function, class... A>
[[nodiscard]] future<typename question<Function>::result> ask(sched::pe& here, int pe, A&&... arguments) {
  using asked = question<Function>;
  future<typename asked::result> answer;
  post_packed(here, pe, asked::handler, 0, 0,
              pack_arguments<typename asked::tuple>(here, here.is_in_this_process(pe), false, answer.get_promise(),
                                                    std::forward<A>(arguments)...));
  return answer;
}

}  // namespace tri::objects
