// Futures and promises: a future belongs to the PE that made it, where its value arrives; its promise is a small plain
// value that may be sent anywhere and set from any PE of the job. The future may move to another PE of its process,
// with an element: a waiter there requests a notification from its PE (result_relay), and reads the value from memory.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/objects/post.hpp"
#include "trireme/detail/objects/result_table.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/task.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// An exception thrown by a method on another PE, as it reaches the caller's future: the text names the object, its
/// index, the method, the PE and the original message.
struct remote_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
class future;

namespace objects {

template <class T>
using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// A coroutine that waits for a result; lives in its frame. The two point to each other, because either may end first.
class result_waiter {
 public:
  result_waiter() = default;
  result_waiter(const result_waiter&) = delete;
  result_waiter& operator=(const result_waiter&) = delete;
  ~result_waiter() { part(); }

  /// `place` is the result's pointer to this. The owner of the running coroutine learns that one of its own waits.
  void wait(result_waiter*& place, std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    wait_.begin(running_owner);
    place = this;
    place_ = &place;
  }
  /// The coroutine will not be resumed, or the result cannot come.
  void part() {
    if (place_ == nullptr) return;
    *std::exchange(place_, nullptr) = nullptr;
    wait_.end();
  }
  void resume() {
    const owner_scope scope(wait_.owner());
    part();
    coroutine_.resume();
  }

 private:
  std::coroutine_handle<> coroutine_;
  result_waiter** place_ = nullptr;  // while it waits
  result_wait wait_;
};

class result_relay;

/// The base of all future states. In the table of the PE that made it; may also be read by the PE of its process that
/// has the future.
class result_base : public awaited_result {
 public:
  using awaited_result::awaited_result;
  ~result_base() override { part(); }
  // acquire: the value is there. pairs: future.ready
  bool is_ready() const override { return ready_.load(std::memory_order_acquire); }
  // release: another PE of the process may delete this as soon as it sees the flag; we do not access it any more.
  // pairs: future.abandoned
  void abandon() override { abandoned_.store(true, std::memory_order_release); }
  /// The job has ended; the table with this result is gone, or will not use it any more.
  bool is_abandoned() const { return abandoned_.load(std::memory_order_acquire); }  // pairs: future.abandoned

  /// `waiter` is resumed when the result is there. Throws std::logic_error when another one waits already.
  void wait(result_waiter& waiter, std::coroutine_handle<> coroutine) {
    // relaxed: only the owner of the future waits elsewhere
    if (waiter_ != nullptr || relay_.load(std::memory_order_relaxed) != nullptr) refuse_second();
    waiter.wait(waiter_, coroutine);
  }
  /// The main program of this PE waits; on the PE of this, not ready yet.
  void main_program_waits() { main_program_waits_ = sched::this_pe().main_program_waits(); }
  /// The waiter will not be resumed: the future has ended.
  void part() {
    if (waiter_ != nullptr) waiter_->part();
  }

  /// A coroutine on another PE of this process waits, and has this name in the table there.
  struct relay_name {
    std::uint32_t pe;
    std::uint32_t slot;
    std::uint32_t generation;
    friend bool operator==(const relay_name&, const relay_name&) = default;
  };
  /// Starts or ends a wait on another PE; throws like wait(). relaxed: the pointer is only compared.
  void begin_relay(const result_relay& relay) {
    const result_relay* none = nullptr;
    if (!relay_.compare_exchange_strong(none, &relay, std::memory_order_relaxed)) refuse_second();
  }
  void end_relay() { relay_.store(nullptr, std::memory_order_relaxed); }
  /// On the PE of this.
  void add_relay(const relay_name& relay);
  void remove_relay(const relay_name& relay) { std::erase(relays_, relay); }

  /// The running method has passed on a promise of this: its element is owed an answer, until the value is taken or the
  /// future ends. Called by the owner of the future.
  void count_for_owner() {
    // relaxed: see below
    if (running_owner == nullptr || outstanding_.load(std::memory_order_relaxed) != nullptr) return;
    outstanding_futures* const outstanding = running_owner->outstanding();
    if (outstanding == nullptr) return;
    outstanding->add();
    outstanding_.store(outstanding, std::memory_order_relaxed);
  }
  // relaxed: passed between threads with the future; atomic for a coroutine that waits for the future of another
  // object, which may end at the same time
  void end_for_owner() {
    if (outstanding_.load(std::memory_order_relaxed) == nullptr) [[likely]]
      return;
    if (outstanding_futures* const outstanding = outstanding_.exchange(nullptr, std::memory_order_relaxed))
      end_outstanding_future(*outstanding);
  }

