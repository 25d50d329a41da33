// The enumerations that options choose from (configuration_table.hpp), for code that needs a choice and not all
// options.
#pragma once

#include <cstdint>

namespace tri::config {

enum class allocator_kind : std::uint8_t { caches, locked, checked };
// Who is at the network: PEs without work; a thread that receives while all send; a thread alone (Mei 2012, 6.1.1).
enum class communication_thread : std::uint8_t { off, on, funnelled };
enum class wire_library : std::uint8_t { automatic, tcp, ucx, mpi };  // "auto" is a keyword
// Direct access to array memory of other hosts, and how much of it is registered at once (arrays/addresses).
enum class remote_memory_access : std::uint8_t { off, emulated, ucx };
enum class registration_choice : std::uint8_t { everything, chunks };
// Whether elements migrate at each call of a balancing, or only if that pays; automatic: calls always, periods if it
// pays.
enum class balance_occasion : std::uint8_t { automatic, always, pays };   // "auto" is a keyword
enum class idle_policy : std::uint8_t { automatic, spin, yield, sleep };  // "auto" is a keyword
// Where a new object without a place begins; the same as tri::seed_strategy.
enum class seed_strategy : std::uint8_t { here, random, neighbour, stealing };

}  // namespace tri::config
