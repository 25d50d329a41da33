// Coroutines as entry methods and subroutines. A task starts at once and runs until it waits for something. As an entry
// method it then belongs to its element and ends with it at the latest; awaited by another task it is a subroutine.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

namespace tri {

template <class T = void>
class [[nodiscard]] task;

namespace objects {

class coroutine_owner;

/// One suspended entry method; a link in the list of its owner.
struct coroutine_frame {
  coroutine_frame* next = nullptr;
  coroutine_frame* previous = nullptr;
  coroutine_owner* owner = nullptr;
  std::coroutine_handle<> handle;
};

/// Keeps the coroutines that run on behalf of an object and destroys them with it.
class coroutine_owner {
 public:
  coroutine_owner() = default;
  coroutine_owner(const coroutine_owner&) = delete;
  coroutine_owner& operator=(const coroutine_owner&) = delete;
  ~coroutine_owner() { destroy_all(); }

  void adopt(coroutine_frame& frame) {
    frame.owner = this;
    frame.next = first_;
    frame.previous = nullptr;
    if (first_ != nullptr) first_->previous = &frame;
    first_ = &frame;
    ++count_;
  }
  void forget(coroutine_frame& frame) {
    (frame.previous != nullptr ? frame.previous->next : first_) = frame.next;
    if (frame.next != nullptr) frame.next->previous = frame.previous;
    frame.owner = nullptr;
    --count_;
  }
  std::size_t count() const { return count_; }
  /// Coroutines (subroutines included) that wait for a future now.
  std::size_t waiting_for_results() const { return waiting_for_results_; }
  void begin_waiting_for_result() { ++waiting_for_results_; }
  void end_waiting_for_result() { --waiting_for_results_; }
  void destroy_all() {
    while (first_ != nullptr) {
      coroutine_frame& frame = *first_;
      forget(frame);
      frame.handle.destroy();
    }
  }

 private:
  coroutine_frame* first_ = nullptr;
  std::size_t count_ = 0;
  std::size_t waiting_for_results_ = 0;
};

/// Whose coroutine runs on this thread now; null outside of coroutines of objects.
inline thread_local coroutine_owner* running_owner = nullptr;
class owner_scope {
 public:
  explicit owner_scope(coroutine_owner* owner) : before_(std::exchange(running_owner, owner)) {}
  ~owner_scope() { running_owner = before_; }
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  coroutine_owner* before_;
};

/// What a finished entry method does with its result or exception.
template <class T>
using completion = std::function<void(std::exception_ptr, std::conditional_t<std::is_void_v<T>, std::monostate, T>*)>;

template <class T>
struct task_result {
  std::optional<T> value;
  template <class V>
  void return_value(V&& v) {
    value.emplace(std::forward<V>(v));
  }
  T* address() { return &*value; }
};
template <>
struct task_result<void> {
  std::monostate nothing;
  void return_void() {}
  std::monostate* address() { return &nothing; }
};

}  // namespace objects

template <class T>
class [[nodiscard]] task {
 public:
  struct promise_type : objects::task_result<T> {
    objects::coroutine_frame frame;
    std::coroutine_handle<> parent = nullptr;
    std::exception_ptr error;
    objects::completion<T> completed;

    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct last {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
          promise_type& self = handle.promise();
          if (self.parent != nullptr) return self.parent;
          if (self.frame.owner != nullptr) {  // a detached entry method: report, then disappear
            self.frame.owner->forget(self.frame);
            auto report = std::move(self.completed);
            report(self.error, self.error != nullptr ? nullptr : self.address());
            handle.destroy();
          }
          return std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return last{};
    }
    void unhandled_exception() { error = std::current_exception(); }
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_ != nullptr) handle_.destroy();
  }

  bool done() const { return handle_.done(); }
  /// Hands the coroutine to its owner. `completed` is called once, when it ends; at once if it has ended already.
  void detach(objects::coroutine_owner& owner, objects::completion<T> completed) {
    auto& promise = handle_.promise();
    if (handle_.done()) {
      completed(promise.error, promise.error != nullptr ? nullptr : promise.address());
      return;
    }
    promise.frame.handle = handle_;
    promise.completed = std::move(completed);
    owner.adopt(promise.frame);
    handle_ = nullptr;
  }

  auto operator co_await() && {
    struct awaiter {
      std::coroutine_handle<promise_type> child;
      bool await_ready() const { return child.done(); }
      void await_suspend(std::coroutine_handle<> parent) { child.promise().parent = parent; }
      T await_resume() {
        if (child.promise().error != nullptr) std::rethrow_exception(child.promise().error);
        if constexpr (!std::is_void_v<T>) return std::move(*child.promise().value);
      }
    };
    return awaiter{handle_};
  }

 private:
  explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace objects {
template <class R>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;
template <class R>
struct result_of_method {
  using type = R;
};
template <class T>
struct result_of_method<task<T>> {
  using type = T;
};
}  // namespace objects

}  // namespace tri
