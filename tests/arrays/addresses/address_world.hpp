// Caches of addresses on a few hosts, the registration table of host 0 with an emulated adapter, and the channels
// between them, as a world for the explorers of tests/explore. Every access goes by its cached address, or by a request
// whose reply may bring one. After each step the adapter, not the protocol, says whether all is well: every address
// with which an operation is in flight, and every one that a cache would give out, has a valid key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/addresses/registration_table.hpp"
#include "explore/fingerprints.hpp"

namespace tri::arrays {

struct access_line {
  std::uint8_t array = 0;
  std::uint8_t chunk = 0;
  remote_access access = remote_access::get;
};
/// What the target's own program does, line after line.
struct target_line {
  enum class type : std::uint8_t { free, add, begin_use, end_use } what;  // add: of an array that was freed
  std::uint8_t array = 0;
  std::uint8_t chunk = 0;
};
/// What happened in all paths together, to see that a scope reaches what it is there for.
struct address_events {
  std::uint64_t hits = 0;
  std::uint64_t late_replies = 0;
  std::uint64_t acknowledged_after_use = 0;
  std::uint64_t evictions = 0;
  std::uint64_t broadcasts = 0;
  std::uint64_t victims = 0;
  std::uint64_t frees_that_waited = 0;
  std::uint64_t local_uses = 0;
  std::uint64_t absent_acknowledged = 0;
};
struct address_scope {
  std::vector<std::vector<access_line>> programs;  // of host 1, 2, ...
  std::vector<std::uint8_t> chunks{2};             // of each array
  std::vector<target_line> target{};
  std::size_t most_chunks = 1;     // registered at one time
  std::size_t most_entries = 100;  // of each cache
  std::size_t listed_hosts = 8;
  std::size_t most_in_flight = 2;  // operations of one host
  registration_strategy strategy = registration_strategy::chunks;
  bool overtaking = true;  // false: messages from one host to another keep their order
  bool caches_puts = true;
  address_events* events = nullptr;
};

template <class Cache = address_cache, class Table = registration_table>
class address_world {
 public:
  static constexpr std::uint64_t chunk_bytes = 64;

  // The scope must outlive the world.
  explicit address_world(const address_scope& scope)
      : scope_(&scope),
        adapter_({.total_bytes = scope.most_chunks * chunk_bytes}),
        table_(
            scope.programs.size() + 1, 0, adapter_,
            {.chunks = {.strategy = scope.strategy, .chunk_bytes = chunk_bytes}, .listed_hosts = scope.listed_hosts}) {
    for (std::size_t i = 0; i < scope.programs.size(); ++i) {
      ends_.emplace_back(Cache(scope.programs.size() + 1,
                               {.most_entries = scope.most_entries, .is_on = true, .caches_puts = scope.caches_puts}));
    }
    for (std::size_t array = 0; array < scope.chunks.size(); ++array) add(array);
  }
  // The table knows the adapter by its address, so a copy is a new world: only the first state is ever copied.
  address_world(const address_world& other) : address_world(*other.scope_) {}
  address_world& operator=(const address_world&) = delete;

  int steps() const {
    list_steps();
    return static_cast<int>(steps_.size());
  }

  void take(int number) {
    list_steps();
    const step what = steps_.at(static_cast<std::size_t>(number));
    are_steps_known_ = false;
    switch (what.kind) {
      case step_kind::begin:
        begin(what.of);
        break;
      case step_kind::complete:
        complete(what.of, what.item);
        break;
      case step_kind::arrival:
        arrive(what.of, what.item);
        break;
      case step_kind::answer:
        answer(what.of, what.item);
        break;
      case step_kind::target:
        run_target();
        break;
    }
    while (const auto freed = table_.next_freed()) present_.at(*freed) = 0;
    check();
  }

