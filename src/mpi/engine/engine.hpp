// Point-to-point communication of one rank with the ranks of its host, without MPI's handles: buffers with layouts,
// keys, records. One object per rank, called by one thread at a time (MPI_THREAD_MULTIPLE is serialized, see
// `set_api_mutex`). Other processes act on this rank's behalf through its endpoint.
//
// Who copies what: a message is matched by the first rank that finds it - the receiver, or, while it computes, a
// waiting rank. Small messages carry their data. A rendezvous is copied once and directly: a large one is on the board
// from the moment it is matched, waiting ranks take parts of it, and the rank that copies the last part completes it.
// So a receive that finds its message does not wait for the data, and the data arrives while its rank computes.
//
// A function that takes an endpoint's lock is noexcept where it may need a block: when the arena is exhausted there,
// messages have left the inbox or their receives the matching, so the job ends, with the arena's hint. `send` and
// `make_receive` throw arena_exhausted, with nothing done.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arena/block_cache.hpp"
#include "arena/wait_policy.hpp"
#include "board/board_pe.hpp"
#include "live/idle_word.hpp"
#include "mpi/engine/copy_timing.hpp"
#include "mpi/engine/core_share.hpp"
#include "mpi/engine/data_copy.hpp"
#include "mpi/engine/eager_buffers.hpp"
#include "mpi/engine/endpoint.hpp"
#include "mpi/engine/polling_pace.hpp"
#include "mpi/engine/records.hpp"
#include "os/clock.hpp"

namespace tri::mpi {

struct engine_options {
  std::size_t rendezvous_from = std::size_t{8} << 10;  // bytes of a message
  std::size_t most_unexpected_bytes = std::size_t{16}
                                      << 20;  // bytes that unexpected messages of one rank take up before senders wait
  sharing_sizes sharing;
  bool learns_sharing = false;  // a waiting rank makes those copies alone that are faster so
  help_rule help;
  bool received_by_others = true;  // ranks that wait receive for this one while it computes
  bool kernel_copies = false;      // process_vm_readv and _writev work between the ranks
  /// Messages of other hosts come by the library, which sends no wake-up, and a sleep is longer than their way. Ranks
  /// that wait for one yield now and then: a poll of a network costs more.
  bool several_hosts = false;
  bool oversubscribed = false;                                       // more ranks than cores
  int cores = 0;                                                     // that the ranks may use in all
  std::size_t most_eager_buffers = eager_buffers::most_of_one_size;  // of one size; tests have fewer
  bool measures_time = false;                                        // of waits, for statistics
};

enum class send_mode : std::uint8_t {
  standard,
  synchronous,  // complete only when its receive has started
  buffered      // complete at once, whatever its size
};

struct found_message {
  message_key key;
  std::uint64_t bytes = 0;
};

/// Who wants to know whether a rank waits in MPI. Several threads may.
class wait_observer {
 public:
  virtual void wait_begins() = 0;
  /// Before the thread computes again.
  virtual void wait_ends() = 0;

 protected:
  ~wait_observer() = default;
};

class engine {
 public:
  /// `endpoints` of all ranks of the host, by number; ours is `number`. All must outlive this object.
  engine(std::span<endpoint* const> endpoints, std::uint32_t number, board::board_pe& board, arena::block_cache& blocks,
         const engine_options& options);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// The address of that memory of this process for all ranks of the host; null when no other rank can access it.
  using shared_address_function = void* (*)(const void* address, std::size_t bytes);
  void set_shared_memory(shared_address_function answer) { shared_address_ = answer; }
  /// Several threads call: each step of a wait releases this mutex, which the caller holds during every call.
  void set_api_mutex(std::mutex* lock) { api_mutex_ = lock; }

  /// Sends to the rank with that number. Null: the buffer is free again. Otherwise it is in use until the record is
  /// complete; then pass the record to `release`. `synchronous`: complete only when the receive has started.
  send_record* send(std::uint32_t target, const message_key& key, const user_buffer& data,
                    send_mode mode = send_mode::standard) {
    if (mode == send_mode::standard && data.type == nullptr && data.bytes <= most_bytes_in_two_cells) [[likely]] {
      endpoint& to = *endpoints_[target];
      // relaxed: a hint
      if (!to.is_full.load(std::memory_order_relaxed) && to.inbox.push_bytes(key, data.address, data.bytes))
          [[likely]] {
        endpoint_counters::add(own_.counters.inlined);
        return nullptr;
      }
    }
    return send_of_any_size(target, key, data, mode);
  }
  /// Cancels a send that no receive has matched; `target` is its destination rank. False: it is matched and will
  /// complete.
  bool cancel(send_record& record, std::uint32_t target);
  void release(send_record* record);

