#include "sched/remote/wire_link.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>

#include "os/clock.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/host_tree.hpp"
#include "sched/remote/wakeup_socket.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "wire/ucx/ucx_library.hpp"
#include "wire/wire_choice.hpp"

namespace tri::sched {
namespace {

constexpr std::chrono::milliseconds failure_report_delay{500};
constexpr double least_bytes_per_second = 1e6;  // of a network, for one process
// How long flushes wait all together for each new connection: some round trips, and turns on a core that is shared.
constexpr std::int64_t longest_connect_ns = 50'000'000;

// How a port names a message to its user: the sender and the number of the send.
std::uint64_t trace_name(std::uint32_t source, std::uint32_t number) { return std::uint64_t{source} << 32 | number; }

wire::wire_choice chosen_wire(const runtime& job) {
  const std::string wanted = job.values().text_of("wire");
  return wire::choose_wire({.conduit = wanted == "auto" ? std::nullopt : std::optional(wire::conduit_named(wanted)),
                            .network = job.values().network,
                            .ucx_transports = job.values().wire_transports,
                            .environment_has_transports = std::getenv("UCX_TLS") != nullptr,
                            .environment_has_devices = std::getenv("UCX_NET_DEVICES") != nullptr,
                            .machines = job.machines()},
                           wire::network_of_this_host());
}

template <class Value>
std::vector<Value> column_of_handlers(Value handler_row::*column) {
  std::vector<Value> values;
  for (const handler_row& row : handler_table()) values.push_back(row.*column);
  return values;
}

void release_block(void* block) { arena::release(block); }
constexpr wire_link::block_release to_arena{.release = &release_block, .argument = nullptr};

// Of a header that was not checked yet: whether its body may go to posted memory, and under which key.
bool goes_to_posted_memory(const std::vector<bool>& handlers, std::span<const std::byte> header, std::uint64_t& key) {
  if (header.size() < wire_message::fixed_bytes) return false;
  std::uint32_t handler = 0;
  std::memcpy(&handler, header.data() + offsetof(wire_message, handler), sizeof handler);
  std::memcpy(&key, header.data() + offsetof(wire_message, element), sizeof key);
  return handler < handlers.size() && handlers[handler];
}

void* copy_of(const void* block, std::uint64_t bytes) {
  void* const copy = arena::allocate(bytes);
  std::memcpy(copy, block, bytes);
  return copy;
}

}  // namespace

/// What may have to wait for creations before it leaves.
struct wire_link::outbound_message {
  int process;  // not used of what goes to all hosts
  packet_header header;
  void* block;
  block_release release;
};

/// What waits for creations after it has come.
struct wire_link::arrived_message {
  reach to;
  int destination;
  envelope message;
};

wire_link::wire_link(process_runtime& job)
    : job_(job),
      own_process_(*job.process_record_of(job.process())),
      row_(job.traces() == nullptr ? nullptr : job.traces()->wire()),
      forms_(column_of_handlers(&handler_row::form)),
      rules_{.handlers = handler_table().size(),
             .forms = forms_,
             .pes = job.pes(),
             .hosts = job.hosts(),
             .process = job.process(),
             .first_pe = std::int64_t{job.process()} * job.pes_per_process(),
             .own_pes = job.pes_per_process()},
      services_(column_of_handlers(&handler_row::may_be_served)),
      answer_is_large_(column_of_handlers(&handler_row::answer_is_large)),
      into_posted_memory_(column_of_handlers(&handler_row::into_posted_memory)),
      serves_requests_(job.values().record.empty() && job.values().replay.empty()),
      slots_(static_cast<std::uint32_t>(job.values().answer_slots)),
      deferred_(static_cast<std::size_t>(job.pes_per_process())),
      creation_fence_(job.own_host().creations, host_tree(job.hosts(), job.host(), 0).children(job.host())),
      network_({.latency_ns = job.values().network_latency_ns, .bytes_per_second = job.values().network_bandwidth}, 0) {
  // Before there are threads: loading it changes the environment.
  if (job.values().rma == config::remote_memory_access::ucx) wire::ucx_function("ucp_get_version");
  slots_in_use_.store(0, std::memory_order_relaxed);  // relaxed: no other thread yet
  const wire::wire_choice chosen = chosen_wire(job);
  options_.transports = chosen.transports;
  options_.devices = chosen.devices;
  options_.checks = job.values().wire_authentication;
  options_.message_memory = job.values().message_memory;
  options_.funnelled = job.values().comm_thread == config::communication_thread::funnelled;
  options_.sends_per_poll = static_cast<std::uint32_t>(job.values().comm_thread_sends);
  options_.most_unfinished = static_cast<std::uint32_t>(job.values().comm_thread_backlog);
  constexpr double shortest_peer_timeout_s = 0.1;
  const double peer_timeout_s = job.values().peer_timeout_s;
  if (peer_timeout_s != 0 && peer_timeout_s < shortest_peer_timeout_s)
    throw config::configuration_error(
        fmt::format("peer_timeout_s '{}': seconds until a process counts as failed, at least {}, or 0 = never",
                    peer_timeout_s, shortest_peer_timeout_s));
  options_.least_bytes_per_heartbeat = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(least_bytes_per_second * peer_timeout_s / options_.heartbeats_until_failed));
  options_.peer_timeout_in_words = fmt::format("{} s (--tri-peer-timeout-s)", job.values().peer_timeout_s);
  options_.mpi = {.small_bytes = static_cast<std::size_t>(job.values().wire_mpi_small_bytes),
                  .small_receives = static_cast<std::size_t>(job.values().wire_mpi_small_receives),
                  .posted = job.values().wire_mpi_posted,
                  .adaptive_classes = static_cast<std::size_t>(job.values().wire_mpi_adaptive)};
  port_ = wire::open_port(
      chosen.conduit, static_cast<wire::peer_number>(job.process()), static_cast<std::size_t>(job.processes()), *this,
      [this](wire::peer_number peer) {
        connect_time_left_ns_.fetch_add(longest_connect_ns, std::memory_order_relaxed);  // relaxed: see flush()
        return job_.endpoint_address_of(static_cast<int>(peer));
      },
      options_);
}

