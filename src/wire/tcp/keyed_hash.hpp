// A short proof that a process knows a token: SipHash-2-4 with 128 bits (J.-P. Aumasson and D. J. Bernstein, SipHash: a
// fast short-input PRF, 2012). An observer of proofs learns nothing of the token. Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tri::wire {

using token_bytes = std::array<std::byte, 16>;  // the key
using proof_bytes = std::array<std::byte, 16>;

proof_bytes keyed_hash(const token_bytes& token, std::span<const std::byte> message);

/// Constant time.
bool are_equal_proofs(const proof_bytes& one, const proof_bytes& other);

}  // namespace tri::wire
