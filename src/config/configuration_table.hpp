// The one table of options. A row is a line: ROW(type, name, default, unit, allowed values, help).
// The members of tri::config::configuration, the environment variables TRIREME_<NAME>, the options --tri-<name>, their
// checks, their help and the suggestions for misspelt names all come from here. Included by configuration.hpp.
// A macro over the rows, because only that gives plain typed members and one line for a row at the same time.
#pragma once

// clang-format off
#define TRIREME_OPTIONS(ROW) \
  ROW(int,            pes,                0,                            "PEs",     between(0, 4096),                "PEs (scheduler threads) of each process; 0 = the cores this process may use, divided by the processes of the machine") \
  ROW(std::string,    affinity,           "auto",                       "",        cpus_or_words("auto, none or a list of CPUs such as 0,2-5:2"), "core of each PE: auto = one core per PE, none = no pinning, or a list of CPUs; entry i is for PE i of the host") \
  ROW(int,            inbox_cells,        1024,                         "cells",   power_of_two_between(16, 65536), "messages that the ring of a PE's inbox holds; more go to an overflow list") \
  ROW(int,            node_queue_cells,   4096,                         "cells",   power_of_two_between(16, 65536), "messages that the ring of a process's node queue holds; more go to an overflow list") \
  ROW(std::size_t,    arena_window_bytes, default_arena_window_bytes,   "bytes",   power_of_two_between(1 << 20, 1ull << 40), "address space that each process has for shared memory; nothing is committed") \
  ROW(std::size_t,    arena_limit_bytes,  0,                            "bytes",   anything("a size; 0 = automatic"), "shared memory that a process may really use; 0 = as much as the machine and the container allow") \
  ROW(allocator_kind, allocator,          allocator_kind::caches,       "",        one_of("caches|locked"),         "message blocks: caches = a free list per PE and size class, locked = one heap with a lock") \
  ROW(idle_policy,    idle,               idle_policy::automatic,       "",        one_of("auto|spin|yield|sleep"), "what a PE without work does: auto = spin a little, yield, then sleep until a message arrives") \
  ROW(int,            idle_spin_us,       200,                          "us",      between(0, 1000000),             "how long idle=auto spins before it yields") \
  ROW(int,            longest_sleep_ms,   1000,                         "ms",      between(0, 3600000),             "longest sleep of a PE that no message wakes; then it polls for work; 0 = no limit") \
  ROW(int,            hosts,              1,                            "hosts",   between(1, 1024),                "emulated hosts: the processes are split into this many blocks that share no memory with each other") \
  ROW(wire_library,   wire,               wire_library::automatic,      "",        one_of("auto|tcp|ucx|mpi"),      "transport of the messages between hosts: tcp = Trireme's own TCP connections, ucx = the UCX library, mpi = the MPI library of the launcher, auto = ucx where the network has RDMA adapters, else tcp") \
  ROW(std::string,    wire_mpi,           "auto",                       "",        anything("auto, openmpi, mpich or the path of a plug-in"), "with wire=mpi, which MPI library: auto = the one that belongs to the launcher") \
  ROW(int,            wire_mpi_small_bytes, 8192,                       "bytes",   between(256, 1048576),           "with wire=mpi, packets up to this size are received by receives posted in advance for MPI_ANY_SOURCE") \
  ROW(int,            wire_mpi_small_receives, 64,                      "",        between(1, 4096),                "with wire=mpi, how many of those receives there are") \
  ROW(std::string,    wire_mpi_posted,    "",                           "",        anything("parts like 4x65536, separated by commas; empty = none"), "with wire=mpi, receives posted ahead for larger messages: how many of which size") \
  ROW(int,            wire_mpi_adaptive,  0,                            "sizes",   between(0, 1024),                "with wire=mpi, for how many sizes, those seen most often, receives are posted ahead") \
  ROW(communication_thread, comm_thread,  communication_thread::off,    "",        one_of("off|on|funnelled"),      "a thread of each process for the messages between hosts: off = PEs without work move them, on = it receives and all send, funnelled = it sends, too") \
  ROW(int,            comm_thread_sends,  128,                          "messages", between(0, 1 << 30),            "with comm_thread=funnelled, how many messages it sends before it looks for what has come; 0 = all that wait") \
  ROW(int,            comm_thread_backlog, 1024,                        "packets", between(0, 1 << 30),             "with comm_thread=funnelled, it sends nothing more while so many packets are still in flight; 0 = no limit") \
  ROW(std::size_t,    message_memory,     std::size_t{256} << 20,       "bytes",   anything("a size"),              "memory that messages from other hosts may take in a process until they run, but for answers to requests; what has no room waits at its sender") \
  ROW(std::size_t,    mailbox_memory,     std::size_t{16} << 20,        "bytes",   anything("a size"),              "memory that unexpected messages of a tri::mailbox may take on a PE; what does not fit waits at its sender") \
  ROW(std::size_t,    mailbox_credits,    0,                            "bytes",   anything("a size"),              "credits that a PE grants in advance to the senders of messages of a tri::mailbox that it predicts; these are then sent eagerly, without a request; 0 = none") \
  ROW(std::string,    wire_transports,    "",                           "",        anything("names as in UCX_TLS, such as tcp; empty = all networks"), "transports of UCX that the wire may use") \
  ROW(std::string,    network,            "",                           "",        anything("interfaces such as eth0 and networks such as 10.1.0.0/16, separated by commas; ! in front = all but these; empty = automatic"), "networks that the wire may use; automatic = the loopback interface for a job on one machine, else all others") \
  ROW(int,            network_latency_ns, 0,                            "ns",      between(0, 1000000000),          "a network that is slower than the one that is there: each message from another host arrives this much later") \
  ROW(std::size_t,    network_bandwidth,  0,                            "bytes/s", anything("a size; 0 = no limit"), "the same: bytes of messages that arrive at a process in a second") \
  ROW(int,            answer_slots,       64,                           "answers", between(1, 1 << 20),           "sections of global arrays for other hosts that may be on their way from a process; further requests for such wait in the message memory") \
  ROW(remote_memory_access, rma,          remote_memory_access::off,    "",        one_of("off|emulated"),          "direct access to the array memory of other hosts, without their processors: emulated = between emulated hosts of one machine, by a network adapter in software") \
  ROW(int,            rma_cache_entries,  100,                          "addresses", between(0, 1 << 24),           "with rma, addresses of chunks on other hosts that a process keeps, the least recently used ones make room; 0 = no cache: all accesses are messages") \
  ROW(bool,           rma_cached_puts,    true,                         "",        on_or_off(),                     "with rma, puts use cached addresses, too; off = gets alone") \
  ROW(registration_choice, rma_registration, registration_choice::chunks, "",      one_of("everything|chunks"),     "with rma, what is registered at the first access of another host: everything = the whole piece of a PE, chunks = the chunk") \
  ROW(std::size_t,    rma_chunk_bytes,    std::size_t{256} << 10,       "bytes",   power_of_two_between(64, 1ull << 40), "with rma_registration=chunks, the size of a chunk; the same in all processes") \
  ROW(std::size_t,    rma_limit_bytes,    0,                            "bytes",   anything("a size; 0 = no limit"), "with rma=emulated, memory that a process may have registered at a time") \
  ROW(std::size_t,    rma_contiguous_bytes, 0,                          "bytes",   anything("a size; 0 = no limit"), "with rma=emulated, memory that one registration may cover") \
  ROW(int,            rma_listed_processes, 8,                          "processes", between(0, 1 << 20),           "with rma, processes that are listed as knowing an address; if there are more, its invalidation goes to all") \
  ROW(int,            rma_latency_ns,     0,                            "ns",      between(0, 1000000000),          "with rma=emulated, time from a direct access to its completion") \
  ROW(std::size_t,    rma_bandwidth,      0,                            "bytes/s", anything("a size; 0 = no limit"), "with rma=emulated, bytes that the direct accesses of a PE move in a second") \
  ROW(int,            rma_reorder_ns,     0,                            "ns",      between(0, 1000000000),          "with rma=emulated, each direct access takes up to this much longer, at random, so that they overtake each other") \
  ROW(bool,           wire_authentication, false,                       "",        on_or_off(),                     "a keyed check value (MAC) over every packet between hosts, against altered and replayed packets; its cost grows with their size") \
  ROW(double,         peer_timeout_s,     30,                           "s",       at_least(0),                     "peer timeout: a process of another host that sends nothing for this long, heartbeats included, has failed, which ends the job; 0 = no limit") \
  ROW(std::string,    topology,           "auto",                       "",        anything("auto, the path of an hwloc XML file or synthetic:<description>"), "the machine to plan for: auto = this one") \
  ROW(double,         start_timeout_s,    60,                           "s",       at_least(0),                     "how long a process waits at the start for another of its host that has connected to the launcher; then the job ends; 0 = no limit") \
  ROW(double,         stall_report_s,     5,                            "s",       at_least(0),                     "seconds without any progress while a result is awaited after which the job ends with a report; 0 = never") \
  ROW(bool,           counters,           false,                        "",        on_or_off(),                     "print the counters of every PE at the end") \
  ROW(std::string,    loops_report,       "off",                        "",        anything("off, on (or 1), or full"), "print at the end where the time of each parallel loop went; full: now and then on one core, to tell what moving data costs") \
  ROW(std::string,    loops_report_file,  "",                           "",        anything("the path of a file; empty = none"), "write at the end where the time of each parallel loop went, as JSON") \
  ROW(std::string,    loops_schedule,     "automatic",                  "",        anything("a loop schedule such as hybrid,0.8"), "schedule of parallel loops for which the program names none") \
  ROW(std::string,    loops_tune,         "",                           "",        anything("the path of a file written by trireme tune; empty = none"), "schedules of parallel loops, place by place, for loops for which the program names none") \
  ROW(std::string,    trace,              "",                           "",        anything("the path of a folder; empty = none"), "write a trace into this folder, for `trireme trace`") \
  ROW(std::string,    trace_pes,          "all",                        "",        anything("all, or PEs such as 0-3,7"),  "with trace, the PEs that write one") \
  ROW(bool,           trace_start,        true,                         "",        on_or_off(),                     "with trace, on from the start; off: when the program calls tri::trace::on()") \
  ROW(int,            trace_events,       65536,                        "events",  between(16, 1 << 26),            "with trace, events of 32 bytes that each PE keeps before it writes them to its file") \
  ROW(int,            trace_slow_us,      10000,                        "us",      between(1, 1000000000),          "with trace, calls that take at least so long are reported one by one") \
  ROW(bool,           footprint,          false,                        "",        on_or_off(),                     "print at the end what memory was used for")
// clang-format on
