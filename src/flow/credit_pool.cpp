#include "flow/credit_pool.hpp"

namespace tri::flow {

namespace {
constexpr std::uint64_t grain = 64;
constexpr std::uint64_t steps = 32;
constexpr std::uint64_t batches = 4;
}  // namespace

// A quarter goes to unknown peers, the rest follows the actual senders.
credit_pool::credit_pool(std::uint64_t limit, std::uint64_t senders)
    : limit_(limit),
      initial_(senders == 0 ? 0 : limit / 4 / senders / grain * grain),
      step_(std::max(limit / steps, grain)),
      unknown_(initial_ * senders) {}

void credit_pool::known(peer_credits& of) {
  of.granted = initial_;
  of.holds = initial_ != 0;
  unknown_ -= initial_;
  outstanding_ += initial_;
}

void credit_pool::grant(peer_number to, std::uint64_t bytes, credit_pool_owner& owner) {
  peer_credits& of = owner.credits_of(to);
  of.granted += bytes;
  of.holds = 1;
  outstanding_ += bytes;
  owner.send_control(to, {.what = credit_control::kind::grant, .total = of.granted});
}

void credit_pool::top_up(peer_number from, credit_pool_owner& owner) {
  if (asking_ != 0) return;
  const std::uint64_t has = owner.credits_of(from).outstanding();
  const std::uint64_t share = (free() + has) / 2;
  if (has < share / 2 && share - has >= step_) grant(from, share - has, owner);
}

// Notes may overtake each other: one that requests less than is granted, or than a newer one, is obsolete.
void credit_pool::requested(peer_number from, const credit_control& note, credit_pool_owner& owner) {
  peer_credits& of = owner.credits_of(from);
  const std::uint64_t needed = note.total + note.bytes;
  if (needed <= of.granted || (of.asking != 0 && needed <= of.needed)) return;
  of.needed = needed;
  of.first = note.bytes;
  of.more = note.more & memory_credit::most_more;
  of.holds = of.granted > note.total;
  if (of.asking == 0) enqueue(from, of, owner);
}

bool credit_pool::returned(peer_credits& from, const credit_control& note) {
  if (note.bytes > from.outstanding() || from.recalled == 0) return false;
  from.arrived += note.bytes;
  outstanding_ -= note.bytes;
  from.recalled = 0;
  from.holds = from.granted > note.total;  // a grant crossed the answer
  return true;
}

// First come, first served, with a batch, so that a control message pays off. Memory in use comes back by itself; only
// when even that would not be enough, others must return unused credits.
void credit_pool::serve(credit_pool_owner& owner) {
  while (asking_ != 0) {
    const peer_number peer = first_asking_;
    peer_credits& of = owner.credits_of(peer);
    if (of.needed > of.granted) {
      const std::uint64_t missing = of.needed - of.granted;
      const std::uint64_t wanted = missing + std::uint64_t{of.more} * grain;
      const std::uint64_t enough = std::max(missing, std::min(wanted, limit_ / batches));
      if (enough <= free()) {
        grant(peer, std::max(enough, std::min(wanted, free() / asking_)), owner);
      } else if (is_alone(of)) {
        grant(peer, missing, owner);  // larger than all that can ever be free
      } else {
        if (free() + in_use_ < enough) owner.recall_from_all();
        return;
      }
    }
    dequeue_first(of);
  }
}

// Nothing is here, nothing is in flight, and no other peer may send anything, except unknown ones, whose part is set
// aside.
bool credit_pool::is_alone(const peer_credits& first) const {
  const bool nothing_on_its_way = first.arrived == first.needed - first.first;
  return in_use_ == 0 && outstanding_ == first.outstanding() && nothing_on_its_way;
}

void credit_pool::recall_from(peer_number peer, credit_pool_owner& owner) {
  peer_credits& of = owner.credits_of(peer);
  if (of.holds == 0 || of.recalled != 0 || peer == first_asking_) return;
  of.recalled = 1;
  owner.send_control(peer, {.what = credit_control::kind::recall, .total = of.granted});
}

void credit_pool::peer_failed(peer_number peer, credit_pool_owner& owner) {
  peer_credits& of = owner.credits_of(peer);
  if (of.asking != 0) {
    peer_number before = first_asking_;
    if (before == peer) {
      first_asking_ = of.next;
    } else {
      while (owner.credits_of(before).next != peer) before = owner.credits_of(before).next;
      owner.credits_of(before).next = of.next;
      if (last_asking_ == peer) last_asking_ = before;
    }
    of.asking = 0;
    --asking_;
  }
  outstanding_ -= of.outstanding();
  of.granted = of.arrived;
  of.holds = 0;
  of.recalled = 0;
}

void credit_pool::enqueue(peer_number peer, peer_credits& of, credit_pool_owner& owner) {
  if (asking_ == 0)
    first_asking_ = peer;
  else
    owner.credits_of(last_asking_).next = peer;
  last_asking_ = peer;
  of.asking = 1;
  ++asking_;
}

void credit_pool::dequeue_first(peer_credits& of) {
  first_asking_ = of.next;
  of.asking = 0;
  --asking_;
}

}  // namespace tri::flow
