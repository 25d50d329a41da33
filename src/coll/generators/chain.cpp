// Broadcast of large data along a chain of hosts, in pieces: each host passes on a piece while the next one comes. The
// bytes are in `senders` slices, one for each of so many ranks of a host, which receives and sends it; the others copy
// it out of that rank's output.
//
// Each host gets and sends all bytes once, where the root of a tree sends them several times; so it is for more bytes
// than a tree saves in rounds.
#include <algorithm>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/generators/generators.hpp"

namespace tri::coll {
namespace {

// Of a message: few enough for one that travels with its header, and enough to be worth it.
constexpr std::uint64_t bytes_of_piece = std::uint64_t{48} << 10;

class slices {
 public:
  slices(const request& asked, int senders) : asked_(asked), senders_(senders) {
    const auto all = static_cast<std::uint64_t>(senders) * bytes_of_piece;
    pieces_ = static_cast<int>(std::clamp<std::uint64_t>((asked.vector_bytes() + all - 1) / all, 1, most_chain_pieces));
  }
  int pieces() const { return pieces_; }
  byte_range piece(int slice, int number) const {
    const byte_range whole = part_of(asked_.vector_bytes(), asked_.extent, slice, senders_);
    const byte_range piece = part_of(whole.bytes(), asked_.extent, number, pieces_);
    return {whole.begin + piece.begin, whole.begin + piece.end};
  }

 private:
  const request& asked_;
  int senders_;
  int pieces_;
};

// Sends the pieces of this rank's slice to the next host, each after the step of that number (`there`).
std::vector<step_id> pass_on(plan_builder& b, const slices& all, int hop, const place& from,
                             const std::vector<step_id>& there) {
  std::vector<step_id> sends;
  const int next = b.peer((b.host + 1) % b.view.hosts(), b.local);
  for (int i = 0; i < all.pieces(); ++i) {
    const byte_range piece = all.piece(b.local, i);
    if (piece.bytes() > 0)
      sends.push_back(b.send(next, static_cast<std::uint32_t>(hop + i), {from.rank, from.where, piece.begin},
                             piece.bytes(), there[static_cast<std::size_t>(i)]));
  }
  return sends;
}

std::vector<step_id> receive_slice(plan_builder& b, const slices& all, int hop, std::uint32_t arrived) {
  const int from = b.peer((b.host + b.view.hosts() - 1) % b.view.hosts(), b.local);
  std::vector<step_id> received;
  step_id last = no_step;
  for (int i = 0; i < all.pieces(); ++i) {
    const byte_range piece = all.piece(b.local, i);
    received.push_back(piece.bytes() == 0 ? no_step
                                          : b.receive(from, static_cast<std::uint32_t>(hop - 1 + i),
                                                      b.own(buffer::output, piece.begin), piece.bytes(), {}));
    if (b.mates > 1) last = b.signal(b.rank, arrived, {received.back(), last});
  }
  return received;
}

std::vector<step_id> copy_slice(plan_builder& b, const slices& all, int slice, std::uint32_t arrived) {
  std::vector<step_id> copies;
  const int owner = b.leader + slice;
  for (int i = 0; i < all.pieces(); ++i) {
    const byte_range piece = all.piece(slice, i);
    if (piece.bytes() > 0)
      copies.push_back(b.copy({owner, buffer::output, piece.begin}, b.own(buffer::output, piece.begin), piece.bytes(),
                              b.wait(owner, arrived, i + 1, {})));
  }
  return copies;
}

}  // namespace

void chain_broadcast(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const int root = b.asked.root;
  const int hop = (b.host - b.view.host_of(root) + hosts) % hosts;  // 0: the root's
  const bool sends = b.local < senders && hop + 1 < hosts;
  const slices all(b.asked, senders);
  const auto pieces = static_cast<std::size_t>(all.pieces());
  if (hop == 0) {
    const place data{root, buffer::input, 0};
    const step_id there = b.release(root, {});
    std::vector<step_id> reads;
    if (sends) reads = pass_on(b, all, hop, data, std::vector(pieces, there));
    if (b.rank != root) reads.push_back(b.copy(data, b.own(buffer::output), b.asked.vector_bytes(), there));
    b.collect(root, reads);
    return;
  }
  const std::uint32_t arrived = b.new_counter();  // of each that receives: its pieces, in their order
  const std::uint32_t read = b.new_counter();     // likewise: by so many ranks
  if (b.local < senders) {
    const std::vector<step_id> received = receive_slice(b, all, hop, arrived);
    if (sends) pass_on(b, all, hop, b.own(buffer::output), received);
  }
  for (int slice = 0; slice < senders; ++slice) {
    const int owner = b.leader + slice;
    if (slice == b.local && b.mates > 1) b.wait(owner, read, b.mates - 1, {});
    if (slice != b.local) b.signal(owner, read, copy_slice(b, all, slice, arrived));
  }
}

}  // namespace tri::coll
