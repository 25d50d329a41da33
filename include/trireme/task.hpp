// Coroutines as entry methods and subroutines. A task starts at once and runs until its first wait. As an entry method
// it then belongs to its element and is destroyed with it at the latest; awaited by another task it is a subroutine.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "trireme/detail/objects/outstanding_futures.hpp"
#include "trireme/detail/os/unique_function.hpp"

namespace tri::objects {
class load_meter;
}  // namespace tri::objects

#pragma GCC visibility push(default)

namespace tri {

template <class T = void>
class [[nodiscard]] task;

namespace objects {

class coroutine_owner;
class element_base;

/// A wait of an element with a pending move has ended: checks again whether it can move, after the running method has
/// ended.
void reconsider_migration(const element_base& element);

/// One suspended entry method; a link in the list of its owner.
struct coroutine_frame {
  coroutine_frame* next = nullptr;
  coroutine_frame* previous = nullptr;
  coroutine_owner* owner = nullptr;
  std::coroutine_handle<> handle;
  /// Destroys the coroutine and reports that.
  void (*cancel)(coroutine_frame&) = nullptr;
};

/// One wait for a future on behalf of an owner. Usually it ends before its owner; but an object may start a coroutine
/// stored in another one, by calling a method of that one as a function.
class result_wait {
 public:
  result_wait() = default;
  result_wait(const result_wait&) = delete;
  result_wait& operator=(const result_wait&) = delete;
  ~result_wait() { end(); }
  void begin(coroutine_owner* owner);
  void end();
  /// Null: none, or it has ended.
  coroutine_owner* owner() const { return owner_; }

 private:
  friend class coroutine_owner;
  coroutine_owner* owner_ = nullptr;
  result_wait* next_ = nullptr;
  result_wait** place_ = nullptr;  // the pointer to this
};

/// Keeps the coroutines that run on behalf of an object and destroys them with it.
class coroutine_owner {
 public:
  coroutine_owner() = default;
  explicit coroutine_owner(element_base& element) : element_(&element) {}
  coroutine_owner(const coroutine_owner&) = delete;
  coroutine_owner& operator=(const coroutine_owner&) = delete;
  ~coroutine_owner() {
    wants_to_leave_ = false;
    if (outstanding_ != nullptr) outstanding_->end_element();
    destroy_all();
    for (result_wait* wait = waits_; wait != nullptr; wait = wait->next_) wait->owner_ = nullptr;
  }

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
    if (--count_ == 0) wait_ended();
  }
  std::size_t count() const { return count_; }
  /// Of no element: null.
  element_base* element() const { return element_; }

  /// While loads are measured: time, in ticks of os::task_clock, for which methods of the owner have run.
  void add_load(std::uint64_t ticks) { load_ += ticks; }
  std::uint64_t load() const { return load_; }
  std::uint64_t take_load() { return std::exchange(load_, 0); }

  /// A coroutine (or a subroutine) waits for a future now.
  bool waits_for_result() const { return waits_ != nullptr; }
  /// Methods of the owner have made futures whose values are outstanding or not yet taken. Counted only for elements
  /// that could move to another process.
  bool has_outstanding_futures() const { return outstanding_ != nullptr && !outstanding_->none(); }
  /// Of the owner's element; null: they are not counted.
  outstanding_futures* outstanding() {
    if (!knows_outstanding_) [[unlikely]]
      find_outstanding();
    return outstanding_;
  }

  /// The owner's element waits until it can move: it is notified of the end of each wait.
  void want_to_leave(bool wanted) {
    wants_to_leave_ = wanted;
    if (outstanding_ != nullptr) outstanding_->wait_for_end(wanted);
  }
  void wait_ended() {
    if (wants_to_leave_) [[unlikely]]
      reconsider_migration(*element_);
  }
  /// At the end of the job: without notifications.
  void destroy_all() {
    while (first_ != nullptr) take_first().handle.destroy();
  }
  /// The same, and notifies the waiters for their results.
  void cancel_all() {
    while (first_ != nullptr) {
      coroutine_frame& frame = take_first();
      frame.cancel(frame);
    }
  }

 private:
  coroutine_frame& take_first() {
    coroutine_frame& frame = *first_;
    forget(frame);
    return frame;
  }
  coroutine_frame* first_ = nullptr;
  std::size_t count_ = 0;
  void find_outstanding();
  friend class result_wait;
  result_wait* waits_ = nullptr;
  element_base* const element_ = nullptr;  // null: of no element
  outstanding_futures* outstanding_ = nullptr;
  std::uint64_t load_ = 0;
  bool knows_outstanding_ = false;
  bool wants_to_leave_ = false;
};

inline void result_wait::end() {
  coroutine_owner* const owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  *place_ = next_;
  if (next_ != nullptr) next_->place_ = place_;
  if (owner->waits_ == nullptr) owner->wait_ended();
}

inline void result_wait::begin(coroutine_owner* owner) {
  owner_ = owner;
  if (owner == nullptr) return;
  next_ = std::exchange(owner->waits_, this);
  place_ = &owner->waits_;
  if (next_ != nullptr) next_->place_ = &next_;
}

/// The owner of the method or coroutine that runs on this thread: it also owns coroutines that start meanwhile. Null
/// outside of methods of elements. Set by an owner_scope wherever one is run.
inline thread_local coroutine_owner* running_owner = nullptr;
/// While loads are measured, that of this thread's PE; otherwise null.
inline thread_local load_meter* running_load_meter = nullptr;
/// What has passed since the last call is time of `owner`.
void charge_load(load_meter& meter, coroutine_owner* owner);

class owner_scope {
 public:
  explicit owner_scope(coroutine_owner* owner) : before_(running_owner) {
    if (running_load_meter != nullptr) [[unlikely]]
      charge_load(*running_load_meter, before_);
    running_owner = owner;
  }
  ~owner_scope() {
    if (running_load_meter != nullptr) [[unlikely]]
      charge_load(*running_load_meter, running_owner);
    running_owner = before_;
  }
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  coroutine_owner* before_;
};
/// The owners of methods that run one after the other: an owner_scope for each, with one charge between two.
class owner_sequence {
 public:
  owner_sequence() : before_(running_owner), meter_(running_load_meter) {}
  ~owner_sequence() {
    if (meter_ != nullptr) [[unlikely]]
      charge_load(*meter_, running_owner);
    running_owner = before_;
  }
  owner_sequence(const owner_sequence&) = delete;
  owner_sequence& operator=(const owner_sequence&) = delete;
  /// The method that follows is of `owner`.
  void next(coroutine_owner* owner) {
    if (meter_ != nullptr) [[unlikely]]
      charge_load(*meter_, running_owner);
    running_owner = owner;
  }

