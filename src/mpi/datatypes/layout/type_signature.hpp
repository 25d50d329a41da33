// Which basic elements a datatype consists of, in the order of its type map, as a tree of runs and loops. A hash that
// can be joined makes signatures comparable without walking them: also of any number of copies, and of the first n
// elements. Signatures never change and are shared; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/datatypes/layout/element_kind.hpp"

namespace tri::mpi {

/// Hash of a sequence of element kinds: a polynomial modulo 2^61 - 1, so that hash(ab) follows from hash(a), hash(b)
/// and the base to the power of b's length. Equal sequences have equal hashes; two that differ agree with probability
/// about length / 2^61.
struct sequence_hash {
  std::uint64_t value = 0;
  std::uint64_t power = 1;  // of the base, as high as the sequence is long
  friend bool operator==(const sequence_hash&, const sequence_hash&) = default;
};
sequence_hash hash_of(element_kind kind);
sequence_hash joined(const sequence_hash& first, const sequence_hash& second);
sequence_hash repeated(const sequence_hash& what, std::uint64_t count);

struct signature;
using shared_signature = std::shared_ptr<const signature>;  // none: no elements

struct signature {
  enum class form : std::uint8_t {
    run,       // count elements of `kind`
    loop,      // body, count times
    sequence,  // parts, one after the other
  };
  form what = form::run;
  element_kind kind = element_kind::byte;  // mixed when there is more than one
  std::uint64_t count = 1;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  sequence_hash hash = {};
  shared_signature body = nullptr;
  std::vector<shared_signature> parts = {};
};

shared_signature run_of(element_kind kind, std::uint64_t count);
shared_signature repeated(std::uint64_t count, const shared_signature& body);
shared_signature in_sequence(const std::vector<shared_signature>& parts);

}  // namespace tri::mpi
