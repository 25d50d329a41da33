// Locks of the whole job: at most one holder over all PEs of all hosts, in the order in which they asked.
//
//   const auto lock = tri::global_lock::made_by_all();
//   {
//     const auto held = lock.acquire().get();            // in coroutines: co_await lock.acquire()
//     a(0) = a(0) + 1;
//   }                                                    // released: the next holder sees what was written
//
// One PE keeps the queue of a lock. A wait is no message: asking, the answer and releasing are one each, however long
// it takes. That PE answers when it runs messages, so main programs that compute for long call tri::progress().
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <coroutine>
#include <cstdint>
#include <utility>

#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

class lock_request;

/// Handle of a lock: plain data, may be sent. All calls on PEs only. Errors: std::logic_error for one that names no
/// lock, or was freed; remote_error from a request for a lock that another PE has freed.
class global_lock {
 public:
  /// Names no lock.
  global_lock() = default;
  /// A new lock. Collective: every PE makes it, in the same order as its other locks; that takes no message.
  static global_lock made_by_all();
  /// The same made by the calling PE alone, which keeps its queue. The handle may be sent on at once.
  static global_lock made_alone();

  explicit operator bool() const { return id_ != 0; }
  friend bool operator==(const global_lock&, const global_lock&) = default;

  /// Asks for it. Each request gets the lock once; two of one PE wait for each other, too.
  lock_request acquire() const;
  /// Releases it: as soon as all writes that this PE made before have been carried out, the next one has it. Does not
  /// wait. Throws std::logic_error when the calling PE does not hold it. For programs that do without the guard.
  void release() const;
  /// The PE that keeps the queue.
  int home() const;
  /// Ends it, behind all requests that were made before: later ones fail. One that all PEs have made: collective, ready
  /// when all have called it. One that a PE has made alone: called by one. Throws std::logic_error while the calling PE
  /// holds it or waits for it.
  future<void> free() const;

 private:
  explicit global_lock(std::uint64_t id) : id_(id) {}
  std::uint64_t id_ = 0;  // partition and number, as of arrays
};

/// Holds a lock until its end; made of a lock that the PE holds, as lock_request does. Belongs to that PE: one that
/// ends elsewhere ends the job with a line.
class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(const global_lock& held) : held_(held) {}
  lock_guard(lock_guard&& other) noexcept : held_(std::exchange(other.held_, {})) {}
  lock_guard& operator=(lock_guard&& other) noexcept {
    if (this != &other) {
      end();
      held_ = std::exchange(other.held_, {});
    }
    return *this;
  }
  ~lock_guard() { end(); }

  explicit operator bool() const { return static_cast<bool>(held_); }
  /// Releases it now. Throws std::logic_error when this holds none.
  void release() { std::exchange(held_, {}).release(); }
  /// Holds it no more; global_lock::release will release it.
  global_lock detach() { return std::exchange(held_, {}); }

 private:
  void end() noexcept;
  global_lock held_;
};

/// A request for a lock: `.get()` waits in main programs, `co_await` in coroutines; both give a lock_guard. One that
/// ends unused gives the lock back as soon as it has it. A program may instead poll ready(), and call
/// global_lock::release: that ends the request, and taking the guard throws std::logic_error then.
class [[nodiscard]] lock_request {
 public:
  lock_request(lock_request&& other) noexcept
      : granted_(std::move(other.granted_)), lock_(std::exchange(other.lock_, {})), number_(other.number_) {}
  lock_request& operator=(lock_request&&) = delete;
  ~lock_request() {
    if (lock_) abandon();
  }

  bool ready() const { return granted_.ready(); }
  lock_guard get() {
    granted_.get();
    return taken();
  }
  auto operator co_await() {
    struct awaiter {
      decltype(std::declval<future<void>&>().operator co_await()) inner;
      lock_request& of;
      explicit awaiter(lock_request& request) : inner(request.granted_.operator co_await()), of(request) {}
      bool await_ready() const { return inner.await_ready(); }
      void await_suspend(std::coroutine_handle<> coroutine) { inner.await_suspend(coroutine); }
      lock_guard await_resume() {
        inner.await_resume();
        return of.taken();
      }
    };
    return awaiter(*this);
  }

 private:
  friend class global_lock;
  lock_request(const global_lock& lock, std::uint64_t number, future<void> granted)
      : granted_(std::move(granted)), lock_(lock), number_(number) {}
  lock_guard taken() {
    forget();
    return lock_guard(std::exchange(lock_, {}));
  }
  void forget() const;
  void abandon() const noexcept;
  future<void> granted_;
  global_lock lock_;  // until it was taken
  std::uint64_t number_;
};

/// A lock that the calling PE makes alone, as make_global_array does.
inline global_lock make_global_lock() { return global_lock::made_alone(); }

}  // namespace tri

#pragma GCC visibility pop
