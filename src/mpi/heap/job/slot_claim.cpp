#include "mpi/heap/job/slot_claim.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "mpi/heap/addresses.hpp"
#include "os/hash.hpp"

namespace tri::mpi {

namespace {

constexpr const char* locks_name = "mpi-slots";
dev_t locks_device = 0;
ino_t locks_number = 0;

// Where the bytes of a job begin among those that a file can have. Jobs that fall together share their slots.
off_t first_byte_of(std::string_view job) {
  constexpr std::uint64_t jobs = (std::uint64_t{1} << 62) / most_slots;
  return static_cast<off_t>(os::hashed(job) % jobs * most_slots);
}

struct flock lock_of(std::string_view job, unsigned slot) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = first_byte_of(job) + static_cast<off_t>(slot);
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool is_file_of_slots(int file) {
  struct stat status {};
  return locks_number != 0 && fstat(file, &status) == 0 && status.st_dev == locks_device &&
         status.st_ino == locks_number;
}

int move_descriptor_up(int descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  const rlim_t end = std::min<rlim_t>(limit.rlim_cur, 1024);
  if (end < 64) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(end - 32));
  if (moved < 0) return descriptor;
  close(descriptor);
  return moved;
}

unsigned processes_of_job(int own_file, std::string_view job) {
  constexpr unsigned longest_gap = 8;  // slots are claimed from the lowest; those of processes that ended are free
  unsigned taken = 1;                  // our own lock is none to us
  unsigned free_in_a_row = 0;
  for (unsigned slot = 0; slot < most_slots && free_in_a_row < longest_gap; ++slot) {
    struct flock lock = lock_of(job, slot);
    if (fcntl(own_file, F_OFD_GETLK, &lock) != 0) return most_slots;  // unknown
    if (lock.l_type == F_UNLCK) {
      ++free_in_a_row;
    } else {
      ++taken;
      free_in_a_row = 0;
    }
  }
  return taken;
}

slot_claim claim_slot(std::string_view job, const private_folder& folder) {
  slot_claim claim;
  const int file = openat(folder.descriptor, locks_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    claim.reason << folder.path.view() << "/" << locks_name << " cannot be opened (errno "
                 << static_cast<std::uint64_t>(errno) << ")";
    return claim;
  }
  for (unsigned slot = 0; slot < most_slots; ++slot) {
    struct flock lock = lock_of(job, slot);
    if (fcntl(file, F_OFD_SETLK, &lock) == 0) {
      claim.slot = static_cast<int>(slot);
      struct stat status {};
      fstat(file, &status);
      locks_device = status.st_dev;
      locks_number = status.st_ino;
      claim.file = move_descriptor_up(file);
      return claim;
    }
    if (errno == EAGAIN || errno == EACCES) continue;
    claim.reason << "slot " << static_cast<std::uint64_t>(slot) << " cannot be locked in " << folder.path.view() << "/"
                 << locks_name << " (errno " << static_cast<std::uint64_t>(errno) << ")";
    close(file);
    return claim;
  }
  claim.reason << "all " << static_cast<std::uint64_t>(most_slots) << " slots of job " << job
               << " on this host are taken";
  close(file);
  return claim;
}

}  // namespace tri::mpi