 protected:
  /// The value is there.
  void finish() {
    if (std::exchange(main_program_waits_, false)) sched::this_pe().main_program_resumes();
    ready_.store(true, std::memory_order_release);  // pairs: future.ready
    if (!relays_.empty()) [[unlikely]]
      notify_relays();
    if (waiter_ != nullptr) waiter_->resume();  // last: it may end this
  }

 private:
  void notify_relays();
  [[noreturn]] void refuse_second() const {
    throw std::logic_error("tri::future: two coroutines wait for " + describe());
  }
  std::atomic<bool> ready_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<outstanding_futures*> outstanding_{nullptr};
  std::atomic<const result_relay*> relay_{nullptr};
  result_waiter* waiter_ = nullptr;
  std::vector<relay_name> relays_;
  bool main_program_waits_ = false;  // of the PE of this, and counts
};

template <class T>
class result_state : public result_base {
 public:
  result_state() : result_base(&kind_of_result<result_state>) {}
  std::string describe() const override { return "a future of " + type_name<T>(); }
  void set(stored<T>&& value) {
    value_.emplace(std::move(value));
    finish();
  }
  void fail(std::exception_ptr error) override {
    error_ = std::move(error);
    finish();
  }
  T take() {
    end_for_owner();
    if (error_ != nullptr) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 private:
  std::optional<stored<T>> value_;
  std::exception_ptr error_;
};

/// A wait for a future that was made on another PE of this process. In the coroutine's frame; keeps the pending result
/// alive, whatever happens to the future.
class result_relay final : public awaited_result {
 public:
  result_relay(sched::pe& here, int pe_of_result, std::shared_ptr<result_base> result);
  ~result_relay() override;
  bool is_ready() const override { return result_->is_ready(); }
  std::string describe() const override;
  void fail(std::exception_ptr) override {}  // the result fails
  void abandon() override { abandoned_ = true; }
  void wait(result_waiter& waiter, std::coroutine_handle<> coroutine) { waiter.wait(waiter_, coroutine); }
  /// The result is there.
  void fire() {
    if (waiter_ != nullptr) waiter_->resume();  // last: it ends this
  }

 private:
  sched::pe& here_;
  const int pe_of_result_;
  std::shared_ptr<result_base> result_;
  result_waiter* waiter_ = nullptr;
  result_table::name name_{};
  bool abandoned_ = false;  // the table is gone
};

inline std::uint64_t pack_name(std::uint32_t slot, std::uint32_t generation) {
  return (std::uint64_t{slot} << 32) | generation;
}
/// Of any kind; see named_result.
inline awaited_result* find_result(sched::pe& here, const sched::envelope& message) {
  return pe_objects::of(here).results.find(static_cast<std::uint32_t>(message.element >> 32),
                                           static_cast<std::uint32_t>(message.element));
}

template <class T>
struct result_handler {
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<std::tuple<stored<T>>> arguments(message);
    auto* const state = named_result<result_state<T>>(here, message, static_cast<std::uint32_t>(message.element >> 32),
                                                      static_cast<std::uint32_t>(message.element));
    if (state != nullptr) {
      method_scope scope(pe_objects::of(here));
      if (!state->is_ready()) state->set(std::move(std::get<0>(arguments.values())));
    }
  }
  static inline const std::uint32_t handler =
      register_handler_of<std::tuple<stored<T>>>(&deliver, "result " + type_name<T>());
};

/// Whether a result of another PE of this process is there; in a replay, whether it was when that was recorded.
bool is_ready_elsewhere(sched::pe& here, const result_base& result);

/// A coroutine's wait for a future; in its frame.
template <class T>
class future_awaiter : public result_waiter {
 public:
  explicit future_awaiter(future<T>& result) : of_(result), state_(*result.state_) {}
  bool await_ready() const { return of_.ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    sched::pe& here = sched::this_pe();
    if (&here == of_.pe_) [[likely]]
      return state_.wait(*this, coroutine);
    relay_ = std::make_unique<result_relay>(here, of_.pe_->number(), of_.state_);
    relay_->wait(*this, coroutine);
  }
  T await_resume() { return state_.take(); }

 private:
  future<T>& of_;
  result_state<T>& state_;  // the future may be given away or end while it is waited for
  std::unique_ptr<result_relay> relay_;
};

[[noreturn]] void throw_no_such_pe(std::uint32_t pe, int pes);

/// Handler that makes a future fail; the argument is the text.
extern const std::uint32_t error_handler;

/// A future ends on another PE of the process than it was made on, for example as a member of a moved element. The PE
/// whose table has it removes it.
void forget_elsewhere(sched::pe& here, int pe, result_table::name name, std::shared_ptr<result_base> result);

}  // namespace objects