  /// Starts a receive. Null: its message had arrived and was small: it is in the buffer, and `found` describes it.
  /// Otherwise the caller owns the record until it is complete or cancelled, then passes it to `release`.
  receive_record* receive(const message_key& key, const user_buffer& buffer, touch_order touched,
                          found_message& found) noexcept;
  /// The same with a record in shared memory that was made before (`make_receive`).
  receive_record* make_receive(const message_key& key, const user_buffer& buffer,
                               touch_order touched = touch_order::unknown);
  void post(receive_record& record) noexcept;
  /// Receives a message that `take` returned.
  void post(receive_record& record, arrived_message& message) noexcept;
  bool cancel(receive_record& record);  // false: it has its message
  void release(receive_record* record);

  /// The message that a receive with this key would match, without receiving it. Its sender may still cancel it.
  std::optional<found_message> find(const message_key& key);
  /// Takes that message out, for one receive of the caller (MPI_Mprobe).
  arrived_message* take(const message_key& key);
  /// Receives are pending whose messages have not come.
  bool has_open_receives() const { return awaited_ > 0; }

  // Messages from and to other hosts (internode/internode_messages.hpp). Their senders count them.
  /// One has come for this rank, with its data. This and the next keep the API mutex: the caller may hold locks.
  void arrived(const message_key& key, std::span<const std::byte> data);
  /// One has come for a rank of the host, without; the engine matches it, and then calls `match` of it.
  void push_arrived(std::uint32_t target, incoming_message& message);
  /// For a message that goes to another host; in mode `buffered` with a copy of the data. Throws arena_exhausted.
  send_record* make_send(const message_key& key, const user_buffer& data, send_mode mode);
  void complete_sent(send_record& record) { complete(record); }
  void complete_received(receive_record& record) { complete(record); }
  void count_copied(const receive_record& to, std::uint64_t bytes) {
    endpoint_counters::add(to.owner == &own_ ? own_.counters.bytes_copied : own_.counters.bytes_helped, bytes);
  }
  /// The core to any runnable thread, and the API mutex to the other threads of the process.
  void yield();

  bool is_done(receive_record& record) {
    // acquire: what the copier wrote. pairs: record.complete
    const progress_state state = record.state.load(std::memory_order_acquire);
    if (state == progress_state::staged) [[unlikely]]
      take_staged(record);
    else if (state == progress_state::under_way)
      return false;
    return true;
  }
  static bool is_done(const send_record& record) { return record.is_complete(); }

  /// One poll of our inbox, and now and then of what others need from us (a program may poll in a loop instead of
  /// waiting); true if something was done. Takes no longer than a chunk of a shared copy.
  /// `asks_others`: the program looks for what sends no wake-up (messages of other hosts).
  bool progress(bool asks_others = false);
  /// The outcome of a call of the program that polls (MPI_Test, MPI_Iprobe, a window's value that is read again).
  /// Programs put such calls into loops: when unsuccessful calls follow each other closely, the rank does what it would
  /// do in a wait, and returns soon. `polled` false: nothing was found.
  void polled(bool found);
  /// Returns when `done()`; meanwhile helps other ranks, yields the core, or sleeps. `done` may poll a source that
  /// sends no wake-up (the MPI library): then `asks_others`, and sleeps are short.
  /// `is_of_program`: the rank is in a call meanwhile, and the wait's observer is told.
  template <class Done>
  void wait(Done&& done, bool asks_others = false, bool is_of_program = true) {
    if (done()) return;
    begin_wait(is_of_program);
    bool ended = false;  // not called again once it returned true: it may have consumed what it found
    while (!ended) {
      const bool may_sleep = step_of_wait();
      if ((asks_others || asks_others_) && options_.several_hosts) {
        if (!advance_operations(true)) yield();
      } else if (may_sleep) {
        const std::uint32_t heard = own_.inbox.bell.listen();
        if (own_.inbox.prepare_sleep()) {
          // A producer that publishes from here on rings; this poll sees what was published before. That goes for
          // copies that are left to us, too: they are on the board before we are rung. pairs: ticket_ring.sleep
          ended = done();
          // Work that we leave to others stays on the board while we sleep, so we poll again soon.
          if (!ended && !advance_operations(true) && (refused_ || !board_.has_work_before_sleep()))
            sleep(heard, asks_others || refused_);
          own_.inbox.woken();
          // All threads of the process share the mark: other sleepers must set it again.
          if (sleepers_ > 0) own_.inbox.bell.ring();
        } else if (!own_.inbox.has_message()) {  // one is on its way, or another thread of ours sleeps already
          yield();
        }
      }
      if (!ended) ended = done();
    }
    end_wait(is_of_program);
  }
  /// Something that a rank waits for outside of its messages has happened.
  void wake(std::uint32_t rank) { endpoints_[rank]->inbox.wake(); }
  /// The same when it has happened by a seq_cst store, and the rank waits for it by seq_cst loads: cheaper.
  void wake_after_store(std::uint32_t rank) { endpoints_[rank]->inbox.wake_after_store(); }
  /// The rank returns to computing: from now on the others make progress on its pending receives.
  void leave() {
    if (waits_ > 0) return;
    if (awaited_ > 0 && !offers_progress_) {
      offer_progress();
      // A sender may have gone to sleep without a timeout after publishing, before it could see our mark. We see now
      // what it had published by then: it has a seq_cst fence between publishing and checking who offers progress, and
      // our mark and our poll of the inbox are seq_cst. pairs: engine.leave
      while (drain(own_)) {
      }
    }
    if (open_copies_ > 0) [[unlikely]]
      leave_copies_to_senders();
  }
  /// Called in every step of waits and polls while it is not null: other ranks wait for operations of this one. Returns
  /// whether there was something to do; `before_sleep`: this rank sleeps otherwise.
  void set_operations(bool (*advance)(bool before_sleep)) { advance_operations_ = advance; }
  /// Every wait is for what sends no wake-up, too: see wait().
  void set_asks_others(bool asks) { asks_others_ = asks; }
  void set_wait_observer(wait_observer* observer) { wait_observer_ = observer; }
  /// Called in waits now and then: operations of the MPI library may need this rank.
  void set_library_progress(void (*poll)()) { library_progress_ = poll; }

