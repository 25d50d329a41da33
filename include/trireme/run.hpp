// Starting and ending a Trireme program, and queries for all parts of it: own PE number, number of PEs, quiescence.
//
//   int main(int argc, char** argv) {
//     return tri::run(argc, argv, [] { /* runs once, on PE 0 */ });
//   }
//
// The same program runs as `./app` (all cores), `./app --tri-pes 4` (threads) and `trireme run -n 2 --pes 2 ./app`
// (processes). Options --tri-* are removed from argv; `trireme info --config` lists them.
#pragma once

#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/require_cxx20.hpp"

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/callback.hpp"
#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/future.hpp"
#include "trireme/task.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// A duration that converts to std::chrono::nanoseconds without loss; <chrono> would be a tenth of the code that a
/// program compiles.
template <class Duration>
concept time_span = requires(const Duration& length) {
  requires std::is_integral_v<typename Duration::rep>;
  requires(Duration::period::num * std::intmax_t{1'000'000'000}) % Duration::period::den == 0;
  { length.count() } -> std::convertible_to<typename Duration::rep>;
};
template <time_span Duration>
constexpr std::int64_t nanoseconds_of(const Duration& length) {
  return static_cast<std::int64_t>(length.count()) *
         (Duration::period::num * std::intmax_t{1'000'000'000} / Duration::period::den);
}
future<void> after_nanoseconds(std::int64_t delay);
enum class main_program_on : bool { pe_0, all_pes };
int run_program(int argc, char** argv, main_program_on where, os::function_ref<int(int, char**)> main_program);
int wait_for_main(task<int> running);
task<int> as_status(task<> running);

template <class Main>
decltype(auto) call_main(Main& main_program, int argc, char** argv) {
  if constexpr (std::is_invocable_v<Main&, int, char**>)
    return main_program(argc, argv);
  else
    return main_program();
}
template <class Main>
using result_of_main = decltype(call_main(std::declval<Main&>(), 0, nullptr));

template <class Main>
int status_of(Main& main_program, int argc, char** argv) {
  using result = result_of_main<Main>;
  if constexpr (std::is_void_v<result>) {
    call_main(main_program, argc, argv);
    return 0;
  } else if constexpr (std::is_same_v<result, task<>>) {
    return wait_for_main(as_status(call_main(main_program, argc, argv)));
  } else if constexpr (std::is_same_v<result, task<int>>) {
    return wait_for_main(call_main(main_program, argc, argv));
  } else {
    return call_main(main_program, argc, argv);
  }
}
}  // namespace objects

/// Runs a program: starts the PEs of this process (and joins the other processes of the job), calls `main_program` once
/// in the whole job, on PE 0, and ends the job when it returns; messages still in flight are dropped and their
/// arguments destroyed. The program may take (int argc, char** argv), and may be a function (which waits with
/// future::get) or a coroutine returning tri::task<> or tri::task<int> (which waits with co_await). Returns the exit
/// status: the program's result, 0 for void, 1 with a message on stderr when the configuration is wrong. Collective
/// over the processes of a job.
template <class Main>
int run(int argc, char** argv, Main&& main_program) {
  return objects::run_program(argc, argv, objects::main_program_on::pe_0, [&](int count, char** arguments) -> int {
    return objects::status_of(main_program, count, arguments);
  });
}

/// Runs a program in SPMD style, as MPI and UPC programs: like run, but `main_program` is called on every PE, and may
/// wait there with future::get, which runs messages of this PE meanwhile. The job ends when it has returned on all PEs.
/// Returns the status of PE 0, or if that is 0 the first one of another PE that is not. PEs of a process are threads:
/// what `main_program` captures is shared by them. Not a coroutine.
template <class Main>
int run_everywhere(int argc, char** argv, Main&& main_program) {
  return objects::run_program(argc, argv, objects::main_program_on::all_pes, [&](int count, char** arguments) -> int {
    static_assert(!objects::is_task<objects::result_of_main<Main>>,
                  "the program given to tri::run_everywhere must not be a coroutine: it waits with future::get");
    return objects::status_of(main_program, count, arguments);
  });
}

/// This PE's number and the number of PEs; this PE's process, the number of processes, and the PEs of each. On PEs
/// only.
inline int this_pe() { return sched::this_pe().number(); }
inline int pe_count() { return sched::this_pe().job().pes(); }
inline int this_process() { return sched::this_pe().job().process(); }
inline int process_count() { return sched::this_pe().job().processes(); }
inline int pes_per_process() { return sched::this_pe().job().pes_per_process(); }

/// Runs messages that wait for this PE, without waiting for any: for main programs that compute for long, or look at
/// memory that others change. Throws std::logic_error in methods and coroutines.
void progress();

/// Ends the job soon with this status, from any method. Messages in flight are dropped; a program that waits in
/// future::get is unwound.
inline void exit(int status) { sched::this_pe().job().request_stop(status); }

/// Ends the job at once with status 1 and one line on stderr: the process, its host, and `message`. From any method or
/// the main program, on PEs only; unlike exit() it does not return, and nothing is destroyed.
[[noreturn]] inline void fail(const std::string& message) { sched::this_pe().job().fail(message); }

/// Becomes ready when no message is in flight or being processed anywhere and no timer is pending.
future<void> quiescence();

/// Becomes ready when at least this much time has passed, a std::chrono::duration of whole nanoseconds.
template <objects::time_span Duration>
future<void> after(const Duration& delay) {
  return objects::after_nanoseconds(objects::nanoseconds_of(delay));
}

/// Sends to a method of an element after a delay.
template <auto Method, objects::time_span Duration, class T, class... A>
void send_after(const Duration& delay, const element_ref<T>& target, A&&... arguments);

/// Runs a function on a PE: the lightest message there is. Its parameters obey the rules of entry methods.
template <auto Function, class... A>
void send(int pe, A&&... arguments);

namespace objects {

[[noreturn]] void report_escaped_function(sched::pe& here, const std::string& function, std::exception_ptr error);

template <class F>
struct function_facts;
template <class... P>
struct function_facts<void (*)(P...)> {
  using arguments = std::tuple<std::decay_t<P>...>;
  static_assert((may_be_argument<std::decay_t<P>>() && ...),
                "a parameter of this function can be copied but not sent to another process");
};

template <auto Function>
struct function_handler {
  using tuple = typename function_facts<decltype(Function)>::arguments;
  static void deliver(sched::pe& here, sched::envelope& message) {
    method_scope scope(pe_objects::of(here));  // it may call methods of local objects
    unpacked_arguments<tuple> arguments(message);
    try {
      std::apply([](auto&... argument) { Function(std::move(argument)...); }, arguments.values());
    } catch (...) {
      report_escaped_function(here, method_name<Function>(), std::current_exception());
    }
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, method_name<Function>());
};

template <auto Method>
struct timed_method {
  using facts = method_facts<Method>;
  static void deliver(sched::pe&, sched::envelope& message) {
    unpacked_arguments<typename facts::arguments> arguments(message);
    std::apply(
        [&](auto&... argument) {
          element_ref<typename facts::object>(message.collection, message.element)
              .template send<Method>(std::move(argument)...);
        },
        arguments.values());
  }
  static inline const std::uint32_t handler =
      register_handler_of<typename facts::arguments>(&deliver, "timer for " + method_name<Method>());
};

}  // namespace objects

template <auto Function, class... A>
void send(int pe, A&&... arguments) {
  auto& here = sched::this_pe();
  using handled = objects::function_handler<Function>;
  objects::check_pe(here, pe, [] { return objects::method_name<Function>() + ": asked to run"; });
  objects::post_packed(here, pe, handled::handler, 0, 0,
                       objects::pack_arguments<typename handled::tuple>(here, here.is_in_this_process(pe), false,
                                                                        std::forward<A>(arguments)...));
}

template <auto Method, objects::time_span Duration, class T, class... A>
void send_after(const Duration& delay, const element_ref<T>& target, A&&... arguments) {
  auto& here = sched::this_pe();
  using timed = objects::timed_method<Method>;
  sched::envelope message{};
  message.element = target.number();
  message.collection = target.collection();
  message.handler = timed::handler;
  objects::pack_arguments<typename timed::facts::arguments>(here, true, false, std::forward<A>(arguments)...)
      .store(message);
  objects::post_or_drop(here, message, [&] { here.send_later(objects::nanoseconds_of(delay), message); });
}

namespace objects {

template <auto Function>
struct callback_to_function {
  using arguments = typename function_facts<decltype(Function)>::arguments;
  static std::string name() { return method_name<Function>() + " on a PE"; }
  static void send(sched::pe& here, const sched::envelope& message, bool at_once, auto&&... values) {
    using handled = function_handler<Function>;
    const int to = static_cast<int>(message.collection);
    check_pe(here, to, [] { return name(); });
    const packed_arguments packed = pack_arguments<typename handled::tuple>(here, here.is_in_this_process(to), false,
                                                                            std::forward<decltype(values)>(values)...);
    if (at_once)
      post_immediately(here, to, handled::handler, 0, 0, packed);
    else
      post_packed(here, to, handled::handler, 0, 0, packed);
  }
};

}  // namespace objects

/// A callback that runs a function with the value on a PE. Throws std::out_of_range for one that does not exist.
template <auto Function>
auto to(int pe) {
  using target = objects::callback_to_function<Function>;
  objects::check_pe(sched::this_pe(), pe, [] { return target::name(); });
  return objects::make_callback<target>(static_cast<std::uint32_t>(pe), 0);
}

}  // namespace tri

#pragma GCC visibility pop