wire_link::~wire_link() {
  heartbeat_thread_ = {};  // it makes progress, too
  for (const delayed_packet& one : delayed_)
    if (one.body != nullptr) release_arrived(one.body);
  postponed_.for_each([](const postponed_request& one) {
    if (one.message.kind != payload_kind::direct) arena::release(one.message.block().block);
  });
  arrival_gate_.drop_all([this](const arrived_message& one) {
    if (one.message.kind != payload_kind::direct) release_arrived(one.message.block().block);
  });
}

// A thread of its own, because the PEs may compute for longer than that without a poll of the wire.
void wire_link::start_heartbeat() {
  if (job_.values().peer_timeout_s == 0) return;
  const std::chrono::duration<double> between_heartbeats(job_.values().peer_timeout_s /
                                                         options_.heartbeats_until_failed);
  heartbeat_thread_ = std::jthread([this, between_heartbeats](const std::stop_token& job_is_over) {
    std::mutex alone;
    std::unique_lock lock(alone);
    std::condition_variable_any never;
    while (never.wait_for(lock, job_is_over, between_heartbeats, [] { return false; }), !job_is_over.stop_requested()) {
      try {
        port_->heartbeat();
      } catch (const std::exception& error) {
        job_.fail(error.what());
      }
    }
  });
}

// Immediate ones are few, and must not wait behind what they are meant to pass. Creations are few, too, and messages
// wait for them, the order to stop among these: they must reach even a process that has stopped.
bool wire_link::takes_memory(const packet_header& header) {
  return (header.flags & (envelope::is_immediate | wire_message::is_answer)) == 0 &&
         (header.to == reach::one_pe || header.to == reach::any_pe_of_process || header.to == reach::all_pes_of_hosts);
}

// ---- sending

void wire_link::post(int process, const packet_header& header, void* block, const block_release& release) {
  if (header.to >= reach::creation) own_process_.between_hosts.creations.add();
  try {
    port_->send(
        static_cast<wire::peer_number>(process), header.used(),
        {.block = block,
         .bytes = block == nullptr ? 0 : header.block_bytes,
         .release = block == nullptr ? nullptr : release.release,
         .release_argument = release.argument,
         .copies = copies_of(process, header),
         .trace =
             (header.flags & wire_message::is_traced) != 0 ? trace_name(header.source, header.trace_number()) : 0});
  } catch (const std::exception& error) {
    job_.fail(fmt::format("process {} cannot send to process {} on {}: {}", job_.process(), process,
                          job_.name_of_host(job_.host_of_process(process)), error.what()));
  }
}

std::uint16_t wire_link::copies_of(int process, const packet_header& header) const {
  if (!takes_memory(header)) return 0;
  if (!goes_to_all_pes(header.to)) return 1;
  return static_cast<std::uint16_t>(job_.processes_of_host(job_.host_of_process(process)) * job_.pes_per_process());
}

