// Between the calls that the compiler inserts (sanitizer_calls.cpp), the memory that is watched and the scheduler
// (interleavings.cpp). For those three files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::explore {

bool agent_is_running();             // and not our own code
int agent_at_work();                 // its number
const std::uint32_t* agent_knows();  // for each agent, up to which of its releases this one has seen

enum class atomic_kind : std::uint8_t { store, change };
/// Performs a store or a change; false: a compare and exchange that did neither.
using access_function = bool (*)(void* argument);
void atomic_step(const void* address, std::size_t bytes, atomic_kind kind, int order, access_function access,
                 void* argument);
std::uint64_t atomic_load(const void* address, std::size_t bytes, int order);
void atomic_fence(int order);
void word_was_overwritten(const void* address, std::size_t bytes);  // by a plain access of an agent
void agent_yields();
bool agent_sleeps(const std::uint32_t* word, std::uint32_t expected, bool has_limit);
void agent_wakes(const std::uint32_t* word, int most);

void begin_watching();
bool is_ignored(const void* address);
void watch_plain(const void* address, std::size_t bytes, bool writes);
void watch_atomic(const void* address, std::size_t bytes, bool writes);

}  // namespace tri::explore
