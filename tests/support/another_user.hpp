// Playing other users of the host, which takes root: a forked child that has given root away.
#pragma once

#include <grp.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "support/command_runner.hpp"

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

/// A copy of a program that another user can run: the folder of the build may be one that others cannot enter.
class program_for_others {
 public:
  explicit program_for_others(const std::filesystem::path& program) : copy_(folder_.path() / program.filename()) {
    std::filesystem::copy_file(program, copy_);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }
  std::string path() const { return copy_.string(); }

 private:
  const temporary_folder folder_;
  const std::filesystem::path copy_;
};

/// Root in a container may lack the right, or the container other users.
inline bool can_be_another_user() {
  static const bool can = geteuid() == 0 && run_as_another_user([] { return 0; }) == 0;
  return can;
}

}  // namespace tri::testing