void wire_link::post(pe& here, int process, packet_header& header, envelope& message) {
  try {
    make_remote(here, message);
  } catch (const std::exception& error) {  // its arguments are gone, and it counts as sent
    job_.fail(fmt::format("process {} cannot send a message '{}' to another host: {}", job_.process(),
                          handler_table()[message.handler].name, error.what()));
  }
  header.element = message.element;
  header.collection = message.collection;
  header.handler = message.handler;
  header.source = message.source;
  header.kind = message.kind;
  header.flags = static_cast<std::uint8_t>(message.flags & ~envelope::any_of_wire);
  void* block = nullptr;
  if (message.kind == payload_kind::direct) {
    header.bytes = message.used_bytes();
    std::memcpy(header.payload, message.payload, header.bytes);
  } else {
    header.block_bytes = message.block().bytes;
    std::memcpy(header.payload, &message.block().urgency, sizeof(priority));
    block = message.block().block;
    if (header.block_bytes == 0) arena::release(std::exchange(block, nullptr));
  }
  // Of messages to all hosts each copy takes its own way.
  trace::recorder* const trace = goes_to_all_pes(header.to) ? nullptr : here.trace();
  if (trace != nullptr) header.set_trace_number(trace->last_send());
  const auto start = trace == nullptr ? trace::recorder::began{} : trace->call_begins();
  here.counters().sent_to_hosts.add(
      goes_to_all_pes(header.to) ? static_cast<std::uint64_t>(tree_of(header).children(job_.host())) : 1);
  const bool may_leave = header.to != reach::creation && (creation_fence_.is_open() || name_creations(header));
  const bool is_answer = here.is_serving() && header.to == reach::one_pe;
  if (is_answer) header.flags |= wire_message::is_answer;
  const bool takes_slot = is_answer && block != nullptr && here.take_slot();
  depart(
      {process, header, block, takes_slot ? block_release{.release = &release_answer, .argument = nullptr} : to_arena},
      may_leave);
  if (trace != nullptr) trace->call_ended(trace::wire_send_call, start);
}

void wire_link::depart(const outbound_message& one, bool may_leave) {
  if (may_leave) [[likely]]
    return leave(one);
  std::lock_guard guard(departing_);
  if (drops_outbound_)
    drop(one);
  else if (one.header.to == reach::creation)
    creation_fence_.begin_creation(one, one.header.collection);
  else
    hold(one);
  creation_fence_.flush([this](const outbound_message& next) { leave(next); });
}

// Its receiver has the memory, so it waits for none (is_answer).
void wire_link::send_exposed(pe& here, int destination, const envelope& message, const block_release& memory) {
  packet_header header{};
  header.element = message.element;
  header.collection = message.collection;
  header.handler = message.handler;
  header.source = static_cast<std::uint32_t>(here.number());
  header.destination = destination;
  header.block_bytes = message.block().bytes;
  header.to = reach::one_pe;
  header.kind = payload_kind::block;
  header.flags = wire_message::is_answer;
  here.counters().sent_to_others.add();
  here.counters().sent_to_hosts.add();
  const bool may_leave = creation_fence_.is_open() || name_creations(header);
  depart({job_.process_of(destination), header, message.block().block, memory}, may_leave);
}

void wire_link::deliver_here(int pe, const envelope& message) {
  if (ending_.load(std::memory_order_relaxed)) return;  // relaxed: dropped there otherwise
  try {
    deliver(pe, message);
  } catch (const std::exception& error) {
    job_.fail(fmt::format("process {} cannot put a message '{}' into the inbox of PE {}: {}", job_.process(),
                          handler_table()[message.handler].name, pe, error.what()));
  }
}

// False: it has to be held. After the number of a trace.
bool wire_link::name_creations(packet_header& header) const {
  known_creations known;
  if (!creation_fence_.name_open(static_cast<std::uint32_t>(job_.host()), known)) return false;
  if (known.makers != 0) header.set_known(known);
  return true;
}

void wire_link::hold(const outbound_message& one) {
  creation_fence_.hold(one);
  own_process_.between_hosts.held_for_creations.add();
}

