// One connection on which many threads wait for different answers: one of them reads for all, the others sleep, and
// when the reader has its own answer another takes over. So no dedicated thread is needed. The owner has the mutex, the
// filed answers and the connection.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <type_traits>

namespace tri::boot {

class shared_reader {
 public:
  // Returns when arrived() is true; called with the mutex of `locked` held, and so are arrived() and file(). read()
  // waits for the connection and is called without it, by one thread at a time; file() gets its result. An exception of
  // either is thrown in all threads that wait, now or later.
  template <class Arrived, class Read, class File>
  void wait_until(std::unique_lock<std::mutex>& locked, const Arrived& arrived, const Read& read, const File& file) {
    while (!arrived()) {
      if (broken_) std::rethrow_exception(broken_);
      if (somebody_reads_) {
        news_.wait(locked);
        continue;
      }
      somebody_reads_ = true;
      locked.unlock();
      std::optional<std::invoke_result_t<Read>> came;
      std::exception_ptr problem;
      try {
        came.emplace(read());
      } catch (...) {
        problem = std::current_exception();
      }
      locked.lock();
      somebody_reads_ = false;
      news_.notify_all();  // perhaps it is theirs; if not, one of them reads on
      try {
        if (problem) std::rethrow_exception(problem);
        file(std::move(*came));
      } catch (...) {
        broken_ = std::current_exception();
      }
    }
  }

 private:
  std::condition_variable news_;
  bool somebody_reads_ = false;
  std::exception_ptr broken_;
};

}  // namespace tri::boot
