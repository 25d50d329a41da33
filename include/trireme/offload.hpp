// Calls that block, moved off the PEs: tri::offload.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/sched/offload_request.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri {
namespace objects {

/// A function with its arguments, both moved into the call.
template <class F, class... A>
struct bound_call {
  F function;
  std::tuple<A...> arguments;
  auto operator()() {
    // As std::invoke, members included; the header of that is large.
    return std::apply(std::move(function), std::move(arguments));
  }
};

template <class F>
using result_of_offloaded = std::decay_t<std::invoke_result_t<F&>>;

/// Runs the function and stores its result or exception.
template <class F>
class offloaded_function : public sched::offloaded_work {
 public:
  using result = result_of_offloaded<F>;
  explicit offloaded_function(F&& function) : function_(std::move(function)) {}
  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<result>) {
        function_();
        value_.emplace();
      } else {
        value_.emplace(function_());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

 protected:
  F function_;
  std::optional<stored<result>> value_;
  std::exception_ptr error_;
};

template <class F>
class offloaded_call final : public offloaded_function<F> {
 public:
  using result = result_of_offloaded<F>;
  offloaded_call(F&& function, const promise<result>& name) : offloaded_function<F>(std::move(function)), name_(name) {}
  void finish(sched::pe& here) override {
    pe_objects& objects = pe_objects::of(here);
    auto* const state = static_cast<result_state<result>*>(objects.results.find(name_.slot, name_.generation));
    if (state == nullptr || state->is_ready()) return;  // the future is gone, or its promise was set before
    method_scope scope(objects);
    if (this->error_ != nullptr)
      state->fail(this->error_);
    else
      state->set(std::move(*this->value_));
  }

 private:
  promise<result> name_;
};

template <class F>
class detached_call final : public offloaded_function<F> {
 public:
  using offloaded_function<F>::offloaded_function;
  void finish(sched::pe& here) override {
    if (this->error_ != nullptr) report_escaped_function(here, "offloaded work", this->error_);
  }
};

/// Constructs the work in a request and submits it. When the job is ending it is destroyed here.
template <class Work, class... A>
void hand_over(A&&... arguments) {
  static_assert(sizeof(Work) <= sched::offloaded_bytes,
                "trireme: the function and its arguments are too large; what is larger than 300 bytes goes by pointer "
                "or std::unique_ptr");
  static_assert(alignof(Work) <= 16);
  auto& here = sched::this_pe();
  auto* const request = new (arena::allocate(sizeof(sched::offload_request))) sched::offload_request;
  request->work = nullptr;
  bool taken = false;
  const auto end_note = [&] {
    if (request->work != nullptr) request->work->~offloaded_work();
    arena::release(request);
  };
  try {
    request->work = new (request->place) Work(std::forward<A>(arguments)...);
    taken = !pe_objects::of(here).is_ending() && sched::offload(here, request);
  } catch (...) {
    end_note();
    throw;
  }
  if (!taken) end_note();
}

}  // namespace objects

/// Runs `function(arguments...)`, with copies as in std::async, on a separate thread: for blocking calls (files,
/// devices, other libraries). No PE and no communication waits for it. The functions of a process run one after
/// another, those of a PE in the order of the calls. The future gets the result or exception. On a PE only. The
/// function does not run on a PE: it must not send messages or use other calls of Trireme. Function, arguments (a few
/// hundred bytes together) and result are destroyed on the calling PE. A job ends after the running function has
/// returned; those that have not started by then never run. Throws arena_exhausted, std::system_error. gcc 12 destroys
/// the captures of a lambda inside a co_await twice: pass arguments, or make the future first.
template <class F, class... A>
auto offload(F&& function, A&&... arguments) {
  using call = objects::bound_call<std::decay_t<F>, std::decay_t<A>...>;
  future<objects::result_of_offloaded<call>> result;
  objects::hand_over<objects::offloaded_call<call>>(call{std::forward<F>(function), {std::forward<A>(arguments)...}},
                                                    result.get_promise());
  return result;
}

/// The same for work without a result: uses no memory except a block that the PE reuses. An exception that leaves
/// `function` ends the job.
template <class F, class... A>
void offload_detached(F&& function, A&&... arguments) {
  using call = objects::bound_call<std::decay_t<F>, std::decay_t<A>...>;
  objects::hand_over<objects::detached_call<call>>(call{std::forward<F>(function), {std::forward<A>(arguments)...}});
}

}  // namespace tri

#pragma GCC visibility pop
