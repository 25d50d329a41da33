// The trace of one rank of an MPI job (trace/format.hpp): what it sent in messages that do not fit into two cells of an
// inbox, when it waited, and which data it copied for whom. Used by the threads of its process one at a time, as the
// engine is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/engine/endpoint.hpp"
#include "trace/recorder.hpp"

namespace tri::mpi {

struct rank_trace_facts {
  int rank = 0;  // in MPI_COMM_WORLD
  int size = 1;
  int host = 0;
  int hosts = 1;
  std::vector<std::uint32_t> world_ranks;  // of the ranks of the host, by their numbers there
};

class rank_trace {
 public:
  /// Of this process; null: its rank is not traced. Changed while no thread is in the engine.
  static inline rank_trace* current = nullptr;

  /// Makes the folder, and in it the rank's file in place of an older one. Throws std::runtime_error.
  rank_trace(const std::string& folder, rank_trace_facts facts);
  ~rank_trace();
  rank_trace(const rank_trace&) = delete;
  rank_trace& operator=(const rank_trace&) = delete;

  /// To the rank of the host with that number.
  void sent(std::uint32_t number, std::size_t bytes) {
    row_.send(message, trace::target::pe, facts_.world_ranks[number], bytes);
  }
  void waits() { row_.mark(trace::event::wait); }
  void resumes() { row_.mark(trace::event::resume); }
  void idle(std::uint64_t now) { row_.idle(now); }
  /// Data of a message between two ranks of the host. `began`: in ticks.
  void copied(const endpoint& from, const endpoint& to, std::uint64_t bytes, std::uint64_t began);

 private:
  static constexpr std::uint32_t message = 0;  // the only name of the handlers

  rank_trace_facts facts_;
  trace::recorder row_;
};

}  // namespace tri::mpi
