// What one host has registered with its transport, and which hosts know the addresses (Farreras 2008, chapter 6): the
// target's half of the cache of remote addresses. Array memory is registered when the first remote access to it comes,
// and stays so until the limit of registered memory or the end of the array makes it go. Then every host that may know
// the address invalidates it, and the memory is deregistered behind the last acknowledgement. A pure state machine:
// accesses and acknowledgements in, addresses and invalidations out. One thread at a time. The README has the rules.
//
// Invariant: what was given to another host stays registered, with its key, until that host has acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays/addresses/address_messages.hpp"
#include "arrays/addresses/chunking.hpp"
#include "arrays/addresses/memory_registrar.hpp"

namespace tri::arrays {

struct registration_options {
  chunking chunks;
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();  // or the transport's limit, if that is lower
  std::size_t listed_hosts = 8;  // that know an address; if there are more, all hosts are sent the invalidation
};

using area_number = std::uint32_t;

/// Memory of this host that an operation of this host uses through the transport.
struct local_use {
  remote_address where;  // of the first byte of what was asked for
  area_number area = 0;
};

class registration_table {
 public:
  struct counters {
    std::uint64_t lookups = 0;  // accesses of other hosts and uses of this one
    std::uint64_t registrations = 0;
    std::uint64_t deregistrations = 0;
    std::uint64_t victims = 0;
    std::uint64_t invalidations = 0;    // messages
    std::uint64_t broadcasts = 0;       // invalidations that went to all hosts
    std::uint64_t without_address = 0;  // accesses and uses that have to take the ordinary path
    std::uint64_t too_large = 0;        // of these: for good, because of a limit that a chunk exceeds
    std::uint64_t refused = 0;          // registrations, by the transport within its own limits
  };
  enum class area_state : std::uint8_t {
    unused,
    wanted,      // is registered as soon as its victims are gone
    registered,  // the only state in which addresses are given out and uses begin
    leaving,     // deregistered when all acknowledgements are in and no use of this host is left
  };

  /// `registrar` outlives the table. A host never sends itself invalidations.
  registration_table(std::size_t hosts, host_number self, memory_registrar& registrar,
                     const registration_options& options = {});

  /// The part of the array on this host. Nothing is registered yet.
  void add_array(array_handle array, std::uint64_t begin, std::uint64_t bytes);
  /// From now on there are no addresses of it. True: its memory may be given back at once. Else next_freed() says when.
  /// The functions with `out` append what is to be sent now.
  [[nodiscard]] bool free_array(array_handle array, std::vector<outgoing_invalidation>& out);
  /// An array whose memory may be given back now. To be called after every event, until there is none.
  std::optional<array_handle> next_freed();

  /// A request of another host, which takes the ordinary path in any case. The address, if there is one, goes with the
  /// reply. Requests that do not ask for an address need no call.
  std::optional<reply_address> on_access(host_number from, array_handle array, chunk_number chunk,
                                         std::vector<outgoing_invalidation>& out);
  void on_acknowledgement(host_number from, const acknowledgement& message);

  /// An operation of this host needs its memory registered: part of an array, or private. Memory that is in use is not
  /// deregistered. Nothing: the ordinary path.
  std::optional<local_use> begin_local_use(std::uint64_t begin, std::uint64_t bytes,
                                           std::vector<outgoing_invalidation>& out);
  void end_local_use(area_number area);
  /// To be called before private memory that was used goes back to an allocator. False: some of it is in use.
  [[nodiscard]] bool release_private(std::uint64_t begin, std::uint64_t bytes);

  std::uint64_t registered_bytes() const { return registered_bytes_; }
  std::uint64_t most_bytes() const { return most_bytes_; }
  /// Registered or leaving.
  std::size_t registered() const { return registered_; }
  std::size_t leaving() const { return leaving_; }
  /// Arrays that were freed, and whose memory may not be given back yet.
  std::size_t freed_waiting() const;
  /// Rises with each invalidation that begins.
  invalidation_epoch epoch() const { return epoch_; }
  const counters& count() const { return count_; }