 private:
  coroutine_owner* before_;
  load_meter* meter_;
};
/// Restores the owner after a construction, which sets it, and may have thrown: then that owner is gone, and its time
/// counts for the one before.
class construction_scope {
 public:
  construction_scope() : before_(running_owner) {}
  ~construction_scope() { running_owner = before_; }
  construction_scope(const construction_scope&) = delete;
  construction_scope& operator=(const construction_scope&) = delete;

 private:
  coroutine_owner* before_;
};

/// The completion of an entry method, given its result or exception. Both null: its object was deleted first.
template <class T>
using completion =
    os::unique_function<void(std::exception_ptr, std::conditional_t<std::is_void_v<T>, std::monostate, T>*)>;

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

/// What a coroutine gets that awaits a task which was cancelled.
struct task_cancelled : std::runtime_error {
  task_cancelled() : std::runtime_error("the task was cancelled before it had a result") {}
};

namespace objects {

/// A coroutine that awaits a task, and that task; in the frame of the first. The two refer to each other, because
/// either may end first.
struct awaited_task {
  awaited_task*& place;  // the task's pointer to this; valid while `task_exists`
  std::coroutine_handle<> parent;
  bool task_exists = true;
  awaited_task(awaited_task*& of_task, std::coroutine_handle<> waiting) : place(of_task), parent(waiting) {
    place = this;
  }
  awaited_task(const awaited_task&) = delete;
  awaited_task& operator=(const awaited_task&) = delete;
  ~awaited_task() {
    if (task_exists) place = nullptr;
  }
};
/// In the task.
struct awaited_task_slot {
  awaited_task* by = nullptr;
  awaited_task_slot() = default;
  awaited_task_slot(const awaited_task_slot&) = delete;
  awaited_task_slot& operator=(const awaited_task_slot&) = delete;
  ~awaited_task_slot() {
    if (by != nullptr) by->task_exists = false;
  }
};

}  // namespace objects

/// A coroutine: it starts at once. Destroying a task destroys a suspended coroutine with what it holds; messages and
/// results that it waited for are then kept for others, or dropped.
template <class T>
class [[nodiscard]] task {
 public:
  struct promise_type : objects::task_result<T> {
    objects::coroutine_frame frame;
    objects::awaited_task_slot awaited;
    std::exception_ptr error;
    objects::completion<T> completed;

    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct last {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
          promise_type& self = handle.promise();
          if (self.awaited.by != nullptr) return self.awaited.by->parent;
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
    static void cancel(objects::coroutine_frame& frame) {
      const auto handle = std::coroutine_handle<promise_type>::from_address(frame.handle.address());
      const auto report = std::move(handle.promise().completed);
      handle.destroy();
      report(nullptr, nullptr);
    }
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_ != nullptr) handle_.destroy();
  }

  /// It has ended, or was cancelled.
  bool done() const { return handle_ == nullptr || handle_.done(); }
  /// Ends the coroutine where it waits: its objects are destroyed, and a coroutine that awaits it gets task_cancelled,
  /// here and now. False: it had ended already, and keeps its result. By another coroutine or method of the same
  /// object, not by the coroutine itself or one that it awaits.
  bool cancel() {
    if (done()) return false;
    const objects::awaited_task* const by = handle_.promise().awaited.by;
    const std::coroutine_handle<> parent = by == nullptr ? nullptr : by->parent;
    std::exchange(handle_, nullptr).destroy();
    if (parent != nullptr) parent.resume();
    return true;
  }
  /// Transfers the coroutine to its owner. `completed` is called once, when it ends; at once if it has ended already.
  void detach(objects::coroutine_owner& owner, objects::completion<T> completed) {
    auto& promise = handle_.promise();
    if (handle_.done()) {
      completed(promise.error, promise.error != nullptr ? nullptr : promise.address());
      return;
    }
    promise.frame.handle = handle_;
    promise.frame.cancel = &promise_type::cancel;
    promise.completed = std::move(completed);
    owner.adopt(promise.frame);
    handle_ = nullptr;
  }

  /// Once: the result is moved out.
  auto operator co_await() {
    struct awaiter {
      std::coroutine_handle<promise_type> child;
      std::optional<objects::awaited_task> waits{};
      bool await_ready() const { return child == nullptr || child.done(); }
      void await_suspend(std::coroutine_handle<> parent) { waits.emplace(child.promise().awaited.by, parent); }
      T await_resume() {
        if (child == nullptr || (waits.has_value() && !waits->task_exists)) throw task_cancelled();
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

#pragma GCC visibility pop
