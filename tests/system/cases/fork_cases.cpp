// A program that forks: what its children do is not the job's business. The PEs go on meanwhile.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "system/cases/cases.hpp"

namespace {
bool is_child_of_fork = false;
}

// Asked by the leak sanitizer at the end of a process. In a child it would take what only the parent's threads and the
// arena, which it does not search, point to for lost.
extern "C" int __lsan_is_turned_off() { return is_child_of_fork ? 1 : 0; }

namespace tri::testing {
namespace {

struct counter : array_element<counter, index<1>> {
  explicit counter(int start) : count(start) {}
  int add(int more) { return count += more; }
  int count;
};

// How a child ends that does this.
int end_of_child(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    is_child_of_fork = true;
    alarm(60);
    body();
    _exit(99);
  }
  check(child > 0, "fork");
  int status = 0;
  check_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void check_job_goes_on(const array<counter>& counters) {
  check_equal(counters.reduce<&counter::add>(sum, 1).get() % 200, 0);
}

void fork_and_exec() {
  const auto counters = make_array<counter>({200}, 0);
  check_job_goes_on(counters);
  check_equal(end_of_child([] { execl("/bin/sh", "sh", "-c", "exit 7", static_cast<char*>(nullptr)); }), 7);
  check_job_goes_on(counters);
}

// In the child a message would go nowhere; what its parent has made it can read.
void fork_and_read() {
  const buffer<int> numbers(std::size_t{100'000}, 42);
  check_equal(end_of_child([&] { _exit(numbers[0] == 42 && numbers[99'999] == 42 ? 0 : 1); }), 0);
  check_job_goes_on(make_array<counter>({200}, 0));
}

// Only where strict_overcommit is preloaded: the child's view of each window was refused as memory that it may write,
// and given as memory that it may read.
void crash_fork_under_strict_overcommit() {
  const auto* const refusals = static_cast<const int*>(dlsym(RTLD_DEFAULT, "strict_overcommit_refusals"));
  check(refusals != nullptr, "strict_overcommit is not preloaded");
  buffer<int> numbers(std::size_t{100'000}, 42);
  const int before = *refusals;
  const int windows = expected().processes;
  check_equal(end_of_child([&] { _exit(numbers[99'999] == 42 && *refusals == before + windows ? 0 : 1); }), 0);
  check_equal(*refusals, before);
  check_equal(end_of_child([&] {
                const rlimit no_core_file{};
                setrlimit(RLIMIT_CORE, &no_core_file);
                numbers[0] = 43;
                _exit(0);
              }),
              128 + SIGSEGV);
  check_equal(numbers[0], 42);
  check_job_goes_on(make_array<counter>({200}, 0));
}

void fork_and_exit() {
  const auto counters = make_array<counter>({200}, 0);
  check_job_goes_on(counters);
  check_equal(end_of_child([] { std::exit(5); }), 5);
  check_job_goes_on(counters);
}

// What the child does not catch ends the child, and says so.
void fork_and_throw() {
  const auto counters = make_array<counter>({200}, 0);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    is_child_of_fork = true;
    throw std::runtime_error("this child has lost its way");
  }
  int status = 0;
  check_equal(waitpid(child, &status, 0), child);
  check(getpid() == parent && WIFEXITED(status) && WEXITSTATUS(status) == 1, "the child ends with status 1");
  check_job_goes_on(counters);
}

const case_entry exec_case{"fork_and_exec", &fork_and_exec}, read_case{"fork_and_read", &fork_and_read},
    strict_case{"crash_fork_under_strict_overcommit", &crash_fork_under_strict_overcommit},
    exit_case{"fork_and_exit", &fork_and_exit}, throw_case{"fork_and_throw", &fork_and_throw};

}  // namespace
}  // namespace tri::testing