void wire_link::leave(const outbound_message& one) {
  if (!goes_to_all_pes(one.header.to)) return post(one.process, one.header, one.block, one.release);
  try {
    to_child_hosts(one.header, one.block);
  } catch (const std::exception& error) {  // some have it
    job_.fail(fmt::format("process {} cannot send a message '{}' to all hosts: {}", job_.process(),
                          handler_table()[one.header.handler].name, error.what()));
  }
}

void wire_link::flush_outbound() {
  std::lock_guard guard(departing_);
  creation_fence_.flush([this](const outbound_message& next) { leave(next); });
}

// The holder of the lock flushes, too.
void wire_link::try_flush_outbound() {
  if (std::unique_lock lock(departing_, std::try_to_lock); lock.owns_lock())
    creation_fence_.flush([this](const outbound_message& next) { leave(next); });
}

void wire_link::drop(const outbound_message& one) {
  if (one.block != nullptr) one.release.release(one.release.argument != nullptr ? one.release.argument : one.block);
}

void wire_link::release_answer(void* block) {
  arena::release(block);
  release_slot();
}

// Nothing new about creations either: the others drop what they keep, too, and a notification could be late for their
// ports.
void wire_link::drop_waiting() {
  {
    std::lock_guard guard(departing_);
    drops_outbound_ = true;
    creation_fence_.drop_all(&drop);
  }
  port_->drop_waiting();
}

void wire_link::send(pe& here, int destination, envelope& message) {
  packet_header header{};
  header.to = reach::one_pe;
  header.destination = destination;
  post(here, job_.process_of(destination), header, message);
}

void wire_link::send_to_node(pe& here, int process, envelope& message) {
  packet_header header{};
  header.to = reach::any_pe_of_process;
  header.destination = process;
  post(here, process, header, message);
}

void wire_link::send_to_other_hosts(pe& here, envelope& message) {
  packet_header header{};
  header.to = reach::all_pes_of_hosts;
  post_to_hosts(here, header, message);
}

void wire_link::send_creation(pe& here, envelope& message) {
  packet_header header{};
  header.to = reach::creation;
  post_to_hosts(here, header, message);
}

void wire_link::creation_lies_in_inboxes(std::uint32_t collection) {
  std::lock_guard guard(departing_);
  creation_fence_.lies_in_inboxes(collection);
  creation_fence_.flush([this](const outbound_message& next) { leave(next); });
}

void wire_link::post_to_hosts(pe& here, packet_header& header, envelope& message) {
  // First: a copy that is processed before it counts as sent would look like quiescence.
  here.counters().sent.add(static_cast<std::uint64_t>(job_.pes() - job_.pes_of_host()));
  // Creations arrive in their order: by the same tree.
  header.destination = header.to == reach::creation ? job_.host() : next_tree();
  post(here, 0, header, message);
}

// For packet_header::destination.
std::int32_t wire_link::next_tree() const {
  // relaxed: trees may begin in any order; the messages carry everything else
  const std::uint32_t number = job_.own_host().trees_begun.fetch_add(1, std::memory_order_relaxed);
  return job_.host() + host_tree::rotation_of(number, job_.hosts()) * job_.hosts();
}

host_tree wire_link::tree_of(const packet_header& header) const {
  return {job_.hosts(), header.destination % job_.hosts(), header.destination / job_.hosts()};
}

// Takes the block over. Returns how many.
int wire_link::to_child_hosts(const packet_header& header, void* block) {
  const host_tree tree = tree_of(header);
  std::array<int, host_tree::most_children> children{};
  int count = 0;
  tree.for_each_child(job_.host(), [&](int child) { children[static_cast<std::size_t>(count++)] = child; });
  for (int i = 0; i < count; ++i) {
    void* const mine =
        block == nullptr || i + 1 == count ? std::exchange(block, nullptr) : copy_of(block, header.block_bytes);
    post(job_.first_process_of(children[static_cast<std::size_t>(i)]), header, mine, to_arena);
  }
  if (block != nullptr) arena::release(block);
  return count;
}

bool wire_link::progress_traced() {
  if (!row_->is_on()) return port_->progress();
  const std::uint64_t before = os::ticks();
  const bool worked = port_->progress();
  row_->call_ended(trace::wire_progress_call, before);
  return worked;
}