  endpoint& own() { return own_; }
  endpoint& endpoint_of(std::uint32_t rank) { return *endpoints_[rank]; }
  std::uint32_t number() const { return number_; }
  const engine_options& options() const { return options_; }
  arena::block_cache& blocks() { return blocks_; }
  static engine* of_pe(int pe);
  /// Null: some rank cannot access that memory.
  std::byte* shared_address(const void* address, std::size_t bytes) const {
    return shared_address_ == nullptr ? nullptr : static_cast<std::byte*>(shared_address_(address, bytes));
  }
  using task_arguments = std::array<std::uint64_t, board::argument_words>;
  /// Work shared with all waiting ranks, by operations of the board that any process can run. Returns when all is done,
  /// without releasing the API mutex for other threads: the caller may hold locks. False, with nothing done, when no
  /// rank could help or there is no room on the board.
  bool run_together(board::operation_id operation, const task_arguments& arguments, std::size_t bytes);
  /// A part of a copy on the board; called by it.
  void run_part(const board::task_view& task, std::uint64_t first, std::uint64_t last);

  /// On behalf of the rank `owner`, which is computing; called by the board. True if a message was taken.
  bool progress_for(endpoint& owner);

 private:
  /// Matched under the lock, copied without it.
  struct matched_copy {
    send_record* from;
    receive_record* to;
    std::uint64_t bytes() const { return std::min(from->buffer.bytes, to->buffer.bytes); }
  };
  struct copy_list {
    std::array<matched_copy, 16> list;
    std::size_t count = 0;
    bool is_full() const { return count == list.size(); }
    void add(send_record& from, receive_record& to) { list[count++] = {&from, &to}; }
  };

