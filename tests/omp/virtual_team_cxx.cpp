// C++ on virtual threads: exceptions that are thrown, caught and handled on while the thread waits for others in a
// barrier, a critical section or a lock; objects on the stacks of threads; reductions of a class type.
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int failures = 0;
void check(bool good, int line) {
  if (good) return;
  std::printf("line %d\n", line);
#pragma omp atomic
  ++failures;
}
#define CHECK(condition) check(condition, __LINE__)

// Each thread handles exceptions of its own across waits.
void handled_across_waits() {
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < 10; ++round) {
      try {
        try {
          if (me % 3 != 1) throw std::runtime_error(std::to_string(100 * me + round));
        } catch (const std::runtime_error& outer) {
#pragma omp critical
          sum += std::atoi(outer.what());
          try {
            throw std::out_of_range("inner " + std::to_string(me));
          } catch (const std::out_of_range& inner) {
            CHECK(std::string(inner.what()) == "inner " + std::to_string(me));
#pragma omp critical
            CHECK(std::uncaught_exceptions() == 0);
          }
#pragma omp critical
          CHECK(std::atoi(outer.what()) == 100 * me + round);
          throw;  // the outer one again
        }
      } catch (const std::exception& again) {
        CHECK(std::atoi(again.what()) == 100 * me + round);
        CHECK(me % 3 != 1);
        CHECK(std::current_exception() != nullptr);
      }
      CHECK(std::current_exception() == nullptr);
#pragma omp barrier
    }
    // All threads wait inside their handlers.
    try {
      throw me;
    } catch (int number) {
      const std::exception_ptr own = std::current_exception();
#pragma omp barrier
      CHECK(number == me);
      CHECK(std::current_exception() == own);
#pragma omp barrier
      try {
        std::rethrow_exception(own);
      } catch (int again) {
        CHECK(again == me);
      }
    }
  }
  const int threads = omp_get_max_threads();
  long expected = 0;
  for (int me = 0; me < threads; ++me) {
    for (int round = 0; round < 10; ++round) expected += me % 3 != 1 ? 100 * me + round : 0;
  }
  CHECK(sum == expected);
  std::printf("exceptions\n");
}

// A region that begins while an exception is being handled; and one that unwinds past a waiting destructor.
struct waits_when_destroyed {
  int* count;
  explicit waits_when_destroyed(int* counted) : count(counted) {}
  ~waits_when_destroyed() {
    CHECK(std::uncaught_exceptions() == 1);
#pragma omp critical(destroyed)
    ++*count;
#pragma omp barrier
    CHECK(std::uncaught_exceptions() == 1);
  }
};
void unwinding() {
  int count = 0;
  try {
    throw std::string("outside");
  } catch (const std::string& outside) {
#pragma omp parallel
    {
      try {
        const waits_when_destroyed object(&count);
        throw omp_get_thread_num();
      } catch (int number) {
        CHECK(number == omp_get_thread_num());
      }
    }
    CHECK(outside == "outside");
    CHECK(std::current_exception() != nullptr);
  }
  CHECK(count == omp_get_max_threads());
  std::printf("unwinding\n");
}

struct bag {
  std::vector<int> values;
  void add(const bag& other) { values.insert(values.end(), other.values.begin(), other.values.end()); }
};
#pragma omp declare reduction(join:bag : omp_out.add(omp_in))

void reductions() {
  bag all;
  std::string text;
#pragma omp parallel for schedule(static) reduction(join : all)
  for (int i = 0; i < 1000; ++i) all.values.push_back(i);
#pragma omp parallel for ordered schedule(static)
  for (int i = 0; i < 40; ++i) {
    const std::string digits = std::to_string(i * i);
#pragma omp ordered
    text += digits;
  }
  std::string copied = "none";
  int same = 0;
#pragma omp parallel firstprivate(copied) reduction(+ : same)
  {
#pragma omp single copyprivate(copied)
    copied = "a text that is too long to be kept inside of a string object";
    same += copied.size() == 60;
  }
  CHECK(same == omp_get_max_threads());
  std::printf("reductions: %zu %d %s\n", all.values.size(), std::accumulate(all.values.begin(), all.values.end(), 0),
              text.c_str());
}

void tasks_with_objects() {
  std::vector<std::string> results(30);
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 30; ++i) {
    std::string text(static_cast<std::size_t>(i) * 3, 'x');
#pragma omp task firstprivate(text) shared(results)
    {
      try {
        throw text + "!";
      } catch (const std::string& caught) {
        results[static_cast<std::size_t>(i)] = caught;
      }
    }
    text = "changed";
  }
  std::size_t length = 0;
  for (const std::string& each : results) length += each.size();
  std::printf("tasks: %zu\n", length);
}

}  // namespace

int main() {
  for (int round = 0; round < 5; ++round) {
    handled_across_waits();
    unwinding();
    reductions();
    tasks_with_objects();
  }
  std::printf("%d failures\n", failures);
  return failures != 0 ? 1 : 0;
}
