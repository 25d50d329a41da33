// The arrays of one PE, by name: those that it has made, and those whose handles came in messages. Requests for an
// array that this PE has not made yet wait here (Farreras 2008 leaves that open; without it a request that overtakes
// the notice of a creation would be lost).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays/id_counters.hpp"
#include "objects/location/number_set.hpp"
#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/os/unique_function.hpp"

namespace tri::arrays {

class host_directory;

/// Of one PE, used by its thread.
class array_table {
 public:
  static array_table& here();

  array_table() = default;
  array_table(const array_table&) {}  // of the empty one that pe_local copies
  array_table& operator=(const array_table&) = delete;
  ~array_table();

  id_counters& ids() { return ids_; }
  std::shared_ptr<local_array> find(array_id id) const;
  /// Those that were not freed, by name.
  std::vector<std::shared_ptr<local_array>> all() const;
  bool was_freed(array_id id) const;
  /// Calls visit(partition, first number, last number).
  template <class Visit>
  void visit_freed(Visit&& visit) const {
    for (const auto& [partition, numbers] : freed_)
      numbers.visit_ranges([&, of = partition](std::uint64_t first, std::uint64_t last) { visit(of, first, last); });
  }
  /// In the job before its restart.
  void freed_before(std::uint64_t partition, std::uint64_t first, std::uint64_t last);
  void enter(const std::shared_ptr<local_array>& array);
  void make_piece(local_array& array);
  void free_piece(local_array& array) { free_piece(array, at::run); }
  /// The same for one that this PE may not have met yet: then it will not make it.
  void free_by_name(array_id id);
  /// Keeps a request of PE `source` until this PE has made its piece of the array, or freed it.
  void when_made(array_id id, int source, os::unique_function<void()> request);
  /// Runs `answer` when no request of this PE waits here.
  void when_none_waits_of(int source, os::unique_function<void()> answer);

 private:
  struct early_request {
    int source;
    os::unique_function<void()> run;
  };
  void run_early(array_id id);
  enum class at : std::uint8_t { run, end };
  void free_piece(local_array& array, at when);
  std::string describe_waiting() const;

  bool reports_ = false;  // to the stall report
  id_counters ids_;
  std::unordered_map<array_id, std::shared_ptr<local_array>> arrays_;
  std::map<std::uint64_t, objects::number_set> freed_;  // by partition
  std::unordered_map<array_id, std::vector<early_request>> early_;
  std::unordered_map<int, std::size_t> early_of_;  // by source
  std::vector<early_request> early_fences_;
};

/// The directory of this host; made at its first use.
host_directory& directory_of_host();

}  // namespace tri::arrays