  send_record* send_of_any_size(std::uint32_t target, const message_key& key, const user_buffer& data, send_mode mode);
  send_record& new_send(const message_key& key, const user_buffer& data, const user_buffer& reached, bool copies);
  user_buffer as_reached_by_all(user_buffer data) const;
  bool push_with_data(endpoint& target, const message_key& key, const user_buffer& data);
  bool push_data(endpoint& target, const message_key& key, const user_buffer& data);
  template <class Fill>
  void push(endpoint& target, const message_key& key, message_kind kind, Fill&& fill);
  void push_node(endpoint& target, message_kind kind, unexpected_message& node);
  void wait_for_space(endpoint& target);
  template <class Record>
  void complete(Record& record);
  unexpected_message& new_message(const message_key& key, std::size_t bytes);
  unexpected_message& new_eager_message(const message_key& key, std::size_t bytes);
  void release(unexpected_message& message);
  unexpected_message& node_of(const endpoint& owner, const inbox_cell& cell);
  void stage_copy(receive_record& to, send_record& from);
  bool reaches(const receive_record& to) const { return &own_ == to.owner || to.buffer.is_shared(); }
  void fill_from_front(receive_record& to, std::size_t bytes);
  void fill(receive_record& to, unexpected_message& message);
  void add_unexpected(endpoint& owner, const inbox_cell& cell);
  receive_record* receive_with_lock(const message_key& key, const user_buffer& buffer, touch_order touched,
                                    found_message& found) noexcept;
  receive_record* take_waiting_receive(const message_key& key, std::uint64_t bytes);
  template <class Take>
  bool look_for(const message_key& key, copy_list& later, Take&& take);
  void wait_for_message(receive_record& record);
  bool take_at_once(const user_buffer& to, const inbox_cell& cell, found_message& found);
  bool take_at_once(const user_buffer& to, arrived_message& message, found_message& found);
  static void write_front(const rank_inbox& inbox, std::size_t bytes, const user_buffer& to);
  void deliver(receive_record& to, const inbox_cell& cell, copy_list& later);
  void deliver(receive_record& to, unexpected_message& message, copy_list& later);
  void stage(receive_record& to, unexpected_message& message);
  void take_staged(receive_record& record);
  void take_cell(endpoint& owner, const inbox_cell& cell, copy_list& later);
  void run(copy_list& list);
  void run(const matched_copy& one, bool shares);
  std::uint64_t class_to_time(const copy_list& list) const;
  board::task_spec shared_task(board::operation_id operation, const task_arguments& arguments, std::size_t bytes) const;
  template <class Yield>
  void finish(const board::task_handle& task, Yield&& yield);
  bool post_copy(receive_record& to, std::size_t bytes);
  bool finish_copies();
  void leave_copies_to_senders();
  void wake_helpers(std::size_t bytes, std::uint32_t useful);
  void count_received(endpoint& owner);
  void copy_later(copy_list& later, send_record& from, receive_record& to);
  void account(endpoint& owner, std::int64_t bytes);
  bool drain(endpoint& owner) noexcept;
  bool help_one_rank();
  template <class Again>
  bool help_with_copies(Again&& again);
  bool takes_part_in_copies_of(std::uint32_t poster);
  domain_activity activity_of(std::int32_t domain) const;
  void publish_activity(activity what) {
    // relaxed: a hint. Written only when it changes: others read the line.
    if (has_domains_ && own_.now.load(std::memory_order_relaxed) != what)
      own_.now.store(what, std::memory_order_relaxed);
  }
  bool help_others();
  bool advance_operations(bool before_sleep = false) {
    return advance_operations_ != nullptr && advance_operations_(before_sleep);
  }
  void poll_library();
  void begin_wait(bool is_of_program);
  bool step_of_wait();  // true: nothing to do for long, so sleep
  void end_wait(bool is_of_program);
  void sleep(std::uint32_t heard, bool asks_others);
  void nap();
  void yield(arena::wait_policy& policy);
  std::int64_t used_by_all_ns() const;
  bool has_its_share_of_cores();
  void offer_progress();
  void withdraw_progress();

  std::span<endpoint* const> endpoints_;
  std::uint32_t number_;
  endpoint& own_;
  board::board_pe& board_;
  arena::block_cache& blocks_;
  eager_buffers eager_;
  engine_options options_;
  pid_t process_;
  shared_address_function shared_address_ = nullptr;
  std::mutex* api_mutex_ = nullptr;
  void (*library_progress_)() = nullptr;
  bool (*advance_operations_)(bool) = nullptr;
  wait_observer* wait_observer_ = nullptr;
  bool keeps_api_mutex_ = false;
  bool asks_others_ = false;
  arena::wait_policy waiting_;
  live::idle_meter idle_;
  arena::wait_policy polling_;
  polling_pace pace_;
  std::uint64_t last_poll_ = 0;  // tick at which the last unsuccessful call returned
  const std::uint64_t polling_ticks_;
  const std::uint64_t vain_yield_ticks_;
  const std::uint64_t expensive_yield_ticks_;
  std::optional<core_share> cores_;  // with more ranks than cores; asked after dear yields
  std::uint32_t idle_steps_ = 0;
  int waits_ = 0;                 // nested, or of several threads
  int sleepers_ = 0;              // threads of this process
  std::uint64_t wait_began_ = 0;  // ticks
  std::uint64_t awaited_ = 0;     // pending receives that others may complete while we compute
  bool offers_progress_ = false;
  bool has_domains_ = false;               // the ranks of the host are in several
  bool refused_ = false;                   // the last poll left work alone
  std::vector<std::uint32_t> open_sends_;  // rendezvous to each rank that are not released; empty without domains
  // Copies that we have posted and not yet retired from the board. One slot stays free for other tasks of this PE.
  struct open_copy {
    board::task_handle task;
    endpoint* sender;
  };
  std::array<open_copy, board::slots_per_pe - 1> copies_on_board_;
  std::size_t open_copies_ = 0;
  copy_timing timing_;
  struct {
    std::uint64_t size_class = 0;  // 0: nothing is timed
    std::uint64_t bytes = 0;
    std::uint64_t began = 0;  // ticks
  } shared_copies_;           // those of `copies_on_board_`
};

template <class Record>
void engine::complete(Record& record) {
  endpoint& owner = *record.owner;  // afterwards the record may be gone
  arena::handed_over(&record);
  record.state.store(progress_state::complete, std::memory_order_release);  // pairs: record.complete
  if (&owner != &own_ || api_mutex_ != nullptr) owner.inbox.wake();
}

}  // namespace tri::mpi
