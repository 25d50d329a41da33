// A number of Fibonacci with an object for every call: next to no work in each, so it shows what an object costs, and
// how calls and their answers find each other wherever they have begun.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <exception>

#include "searches/arguments.hpp"
#include "trireme/objects.hpp"

namespace {

std::int64_t fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

struct call : tri::object<call> {
  using parent = tri::element_ref<call>;

  /// Answers to `above`, the first call to `answer`.
  call(int n, int smallest, parent above, tri::promise<std::int64_t> answer) : above_(above), answer_(answer) {
    if (n < smallest || n < 2) {
      give(fib(n));
      return;
    }
    tri::make_object<call>(n - 1, smallest, this_object(), answer);
    tri::make_object<call>(n - 2, smallest, this_object(), answer);
  }
  void add(std::int64_t part) {
    sum_ += part;
    if (++parts_ == 2) give(sum_);
  }

 private:
  void give(std::int64_t value) {
    if (above_ == parent())
      answer_.set(value);
    else
      above_.send<&call::add>(value);
    erase_this();
  }
  parent above_;
  tri::promise<std::int64_t> answer_;
  std::int64_t sum_ = 0;
  int parts_ = 0;
};

}  // namespace

// Usage: fib [n [calls below that are computed in one method]]
int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    try {
      const int n = searches::number_of(count, arguments, 1, "n", 20, 0, 40);
      const int smallest = searches::number_of(count, arguments, 2, "smallest", 2, 2, 40);
      const auto before = std::chrono::steady_clock::now();
      tri::future<std::int64_t> answer;
      tri::make_object<call>(n, smallest, call::parent(), answer.get_promise());
      const std::int64_t found = answer.get();
      const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
      if (found != fib(n)) throw std::runtime_error(fmt::format("found {}, but it is {}", found, fib(n)));
      fmt::print("fib({}) = {}, verified; {:.1f} ms\n", n, found, ms);
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "fib: {}\n", error.what());
      return 1;
    }
  });
}
