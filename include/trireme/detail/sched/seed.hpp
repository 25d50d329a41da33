// Seeds: messages that create an object and may begin on any PE (sched/seeds/pe_seeds.hpp). Each kind has two handlers
// with neighbouring numbers: the first takes in a seed that another PE has sent, the second begins it.
#pragma once

#include <cstdint>

#include "trireme/detail/sched/envelope.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

class pe;

constexpr std::uint32_t begin_handler(std::uint32_t arrival) { return arrival + 1; }
constexpr std::uint32_t arrival_handler(std::uint32_t begin) { return begin - 1; }

/// What the first handler of each kind does: the seed is one of this PE from now on. Takes over the payload.
void seed_arrived(pe& here, envelope& message);

}  // namespace tri::sched

#pragma GCC visibility pop