/// The writing end of a future: plain data, may be copied and sent anywhere. The first value counts.
template <class T>
struct promise {
  std::uint32_t pe = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  /// Sends the value to the future's PE. On a PE only.
  template <class... V>
  void set(V&&... value) const {
    set_as<false>(std::forward<V>(value)...);
  }
  /// The same, before everything that waits there.
  template <class... V>
  void set_immediately(V&&... value) const {
    set_as<true>(std::forward<V>(value)...);
  }
  /// The future throws remote_error with this text.
  void fail(const std::string& text) const {
    auto& here = sched::this_pe();
    check_pe(here);
    objects::post_packed(here, static_cast<int>(pe), objects::error_handler, 0, objects::pack_name(slot, generation),
                         objects::pack_arguments<std::tuple<std::string>>(
                             here, here.is_in_this_process(static_cast<int>(pe)), false, text));
  }

 private:
  // It may be from a message of a faulty process.
  void check_pe(const sched::pe& here) const {
    if (pe >= static_cast<std::uint32_t>(here.job().pes())) [[unlikely]]
      objects::throw_no_such_pe(pe, here.job().pes());
  }
  template <bool Immediate, class... V>
  void set_as(V&&... value) const {
    auto& here = sched::this_pe();
    check_pe(here);
    using tuple = std::tuple<objects::stored<T>>;
    const auto post = [&](auto&& stored_value) {
      objects::post_packed_as<Immediate>(
          here, static_cast<int>(pe), objects::result_handler<T>::handler, 0, objects::pack_name(slot, generation),
          objects::pack_arguments<tuple>(here, here.is_in_this_process(static_cast<int>(pe)), false,
                                         std::forward<decltype(stored_value)>(stored_value)));
    };
    if constexpr (std::is_void_v<T>) {
      static_assert(sizeof...(V) == 0, "promise<void>::set takes no value");
      post(std::monostate{});
    } else {
      post(T(std::forward<V>(value)...));
    }
  }
};

/// A value that will arrive. Move-only; may move to another PE of its process, with an element or a message, but not to
/// another process. Wait with `co_await` in a coroutine, or with `get()` in the function given to tri::run.
template <class T>
class [[nodiscard]] future {
 public:
  /// A future with its promise. On a PE only.
  future() : future(std::make_shared<objects::result_state<T>>()) {}
  /// A future of a state that the runtime sets.
  explicit future(std::shared_ptr<objects::result_state<T>> state) : state_(std::move(state)), pe_(&sched::this_pe()) {
    name_ = objects::pe_objects::of(*pe_).results.add(*state_);
  }
  future(future&& other) noexcept = default;
  future& operator=(future&& other) noexcept {
    drop();
    state_ = std::move(other.state_);
    pe_ = other.pe_;
    name_ = other.name_;
    return *this;
  }
  ~future() { drop(); }

  promise<T> get_promise() const {
    check_run();
    state_->count_for_owner();
    return {static_cast<std::uint32_t>(pe_->number()), name_.slot, name_.generation};
  }
  bool ready() const {
    sched::pe* const here = sched::detail::this_pe;
    if (here == pe_ || here == nullptr) [[likely]]
      return state_->is_ready();
    return objects::is_ready_elsewhere(*here, *state_);
  }

  /// Runs other messages of this PE until the value has arrived; only outside of entry methods and coroutines, which
  /// use co_await. Throws remote_error with the text of an exception of the called method.
  T get() {
    check_run();
    sched::pe& here = sched::this_pe();
    if (here.in_handler())
      throw std::logic_error("tri::future::get() inside an entry method or coroutine would stop its PE; use co_await");
    std::optional<objects::result_relay> relay;
    if (&here != pe_)
      relay.emplace(here, pe_->number(), state_);
    else if (!state_->is_ready())
      state_->main_program_waits();
    here.run_until([&] { return state_->is_ready(); }, true);
    return state_->take();
  }

  auto operator co_await() {
    check_run();
    return objects::future_awaiter<T>(*this);
  }

 private:
  friend class objects::future_awaiter<T>;
  void drop() {
    if (state_ == nullptr) return;
    state_->end_for_owner();
    if (!state_->is_abandoned()) {  // otherwise no table has it any more, and its PE may be gone
      if (sched::pe* const here = sched::detail::this_pe; here != nullptr && here != pe_)
        objects::forget_elsewhere(*here, pe_->number(), name_, std::move(state_));
      else
        remove();
    }
    state_.reset();
  }
  void check_run() const {
    if (state_->is_abandoned()) throw std::logic_error("tri::future: the run that made it has ended");
  }
  void remove() {
    objects::pe_objects::of(*pe_).results.remove(name_);
    state_->part();
  }
  std::shared_ptr<objects::result_state<T>> state_;
  sched::pe* pe_;
  objects::result_table::name name_{};
};

}  // namespace tri

#pragma GCC visibility pop