  struct area_view {
    std::uint64_t begin;
    std::uint64_t bytes;
    remote_address where;
    array_handle array;
    chunk_number chunk;
    bool is_private;
    area_state state;
    std::uint32_t local_uses;
    std::uint32_t unacknowledged;
    invalidation_epoch invalidated;
    const std::vector<host_number>& hosts;  // that know the address
    bool is_known_to_all;                   // there were more than are listed
  };
  /// Calls visit(area_view): those registered in the order of registration, those wanted in the order of requests,
  /// those leaving by address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (area_number i = registered_ones_.first; i != none; i = areas_[i].next) visit(view_of(areas_[i]));
    for (area_number i = wanted_ones_.first; i != none; i = areas_[i].next) visit(view_of(areas_[i]));
    for (const auto& [place, number] : by_address_)
      if (areas_[number].is == area_state::leaving) visit(view_of(areas_[number]));
  }

 private:
  static constexpr area_number none = std::numeric_limits<area_number>::max();
  using range = std::pair<std::uint64_t, std::uint64_t>;  // begin, bytes

  struct area {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    remote_address where;
    array_handle array = 0;
    chunk_number chunk = 0;
    std::uint32_t local_uses = 0;
    std::uint32_t unacknowledged = 0;
    invalidation_epoch invalidated = 0;
    std::vector<host_number> hosts;
    area_number next = none;  // in the list of its state
    area_number previous = none;
    area_state is = area_state::unused;
    bool is_private = false;
    bool is_known_to_all = false;
  };
  struct area_list {
    area_number first = none;
    area_number last = none;
  };
  struct array_part {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::size_t areas = 0;
    bool is_freed = false;
  };

  static area_view view_of(const area& of) {
    return {of.begin, of.bytes,      of.where,          of.array,       of.chunk, of.is_private,
            of.is,    of.local_uses, of.unacknowledged, of.invalidated, of.hosts, of.is_known_to_all};
  }

  void append(area_list& list, area_number number);
  void remove(area_list& list, area_number number);
  area_number find(std::uint64_t begin, std::uint64_t bytes) const;
  area_number find_around(std::uint64_t begin, std::uint64_t bytes) const;
  const array_part* part_around(std::uint64_t begin, std::uint64_t bytes, array_handle& array) const;
  bool overlaps_a_part(std::uint64_t begin, std::uint64_t bytes) const;
  bool overlaps_an_area(std::uint64_t begin, std::uint64_t bytes) const;

  area_number registered_area(const area& what, std::vector<outgoing_invalidation>& out);
  area_number make_area(const area& what);
  bool may_be_victim(const area& of) const;
  bool make_room(std::uint64_t bytes, std::vector<outgoing_invalidation>& out);
  void serve_wanted();
  void invalidate(area_number number, std::vector<outgoing_invalidation>& out);
  void deregister_if_done(area_number number);
  void forget(area_number number);
  void report_if_freed(array_handle array);
  void add_host(area& of, host_number host);

  std::size_t hosts_;
  host_number self_;
  memory_registrar* registrar_;
  registration_options options_;
  std::uint64_t most_bytes_;
  std::uint64_t most_contiguous_bytes_;
  std::vector<area> areas_;
  area_number first_unused_ = none;
  std::map<range, area_number> by_address_;
  std::unordered_map<array_handle, array_part> parts_;
  std::map<std::uint64_t, array_handle> parts_by_address_;
  area_list registered_ones_;  // first in, first out
  area_list wanted_ones_;
  std::size_t registered_ = 0;
  std::size_t leaving_ = 0;
  std::uint64_t registered_bytes_ = 0;
  std::uint64_t leaving_bytes_ = 0;  // of these
  std::uint64_t wanted_bytes_ = 0;
  invalidation_epoch epoch_ = 0;
  std::deque<array_handle> freed_;
  counters count_;
};

}  // namespace tri::arrays
