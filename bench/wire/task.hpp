// One measurement of the wire between two processes, as passed from the benchmark to its competitors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tri::bench {

struct wire_task {
  // "port": ours; "raw_ucx": UCX called plainly; "mailbox": a tri::mailbox between PEs of two pretended hosts
  std::string who = "port";
  // one_way, stream, wake; multi: many there and back at once; unexpected_flood: a stream whose receiver uses nothing
  // while more comes; of a mailbox: messages that are received in the reverse order of sending; exchange: of a mailbox,
  // both ways; cache: a computation beside messages
  std::string what = "one_way";
  std::string place = "loopback";  // or "veth": two network namespaces, for root
  std::size_t bytes = 8;
  bool coalesced = true;     // of ours
  int senders = 1;           // threads that send; of ours
  std::int64_t memory = -1;  // bytes that messages may take at the receiver; of ours; negative: no limit
  double seconds = 1;
  std::string conduit = "ucx";  // of ours, or "tcp"; "mpi": the competitor is started twice, by mpirun
  int in_flight = 1;            // of multi, cache
  // Of more senders than one: "receiving", a further thread makes progress; "funnelled", it sends, too; "all", they
  // make progress themselves; "spread", as the first, on all cores. Of cache: wire/cache_backend.hpp
  std::string division = "receiving";
  bool posted = false;       // of mpi: receives of the size are posted ahead
  std::int64_t credits = 0;  // of a mailbox: credits for messages that are predicted

  bool operator==(const wire_task&) const = default;
};

/// For the command line of a competitor, and back. Throws std::invalid_argument that names the word it does not know.
std::string written(const wire_task& task);
wire_task read_wire_task(const std::string& text);

/// The line behind the last batch, where the end of the processes is not to be waited for.
inline constexpr const char* end_of_measurement = "measured";

/// Measures with a second process and prints nanoseconds per message, one line per batch. The exit status.
int serve_as_wire_competitor(const std::string& task);
/// The same where `trireme run` has started both processes.
int serve_over_mailboxes(const wire_task& task);

}  // namespace tri::bench
