#include "mpi/heap/job/private_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace tri::mpi {
namespace {

constexpr mode_t of_others = S_IRWXG | S_IRWXO;

void add_mode(text_line& text, mode_t mode) {
  for (int shift = 6; shift >= 0; shift -= 3) text << std::uint64_t{mode >> shift & 7};
}

}  // namespace

bool open_private_folder_at(std::string_view parent, std::string_view name, private_folder& folder,
                            text_line& problem) {
  text_line path;
  path << parent << "/" << name;
  // Created first, then checked: a folder that another user created in between fails the check.
  mkdir(path.c_str(), S_IRWXU);
  const int made = errno;
  const int descriptor = open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno == ENOENT ? made : errno;  // the error of creating it is more informative
    problem << path.view();
    if (error == ENOTDIR || error == ELOOP)
      problem << " is not a folder";
    else
      problem << " cannot be made (errno " << static_cast<std::uint64_t>(error) << ")";
    return false;
  }
  struct stat facts {};
  const bool seen = fstat(descriptor, &facts) == 0;
  if (seen && facts.st_uid == geteuid() && (facts.st_mode & of_others) == 0 && (facts.st_mode & S_IRWXU) == S_IRWXU) {
    folder.descriptor = descriptor;
    folder.path = path;
    return true;
  }
  close(descriptor);
  problem << path.view();
  if (!seen) {
    problem << " cannot be looked at";
  } else if (facts.st_uid != geteuid()) {
    problem << " belongs to user " << std::uint64_t{facts.st_uid};
  } else {
    problem << " has mode ";
    add_mode(problem, facts.st_mode);
  }
  return false;
}

private_folder open_private_folder(const start_environment& environment) {
  private_folder folder;
  text_line user, in_run, own;
  user << std::uint64_t{geteuid()};
  in_run << "/run/user/" << user.view();
  own << "trireme-" << user.view();
  const struct {
    std::string_view parent;
    std::string_view name;
  } candidates[] = {{environment["XDG_RUNTIME_DIR"], "trireme"},
                    {in_run.view(), "trireme"},
                    {"/tmp", own.view()},
                    {"/dev/shm", own.view()},
                    {environment["HOME"], ".trireme"}};
  text_line problems;
  for (const auto& each : candidates) {
    if (each.parent.empty() || each.parent[0] != '/') continue;
    if (!problems.empty()) problems << ", ";
    if (open_private_folder_at(each.parent, each.name, folder, problems)) return folder;
  }
  folder.reason << "no folder for the bootstrap sockets of a job: " << problems.view()
                << "; set XDG_RUNTIME_DIR to a folder of yours with mode 0700";
  return folder;
}

}  // namespace tri::mpi
