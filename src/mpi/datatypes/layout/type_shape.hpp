// The places of a datatype's bytes, in the order of its type map, as a tree in normal form: regular parts stay loops,
// neighbours in stream and memory are one block, small irregular parts are lists of blocks. Built in private memory
// while a datatype is described (datatype.hpp), then written out as a layout program (layout_encoder.hpp). Shapes never
// change and are shared between the types that contain them; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tri::mpi {

/// Irregular shapes of at most this many blocks become lists, however they were described.
inline constexpr std::uint64_t small_list = 64;

struct shape;

/// A shape with its origin `displacement` bytes behind that of its container. No body: no bytes.
struct placed_shape {
  std::int64_t displacement = 0;
  std::shared_ptr<const shape> body = nullptr;
  bool empty() const { return body == nullptr; }
};

struct shape {
  enum class form : std::uint8_t {
    block,     // `bytes` bytes from the origin
    loop,      // body, count times, `stride` apart; count > 1
    places,    // body, once at each of `displacements`
    runs,      // body, at each of `displacements`, amounts[i] times, `stride` apart
    list,      // blocks of amounts[i] bytes at displacements[i]
    sequence,  // parts, one after the other
  };
  form what = form::block;
  std::uint64_t bytes = 0;   // in the packed stream
  std::uint64_t blocks = 1;  // contiguous segments; capped at 2^62, as is rows
  std::uint64_t rows = 1;    // runs of equal blocks at one distance
  std::int64_t low = 0;      // touches bytes [low, high) from the origin
  std::int64_t high = 0;
  std::uint32_t depth = 0;  // of nested loops, places, runs and sequences
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::shared_ptr<const shape> body = nullptr;  // its origin is this one's plus the form's offset
  std::vector<std::int64_t> displacements = {};
  std::vector<std::uint64_t> amounts = {};
  std::vector<placed_shape> parts = {};

  bool is_block() const { return what == form::block; }
};

/// `bytes` bytes in one segment; 0 bytes are nothing.
placed_shape block_at(std::int64_t displacement, std::uint64_t bytes);

/// `what`, moved.
placed_shape moved(placed_shape what, std::int64_t by);

/// `body`, count times, each `stride` bytes behind the one before.
placed_shape repeated(std::uint64_t count, std::int64_t stride, const placed_shape& body);

/// `body` once at each displacement, in this order.
placed_shape at_places(std::vector<std::int64_t> displacements, const placed_shape& body);

/// `body` at each displacement, counts[i] times `stride` apart, in this order. Equally many of both.
placed_shape in_runs(std::vector<std::int64_t> displacements, std::vector<std::uint64_t> counts, std::int64_t stride,
                     const placed_shape& body);

/// Parts one after the other.
placed_shape in_sequence(std::vector<placed_shape> parts);

}  // namespace tri::mpi
