// Playing other users of the host, which takes root: a forked child that has given root away.
#pragma once

#include <grp.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace tri::testing {

inline constexpr uid_t another_user = 65534;
inline constexpr const char* why_no_other_user = "only root can play another user, where it may change its user";

/// Gives root away, with all groups; in a child. False: it did not work.
inline bool become_user(uid_t user) {
  return setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

/// A child of this user that does `what` and ends with its result; its process number.
inline pid_t start_as(uid_t user, const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(become_user(user) ? what() : 125);
  return child;
}

/// The same, waited for: its result; 128 + the signal that ended it.
inline int run_as(uid_t user, const std::function<int()>& what) {
  int status = 0;
  waitpid(start_as(user, what), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline pid_t start_as_another_user(const std::function<int()>& what) { return start_as(another_user, what); }
inline int run_as_another_user(const std::function<int()>& what) { return run_as(another_user, what); }

/// Root in a container may lack the right, or the container other users.
inline bool can_be_another_user() {
  static const bool can = geteuid() == 0 && run_as_another_user([] { return 0; }) == 0;
  return can;
}

}  // namespace tri::testing