  void check_end() const {
    if (next_of_target_ < scope_->target.size()) throw std::logic_error("deadlock: the target has lines left");
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].next < scope_->programs[i].size() || !ends_[i].in_flight.empty())
        throw std::logic_error("deadlock: host " + std::to_string(i + 1) + " has operations left");
      if (ends_[i].cache.leaving() > 0) throw std::logic_error("an entry waits for a use without an operation");
    }
    table_.for_each([](const registration_table::area_view& area) {
      if (area.state != registration_table::area_state::registered)
        throw std::logic_error("deadlock: an area is wanted or leaves at the end");
    });
    if (std::count(present_.begin(), present_.end(), freeing) > 0)
      throw std::logic_error("deadlock: a freed array waits at the end");
    if (adapter_.count().errors > 0) throw std::logic_error("the adapter has seen an error");
    if (std::count(present_.begin(), present_.end(), 0) == static_cast<std::ptrdiff_t>(present_.size())) {
      if (adapter_.registered() > 0) throw std::logic_error("memory without an array is registered at the end");
      for (const end& one : ends_)
        if (one.cache.size() > 0) throw std::logic_error("an address without an array is cached at the end");
    }
  }

  // Of epochs only their order and distance count, of keys whether they are valid. So states of different age are
  // equal.
  void encode(explore::fingerprint& state) const {
    state.put(next_of_target_);
    for (const std::uint8_t is : present_) state.put(is);
    for (const local_use& use : local_uses_) state.put(use.area);
    for (const end& one : ends_) encode_end(one, state);
    table_.for_each([&](const registration_table::area_view& area) {
      state.put(std::uint64_t{area.array} << 32U | std::uint64_t{area.chunk} << 16U |
                static_cast<std::uint64_t>(area.state) << 8U | area.local_uses);
      state.put(std::uint64_t{area.unacknowledged} << 32U | std::uint64_t{area.is_known_to_all} << 16U |
                area.hosts.size());
      state.put(area.invalidated == 0 ? 0 : age_of(area.invalidated));
      for (const host_number host : area.hosts) state.put(host);
    });
  }

  const Cache& cache_of(host_number host) const { return ends_[host - 1].cache; }
  const Table& table() const { return table_; }
  const emulated_registration& adapter() const { return adapter_; }

 private:
  static constexpr std::uint8_t here = 1, freeing = 2;  // of an array; 0: it is gone

  enum class step_kind : std::uint8_t { begin, complete, arrival, answer, target };
  struct step {
    step_kind kind;
    std::uint8_t of;
    std::uint8_t item;
  };
  struct operation {
    access_line line;
    bool is_direct = false;  // by a cached address; otherwise its request or reply is on the way
    address_use use;
  };
  struct to_target {
    bool is_acknowledgement = false;
    access_line line;
    acknowledgement what;
  };
  struct to_initiator {
    bool is_invalidation = false;
    invalidation what;
    access_line line;
    bool has_address = false;
    reply_address address;
  };
  struct end {
    explicit end(Cache&& made) : cache(std::move(made)) {}
    Cache cache;
    std::size_t next = 0;
    std::vector<operation> in_flight;
    std::vector<to_target> requests;
    std::vector<to_initiator> replies;
  };

  std::uint64_t begin_of(std::size_t array) const { return 0x10000 * (array + 1); }
  std::uint64_t bytes_of_chunk(array_handle array) const {
    return scope_->strategy == registration_strategy::everything ? scope_->chunks[array] * chunk_bytes : chunk_bytes;
  }
  static std::uint64_t word_of(const access_line& line) {
    return std::uint64_t{line.array} << 16U | std::uint64_t{line.chunk} << 8U | static_cast<std::uint64_t>(line.access);
  }
  std::uint64_t age_of(invalidation_epoch epoch) const { return table_.epoch() - epoch + 1; }
  bool is_valid(array_handle array, const remote_address& where) const {
    return adapter_.is_valid(where.address, bytes_of_chunk(array), where.key);
  }
  template <class Count>
  void note(Count address_events::*which, Count more = 1) const {
    if (scope_->events != nullptr) scope_->events->*which += more;
  }

  void encode_end(const end& one, explore::fingerprint& state) const {
    state.put(std::uint64_t{one.next} << 32U | one.in_flight.size() << 16U | one.requests.size() << 8U |
              one.replies.size());
    state.put(age_of(one.cache.seen_epoch(0)));
    state.put(one.cache.size());
    one.cache.for_each([&](const address_key& key, const remote_address& where, std::uint32_t uses) {
      state.put(key.array << 32U | std::uint64_t{key.chunk} << 16U | uses << 1U |
                std::uint64_t{is_valid(key.array, where)});
    });
    for (const operation& each : one.in_flight) {
      state.put(word_of(each.line) << 1U | std::uint64_t{each.is_direct});
      state.put(each.is_direct && is_found(one.cache, each.use) ? 1 : 0);
    }
    for (const to_target& each : one.requests) {
      state.put(each.is_acknowledgement ? each.what.array << 16U | std::uint64_t{each.what.chunk} << 8U | 2U
                                        : word_of(each.line));
      state.put(each.is_acknowledgement ? age_of(each.what.epoch) : 0);
    }
    for (const to_initiator& each : one.replies) {
      state.put(each.is_invalidation ? each.what.array << 16U | std::uint64_t{each.what.chunk} << 8U | 2U
                                     : word_of(each.line));
      state.put(each.is_invalidation ? age_of(each.what.epoch) : each.has_address ? age_of(each.address.epoch) : 0);
      state.put(each.has_address && is_valid(each.address.array, each.address.where) ? 1 : 0);
    }
  }
  static bool is_found(const Cache& cache, const address_use& use) {
    bool found = false;
    cache.for_each(
        [&](const address_key&, const remote_address& where, std::uint32_t) { found |= where == use.where; });
    return found;
  }

  void list_steps() const {
    if (are_steps_known_) return;
    are_steps_known_ = true;
    steps_.clear();
    const auto add_step = [this](step_kind kind, std::size_t of = 0, std::size_t item = 0) {
      steps_.push_back({kind, static_cast<std::uint8_t>(of), static_cast<std::uint8_t>(item)});
    };
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const end& one = ends_[i];
      if (one.next < scope_->programs[i].size() && one.in_flight.size() < scope_->most_in_flight)
        add_step(step_kind::begin, i);
      for (std::size_t k = 0; k < one.in_flight.size(); ++k)
        if (one.in_flight[k].is_direct) add_step(step_kind::complete, i, k);
      const auto of_channel = [&](std::size_t size) {
        return scope_->overtaking ? size : std::min<std::size_t>(size, 1);
      };
      for (std::size_t k = 0; k < of_channel(one.requests.size()); ++k) add_step(step_kind::arrival, i, k);
      for (std::size_t k = 0; k < of_channel(one.replies.size()); ++k) add_step(step_kind::answer, i, k);
    }
    if (can_run_target()) add_step(step_kind::target);
  }

  bool can_run_target() const {
    if (next_of_target_ == scope_->target.size()) return false;
    const target_line& line = scope_->target[next_of_target_];
    return line.what != target_line::type::add || present_[line.array] == 0;
  }

  void add(std::size_t array) {
    present_.resize(std::max(present_.size(), array + 1));
    present_[array] = here;
    table_.add_array(array, begin_of(array), scope_->chunks[array] * chunk_bytes);
  }

  void run_target() {
    const target_line& line = scope_->target[next_of_target_++];
    std::vector<outgoing_invalidation> out;
    switch (line.what) {
      case target_line::type::free: {
        const bool is_done = table_.free_array(line.array, out);
        present_[line.array] = is_done ? 0 : freeing;
        if (!is_done) note(&address_events::frees_that_waited);
        break;
      }
      case target_line::type::add:
        add(line.array);
        break;
      case target_line::type::begin_use: {
        const auto use = table_.begin_local_use(begin_of(line.array) + line.chunk * chunk_bytes, chunk_bytes, out);
        if (!use) break;
        note(&address_events::local_uses);
        local_uses_.push_back(*use);
        break;
      }
      case target_line::type::end_use:
        if (local_uses_.empty()) break;  // it took the ordinary path
        table_.end_local_use(local_uses_.front().area);
        local_uses_.erase(local_uses_.begin());
        break;
    }
    carry(out);
  }

  void begin(std::size_t i) {
    end& one = ends_[i];
    const access_line line = scope_->programs[i][one.next++];
    const chunk_number chunk = scope_->strategy == registration_strategy::everything ? 0 : line.chunk;
    const auto use = one.cache.begin_use({.array = line.array, .host = 0, .chunk = chunk}, line.access);
    if (use) {
      note(&address_events::hits);
      if (!adapter_.check(use->where.address, bytes_of_chunk(line.array), use->where.key))
        throw std::logic_error("an access with a dead key");
      one.in_flight.push_back({.line = line, .is_direct = true, .use = *use});
    } else {
      one.in_flight.push_back({.line = line, .is_direct = false, .use = {}});
      one.requests.push_back({.is_acknowledgement = false, .line = line, .what = {}});
    }
  }

  void complete(std::size_t i, std::size_t item) {
    end& one = ends_[i];
    const operation done = one.in_flight[item];
    one.in_flight.erase(one.in_flight.begin() + static_cast<std::ptrdiff_t>(item));
    if (const auto message = one.cache.end_use(done.use.entry)) {
      note(&address_events::acknowledged_after_use);
      one.requests.push_back({.is_acknowledgement = true, .line = {}, .what = message->what});
    }
  }

  void arrive(std::size_t i, std::size_t item) {
    end& one = ends_[i];
    const to_target message = one.requests[item];
    one.requests.erase(one.requests.begin() + static_cast<std::ptrdiff_t>(item));
    const auto from = static_cast<host_number>(i + 1);
    if (message.is_acknowledgement) {
      table_.on_acknowledgement(from, message.what);
      return;
    }
    to_initiator reply;
    reply.line = message.line;
    std::vector<outgoing_invalidation> out;
    if (one.cache.wants_address(message.line.access)) {
      const chunk_number chunk = scope_->strategy == registration_strategy::everything ? 0 : message.line.chunk;
      const auto victims = table_.count().victims;
      const auto broadcasts = table_.count().broadcasts;
      const auto address = table_.on_access(from, message.line.array, chunk, out);
      note(&address_events::victims, table_.count().victims - victims);
      note(&address_events::broadcasts, table_.count().broadcasts - broadcasts);
      if (address) reply.has_address = true, reply.address = *address;
    }
    carry(out);
    one.replies.push_back(reply);
  }

  void answer(std::size_t i, std::size_t item) {
    end& one = ends_[i];
    const to_initiator message = one.replies[item];
    one.replies.erase(one.replies.begin() + static_cast<std::ptrdiff_t>(item));
    const address_cache::counters before = one.cache.count();
    if (message.is_invalidation) {
      const std::size_t size = one.cache.size();
      if (const auto back = one.cache.on_invalidation(0, message.what)) {
        if (size == one.cache.size()) note(&address_events::absent_acknowledged);
        one.requests.push_back({.is_acknowledgement = true, .line = {}, .what = back->what});
      }
      return;
    }
    if (message.has_address) one.cache.on_reply(0, message.address);
    note(&address_events::late_replies, one.cache.count().late_replies - before.late_replies);
    note(&address_events::evictions, one.cache.count().evictions - before.evictions);
    const auto done = std::find_if(one.in_flight.begin(), one.in_flight.end(), [&](const operation& each) {
      return !each.is_direct && word_of(each.line) == word_of(message.line);
    });
    if (done == one.in_flight.end()) throw std::logic_error("a reply without its operation");
    one.in_flight.erase(done);
  }

  void carry(const std::vector<outgoing_invalidation>& out) {
    for (const outgoing_invalidation& each : out) {
      to_initiator message;
      message.is_invalidation = true;
      message.what = each.what;
      ends_.at(each.to - 1).replies.push_back(message);
    }
  }

  void check() const {
    for (const end& one : ends_) {
      for (const operation& each : one.in_flight)
        if (each.is_direct && !is_valid(each.line.array, each.use.where))
          throw std::logic_error("deregistered while an operation is in flight");
      one.cache.for_each([&](const address_key& key, const remote_address& where, std::uint32_t) {
        if (!is_valid(key.array, where)) throw std::logic_error("a cache has a dead address");
      });
      if (one.cache.size() + one.cache.leaving() > scope_->most_entries)
        throw std::logic_error("more entries than allowed");
    }
    for (const local_use& use : local_uses_)
      if (!adapter_.is_valid(use.where.address, chunk_bytes, use.where.key))
        throw std::logic_error("deregistered during a local use");
    if (table_.registered_bytes() != adapter_.registered_bytes() ||
        table_.registered_bytes() > scope_->most_chunks * chunk_bytes)
      throw std::logic_error("more is registered than allowed");
    for (std::size_t array = 0; array < present_.size(); ++array)
      if (present_[array] == 0 && adapter_has(array)) throw std::logic_error("freed memory is registered");
  }
  bool adapter_has(std::size_t array) const {
    bool found = false;
    table_.for_each([&](const registration_table::area_view& area) { found |= area.array == array; });
    return found;
  }

  const address_scope* scope_;
  emulated_registration adapter_;
  Table table_;
  std::vector<end> ends_;
  std::vector<std::uint8_t> present_;  // by array
  std::vector<local_use> local_uses_;
  std::size_t next_of_target_ = 0;
  mutable std::vector<step> steps_;  // of list_steps
  mutable bool are_steps_known_ = false;
};

}  // namespace tri::arrays