// The process at the other end is likely to wait in a call, but it may compute. Without this the root of a program's
// first broadcast could keep it waiting for as long as it computes.
void wire_link::await_connections() {
  if (port_->is_idle()) return connect_time_left_ns_.store(0, std::memory_order_relaxed);  // relaxed: see flush()
  constexpr std::int64_t most_ns = 10'000'000;
  const std::int64_t begin = os::now_ns();
  // relaxed, both: see flush()
  const std::int64_t end = begin + std::min(most_ns, connect_time_left_ns_.load(std::memory_order_relaxed));
  while (!port_->is_idle() && os::now_ns() < end)
    if (!port_->progress()) std::this_thread::yield();
  // Two PEs may wait at the same time: none of the next connection's time is used up.
  const std::int64_t waited_ns = os::now_ns() - begin;
  if (connect_time_left_ns_.fetch_sub(waited_ns, std::memory_order_relaxed) < waited_ns)
    connect_time_left_ns_.store(0, std::memory_order_relaxed);
}

void wire_link::left(wire::peer_number, std::uint64_t trace) {
  if (row_ != nullptr)
    row_->left(static_cast<std::uint32_t>(trace >> 32), static_cast<std::uint32_t>(trace & 0xffff'ffff));
}

// ---- arriving

void* wire_link::memory_for(wire::peer_number from, std::span<const std::byte> header, std::size_t bytes) {
  std::uint64_t key = 0;
  if (goes_to_posted_memory(into_posted_memory_, header, key))
    if (void* const posted = posted_.begin(key, bytes)) return posted;
  try {
    return arena::allocate(bytes);
  } catch (const std::exception& error) {
    // A body that was announced may stay where it is until messages that are here have run.
    // relaxed, all of counted_: by the thread that makes progress, one at a time; others read it for a report.
    const std::uint64_t counted = counted_.load(std::memory_order_relaxed);
    if (header.size() + bytes > options_.eager_limit && (counted != given_back() || answers_that_wait() != 0))
      return nullptr;
    job_.fail(fmt::format("process {} has no memory for a message of {} bytes from process {}: {}", job_.process(),
                          bytes, from, error.what()));
  }
}

// What counts at this process: messages to its own PEs, and if it is the first of its host the copies of all PEs there.
std::uint64_t wire_link::given_back() const {
  std::uint64_t bytes = 0;
  const int first = job_.first_pe_of_host();
  const int own = job_.process() * job_.pes_per_process();
  for (int i = own; i < own + job_.pes_per_process(); ++i)
    bytes += job_.record_of(i)->counters.remote_bytes_done.read();
  if (own == first)
    for (int i = first; i < first + job_.pes_of_host(); ++i)
      bytes += job_.record_of(i)->counters.remote_copy_bytes_done.read();
  return bytes;
}

// For their PEs, here; those of the emulated network, which are not counted, for their time.
std::uint64_t wire_link::answers_that_wait() const {
  // relaxed: see counted_
  std::uint64_t answers = answers_taken_.load(std::memory_order_relaxed) + delayed_.size();
  const int own = job_.process() * job_.pes_per_process();
  for (int i = own; i < own + job_.pes_per_process(); ++i)
    answers -= job_.record_of(i)->counters.remote_answers_done.read();
  return answers;
}

std::string wire_link::report() const {
  const wire::port_counters now = port_->counters();
  return fmt::format(
      "wire of process {}: messages_sent={} messages_arrived={} packets={} waited={} most_waiting={} dropped={} "
      "memory_limit={} memory_peak={} memory_left={} memory_control_messages={} foreign_packets={} "
      "unchecked_packets={} "
      "repeated_packets={} foreign_connections={} network_latency_ns={} network_bandwidth={}",
      job_.process(), now.messages_sent, now.messages_arrived,
      now.short_packets + now.eager_sent + now.rendezvous_sent + now.memory_control_messages, now.waited,
      now.most_waiting, now.dropped, options_.message_memory, now.memory_peak,
      counted_.load(std::memory_order_relaxed) - given_back(), now.memory_control_messages, now.foreign_packets,
      now.unchecked_packets, now.repeated_packets, now.foreign_connections, job_.values().network_latency_ns,
      job_.values().network_bandwidth);
}

void wire_link::abandoned(void* memory) { release_arrived(memory); }

// Of a message that will not run.
void wire_link::release_arrived(void* memory) {
  if (!posted_.lost(memory)) arena::release(memory);
}

void wire_link::peer_failed(wire::peer_number peer, const std::string& why) {
  if (!ending_.load(std::memory_order_relaxed)) report_peer_failure(peer, why);  // relaxed: see expect_ends
}

// A heartbeat timeout is an error even during shutdown: peers answer heartbeats until they have disconnected.
void wire_link::report_peer_failure(wire::peer_number peer, const std::string& why) {
  const int process = static_cast<int>(peer);
  const std::string text = fmt::format("process {} found that process {} on {} has failed: {}", job_.process(), process,
                                       job_.name_of_host(job_.host_of_process(process)), why);
  // The launcher or local_peer_monitor knows more (which signal, which exception), a little later, and ends the job.
  if (failure_report_thread_.joinable()) return;
  failure_report_thread_ = std::jthread([this, text](const std::stop_token& job_is_over) {
    std::mutex alone;
    std::unique_lock lock(alone);
    std::condition_variable_any never;
    never.wait_for(lock, job_is_over, failure_report_delay, [] { return false; });
    if (!job_is_over.stop_requested() && !ending_.load(std::memory_order_relaxed))
      job_.fail(text);  // relaxed: as above
  });
}

void wire_link::arrived(wire::peer_number from, std::span<const std::byte> bytes, void* body, std::size_t body_bytes) {
  std::uint64_t key = 0;
  if (body != nullptr && goes_to_posted_memory(into_posted_memory_, bytes, key)) [[unlikely]]
    posted_.whole(key, body);
  if (network_.is_immediate()) [[likely]]
    return take_packet(from, bytes, body, body_bytes);
  const std::int64_t due = network_.completion_ns(os::now_ns(), bytes.size() + body_bytes);
  delayed_.push_back({due, from, {bytes.begin(), bytes.end()}, body, body_bytes});
  delays_.store(true, std::memory_order_relaxed);  // relaxed: as of is_idle
}

// Whether there was one.
bool wire_link::take_delayed() {
  bool taken = false;
  for (const std::int64_t now = os::now_ns(); !delayed_.empty() && delayed_.front().due_ns <= now; taken = true) {
    const delayed_packet one = std::move(delayed_.front());
    delayed_.pop_front();
    take_packet(one.from, one.header, one.body, one.body_bytes);
  }
  return taken;
}

void wire_link::take_packet(wire::peer_number from, std::span<const std::byte> bytes, void* body,
                            std::size_t body_bytes) {
  packet_header header;
  std::string fault = decode_wire_message(rules_, bytes, body_bytes, header);
  // What at_host makes of it is an address: never taken from a message.
  if (fault.empty() && header.to < reach::creation && handler_table()[header.handler].at_host != nullptr)
    fault = "its handler creates a collection, but it was not sent as a creation";
  if (!fault.empty()) [[unlikely]]
    job_.fail(fmt::format(
        "process {} on {} sent process {} a malformed message{}: {}", from,
        job_.name_of_host(job_.host_of_process(static_cast<int>(from))), job_.process(),
        header.handler < rules_.handlers ? fmt::format(" '{}'", handler_table()[header.handler].name) : std::string(),
        fault));
  envelope message{};
  message.element = header.element;
  message.collection = header.collection;
  message.handler = header.handler;
  message.source = header.source;
  message.bytes = header.bytes;
  message.kind = header.kind;
  message.flags = static_cast<std::uint8_t>(header.flags & ~(wire_message::is_traced | wire_message::names_creations |
                                                             wire_message::is_answer | envelope::any_count));
  if ((header.flags & wire_message::is_traced) != 0) {
    message.set_trace_tag(trace::tag_of(header.trace_number()));
    if (row_ != nullptr)
      row_->arrived(header.source, header.trace_number(), header.handler,
                    header.to == reach::one_pe ? trace::target::pe : trace::target::process, header.destination);
  }
  if (header.to >= reach::creation) own_process_.between_hosts.creations.add();
  if (header.to == reach::creation_acknowledged) return creation_acknowledged(header);
  if (header.to == reach::creation_globally_visible) return remote_creation_globally_visible(header);
  if ((header.flags & wire_message::is_answer) != 0) {
    message.flags |= envelope::is_answer;
    answers_taken_.store(answers_taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  if (takes_memory(header)) {
    const bool for_all = goes_to_all_pes(header.to);
    message.flags |= for_all ? envelope::is_counted_copy : envelope::is_counted;
    const std::uint64_t cost =
        wire::message_cost(body_bytes) * (for_all ? static_cast<std::uint64_t>(job_.pes_of_host()) : 1);
    counted_.store(counted_.load(std::memory_order_relaxed) + cost, std::memory_order_relaxed);
  }
  if (header.kind == payload_kind::direct) {
    std::memcpy(message.payload, header.payload, sizeof message.payload);
  } else {
    block_payload& payload = message.block();
    payload.block = body != nullptr ? body : arena::allocate(1);  // the taker of the arguments releases a block
    payload.bytes = body_bytes;
    std::memcpy(static_cast<void*>(&payload.urgency), header.payload, sizeof(priority));
  }
  try {
    int children = 0;
    if (goes_to_all_pes(header.to)) {
      children = to_child_hosts(header, body == nullptr ? nullptr : copy_of(body, body_bytes));
      own_process_.relayed.add(static_cast<std::uint64_t>(children));
    }
    if (header.to == reach::creation)
      take_creation(header, message, children);
    else
      take(from, header, message);
  } catch (const std::exception& error) {
    job_.fail(fmt::format("process {} cannot take a message '{}' from process {}: {}", job_.process(),
                          handler_table()[header.handler].name, from, error.what()));
  }
}

void wire_link::take(wire::peer_number from, const packet_header& header, const envelope& message) {
  const bool names_creations = (header.flags & wire_message::names_creations) != 0;
  if (!names_creations && arrival_gate_.is_empty()) [[likely]]
    return place(header.to, header.destination, message);
  const known_creations known = header.known();
  if (arrival_gate_.passes(from, known, [this](std::uint32_t host) { return creations_in_inboxes(host); }))
    return place(header.to, header.destination, message);
  arrival_gate_.keep(from, known, {header.to, header.destination, message});
  own_process_.between_hosts.kept_for_creations.add();
}

void wire_link::place(reach to, int destination, envelope message) {
  if (to == reach::one_pe) {
    return services_[message.handler] == nullptr ? deliver(destination, message) : accept_request(destination, message);
  }
  if (to == reach::all_pes_of_hosts) return to_pes_of_host(message);
  own_process_.nodes->push(message);
  own_process_.wake(1);
}

void wire_link::accept_request(int destination, const envelope& message) {
  const bool is_large = answer_is_large_[message.handler];
  if (!postponed_.must_wait(message.source, is_large, has_free_slot())) [[likely]]
    return admit_request(destination, message);
  postpones_.store(true, std::memory_order_relaxed);  // relaxed: see sleep_at_most
  // A poller may have looked at that before.
  if (postponed_.is_empty() && has_poller()) wakeup_socket::ring(own_process_.wire_wakeup);
  postponed_.push(message.source, is_large, {destination, message});
  own_process_.between_hosts.postponed_requests.add();
}

void wire_link::admit_request(int destination, envelope message) {
  if (answer_is_large_[message.handler]) {
    own_process_.between_hosts.most_answers.raise_to(slots_in_use_.fetch_add(1, std::memory_order_relaxed) + 1);
    own_process_.between_hosts.answers.add();  // relaxed: see release_slot
    message.flags |= envelope::holds_slot;
  }
  if (!serve(destination, message)) deliver(destination, message);
}

// A communication thread is no PE. Behind a request that waits at its receiver others must wait, too, whatever array
// they are for: only the receiver knows.
bool wire_link::serve(int destination, envelope& message) {
  auto* const here = static_cast<scheduler*>(detail::this_pe);
  auto& waiting = deferred_[static_cast<std::size_t>(destination % job_.pes_per_process())];
  // relaxed: see expect_ends. acquire: what those have done. pairs: wire_link.deferred
  if (here != nullptr && serves_requests_ && !ending_.load(std::memory_order_relaxed) &&
      waiting.load(std::memory_order_acquire) == 0 && services_[message.handler](*here, message, destination)) {
    here->serve(destination, message);
    return true;
  }
  waiting.fetch_add(1, std::memory_order_relaxed);  // relaxed: read by this thread, or the next that makes progress
  message.flags |= envelope::is_deferred;
  return false;
}

void wire_link::take_creation(const packet_header& header, envelope& message, int children) {
  const int maker = job_.host_of(static_cast<int>(header.source));
  remote_creations_.heard(job_.own_host().creations, maker);
  if (const auto at_host = handler_table()[header.handler].at_host) at_host(job_, message);
  to_pes_of_host(message);
  // release: what waits for it comes behind it in the inboxes. pairs: wire_link.in_inboxes
  job_.own_host().creations_in_inboxes[maker].store(remote_creations_.heard_of(maker), std::memory_order_release);
  creation_relayed(header, children);
  flush_arrivals();
  ring_other_processes();  // they may keep messages for it, while their pollers sleep
}

// Own creations lie here before they leave.
std::uint32_t wire_link::creations_in_inboxes(std::uint32_t host) const {
  if (host == static_cast<std::uint32_t>(job_.host())) return ~std::uint32_t{0};
  return job_.own_host().creations_in_inboxes[host].load(std::memory_order_acquire);  // pairs: wire_link.in_inboxes
}

// Whether there was one.
bool wire_link::flush_arrivals() {
  bool delivered = false;
  arrival_gate_.flush([this](std::uint32_t host) { return creations_in_inboxes(host); },
                      [&](const arrived_message& one) {
                        place(one.to, one.destination, one.message);
                        delivered = true;
                      });
  return delivered;
}

// Another process of the host puts creations into the inboxes, and rings.
bool wire_link::polled() {
  if (delayed_.empty() && postponed_.is_empty() && arrival_gate_.is_empty()) [[likely]]
    return false;
  try {
    bool something = take_delayed();
    if (!ending_.load(std::memory_order_relaxed))  // relaxed: see expect_ends
      something |=
          postponed_.admit_some([this] { return has_free_slot(); },
                                [this](const postponed_request& one) { admit_request(one.destination, one.message); });
    // relaxed, both: see sleep_at_most
    delays_.store(!delayed_.empty(), std::memory_order_relaxed);
    postpones_.store(!postponed_.is_empty(), std::memory_order_relaxed);
    return flush_arrivals() || something;
  } catch (const std::exception& error) {
    job_.fail(fmt::format("process {} cannot take a message that waited: {}", job_.process(), error.what()));
  }
  return false;
}

void wire_link::creation_relayed(const packet_header& creation, int children) {
  if (relayed_creations_.relayed(creation.collection, children))
    acknowledge_to_parent(creation.collection, creation.source);
}

// Of the creation by the PE `source`, whose own process hears of it at the root.
void wire_link::acknowledge_to_parent(std::uint32_t collection, std::uint32_t source) {
  const int creator = job_.process_of(static_cast<int>(source));
  const int root = job_.host_of_process(creator);
  const int parent = host_tree(job_.hosts(), root, 0).parent(job_.host());
  packet_header thanks{};
  thanks.to = reach::creation_acknowledged;
  thanks.collection = collection;
  thanks.source = source;
  std::lock_guard guard(departing_);
  if (!drops_outbound_) post(parent == root ? creator : job_.first_process_of(parent), thanks, nullptr, {});
}

void wire_link::creation_acknowledged(const packet_header& thanks) {
  if (!job_.is_on_own_host(static_cast<int>(thanks.source))) {
    if (relayed_creations_.acknowledged(thanks.collection)) acknowledge_to_parent(thanks.collection, thanks.source);
    return;
  }
  {
    std::lock_guard guard(departing_);
    if (drops_outbound_ || !creation_fence_.acknowledged(thanks.collection)) return;
  }
  packet_header notification{};
  notification.to = reach::creation_globally_visible;
  notification.source = static_cast<std::uint32_t>(job_.process() * job_.pes_per_process());
  notification.destination = job_.host();
  to_child_hosts(notification, nullptr);
  flush_outbound();
  ring_other_processes();
}

void wire_link::remote_creation_globally_visible(const packet_header& notification) {
  to_child_hosts(notification, nullptr);
  remote_creations_.globally_visible(job_.own_host().creations, job_.host_of(static_cast<int>(notification.source)));
  flush_outbound();
  ring_other_processes();
}

// Those of this host, whose poller may sleep on messages that may go now.
void wire_link::ring_other_processes() const {
  const int first = job_.first_process_of(job_.host());
  for (int other = first; other < first + job_.processes_of_host(job_.host()); ++other)
    if (other != job_.process()) wakeup_socket::ring(job_.process_record_of(other)->wire_wakeup);
}

void wire_link::deliver(int destination, const envelope& message) {
  inbox_shared& inbox = *job_.record_of(destination)->inbox;
  if ((message.flags & (envelope::has_priority | envelope::is_immediate)) != 0) {
    auto* const block = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
    block->assign_message(message);
    push_urgent(inbox, block);
    return;
  }
  const inbox_slot slot = claim(inbox);
  slot.message->assign_message(message);
  publish(inbox, slot);
}

void wire_link::to_pes_of_host(const envelope& message) {
  const int first = job_.first_pe_of_host();
  const int last = first + job_.pes_of_host();
  for (int destination = first; destination < last; ++destination) {
    const bool is_last = destination + 1 == last;
    deliver(destination, is_last ? message : copy_of_message(message));
  }
}

}  // namespace tri::sched
