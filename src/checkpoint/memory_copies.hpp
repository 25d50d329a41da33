// Checkpoints in memory, of which each part (a PE's state, or what all PEs have in common) lies on two hosts: which
// memory a new one is written to, when it counts, and from which copies a job goes on. State machines without I/O.
//
//   memory of a host: two slots, each with parts of a generation, and a manifest when that counts
//
//   writing   every PE writes its part on its own host       into the slot that is not of the last complete one
//   copying   and sends it to the next host
//   counting  both copies of all parts are complete: every host gets the manifest
//   complete  all hosts have it                              only now the other slot may be overwritten
//
// Invariant: from the first complete generation on, and whichever host is lost, at whatever moment, the hosts that are
// left have all parts of the last complete generation, or of a newer one that counts. A host that is lost is one whose
// memory is gone. After that the job starts again and writes its state anew; until this is complete, a second loss may
// take parts whose other copy was on the host lost before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tri::checkpoint_files {

/// The host that has the other copy of what `host` writes.
constexpr int buddy_of(int host, int hosts) { return (host + 1) % hosts; }

/// Which memory the next checkpoint is written to. Of the PE that conducts checkpoints.
class memory_slots {
 public:
  struct place {
    std::uint64_t generation = 0;
    int slot = 0;
  };
  /// One is about to be written. Its number is above all before, complete or not: what is left of them never looks new.
  place begin() { return {++last_, complete_ ? 1 - *complete_ : 0}; }
  void completed(const place& done) { complete_ = done.slot; }
  /// The job goes on from this one: it is the last that may not be overwritten.
  void goes_on_from(const place& found) {
    last_ = found.generation;
    complete_ = found.slot;
  }

 private:
  std::uint64_t last_ = 0;
  std::optional<int> complete_;
};

/// One checkpoint on its way. Parts have numbers from 0 on.
class copies_under_way {
 public:
  copies_under_way(std::vector<int> host_of_part, int hosts);

  /// Events: the part is on its own host; its copy is on the next one; the host has the manifest.
  void written(int part) { ++at(written_, part); }
  void copied(int part) { ++at(copied_, part); }
  void counted(int host) { ++at(counted_, host); }

  /// The host of the copy; none: there is only one host.
  std::optional<int> copy_goes_to(int part) const;
  /// Manifests may be written.
  bool may_count() const;
  /// The checkpoint may be reported, and the next one begin.
  bool is_complete() const;

 private:
  static std::uint8_t& at(std::vector<std::uint8_t>& all, int number) { return all[static_cast<std::size_t>(number)]; }

  const std::vector<int> host_of_part_;
  const int hosts_;
  std::vector<std::uint8_t> written_, copied_, counted_;
};

/// What one host has in one slot.
struct held_generation {
  std::uint64_t generation = 0;
  std::uint64_t token = 0;  ///< drawn for it
  int slot = 0;
  bool counts = false;    ///< it has the manifest
  std::vector<bool> has;  ///< by part: complete here
};

/// From which copies a job goes on.
struct chosen_copies {
  std::uint64_t generation = 0;
  std::uint64_t token = 0;
  int slot = 0;
  int manifest_of = 0;                          ///< a host that has it
  std::vector<std::vector<int>> hosts_of_part;  ///< by part: who has it; never empty
};

/// Of the newest generation that counts and is complete on the hosts together. None: there is none.
std::optional<chosen_copies> choose_copies(const std::vector<std::vector<held_generation>>& of_hosts);

/// Who reads each part: a host that has it, each about as many.
std::vector<int> choose_readers(const chosen_copies& chosen, int hosts);

}  // namespace tri::checkpoint_files
