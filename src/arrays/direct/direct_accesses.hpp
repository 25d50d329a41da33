// The direct accesses of one PE to memory of other hosts, and what keeps them in order with its messages:
//   - A PE with unfenced puts or updates to another gets nothing from that one directly, and puts nothing: that would
//     overtake them.
//   - A direct put waits for no reply, so it is not begun while ordinary reads of the same PE are unanswered.
//   - Accesses that take time (an emulated latency) may overtake each other, but not those to the same bytes if one of
//     them writes; and before an ordinary request to their target they end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays/direct/remote_addresses.hpp"
#include "sched/remote/emulated_link.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/detail/os/unique_function.hpp"

namespace tri::arrays {

class outstanding_requests;

/// Of one PE, used by its thread.
class direct_accesses {
 public:
  /// Null: this job has none.
  static direct_accesses* here();

  direct_accesses() = default;
  direct_accesses(const direct_accesses&) {}  // of the empty one that pe_local copies
  direct_accesses& operator=(const direct_accesses&) = delete;
  ~direct_accesses();

  remote_addresses& process() const { return *process_; }
  bool are_immediate() const { return link_->is_immediate(); }
  direct_attempt get_now(const local_array& array, std::int32_t pe, const direct_run& run);
  direct_attempt begin(remote_access how, const local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                       os::unique_function<void()> ended);
  direct_attempt put_value(const local_array& array, std::int32_t pe, const direct_run& run);

  /// Those to this PE, or all: complete when it returns.
  void end_all_of(std::int32_t pe);
  void end_all();
  void note_reading(std::int32_t pe) { ++readings_[pe]; }
  void reading_answered(std::int32_t pe);
  /// What the next fence asks this PE for.
  void want_with_fence(std::int32_t pe, array_id array, std::uint32_t chunk) { wanted_[pe] = {array, chunk}; }
  std::pair<array_id, std::uint32_t> take_wanted(std::int32_t pe);
  /// An access under way has ended, if it has not been ended before.
  void time_is_up(std::uint64_t number);

 private:
  /// Ends when its last access does.
  struct transfer {
    std::size_t unfinished;
    os::unique_function<void()> ended;
  };
  /// One use of an address.
  struct operation {
    std::int32_t pe;
    remote_access how;
    remote_addresses::use with;
    std::byte* local;
    std::uint64_t bytes;
    std::vector<std::byte> copy = {};  // of a value that is put
    std::int64_t due_ns = 0;
    std::shared_ptr<transfer> of = {};
  };

  bool may_access(remote_access how, const local_array& array, std::int32_t pe) const;
  direct_attempt prepare(remote_access how, const local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                         std::vector<operation>& made);
  void access(std::span<const adapter_access> all);
  void carry_out(operation& one);
  void start(operation one);
  void end(std::map<std::uint64_t, operation>::iterator one);
  template <class Which>
  void end_those(Which&& which);

  remote_addresses* process_ = nullptr;
  std::unique_ptr<access_port> port_;
  outstanding_requests* messages_ = nullptr;
  std::optional<sched::emulated_link> link_;
  std::unordered_map<std::int32_t, std::uint64_t> readings_;  // ordinary ones under way, by PE
  std::unordered_map<std::int32_t, std::pair<array_id, std::uint32_t>> wanted_;
  std::uint64_t numbers_ = 0;
  std::map<std::uint64_t, operation> operations_;  // under way
};

}  // namespace tri::arrays
