#include "flow/lent_memory.hpp"

namespace tri::wire::flow {

namespace {
constexpr std::uint64_t grain = 64;
constexpr std::uint64_t steps = 32;
constexpr std::uint64_t batches = 4;
}  // namespace

// A quarter goes to those of whom nothing is known, the rest follows who really sends.
lent_memory::lent_memory(std::uint64_t limit, std::uint64_t senders)
    : limit_(limit),
      initial_(senders == 0 ? 0 : limit / 4 / senders / grain * grain),
      step_(std::max(limit / steps, grain)),
      unknown_(initial_ * senders) {}

void lent_memory::known(loan& of) {
  of.granted = initial_;
  of.holds = initial_ != 0;
  unknown_ -= initial_;
  lent_ += initial_;
}

void lent_memory::grant(peer_number to, std::uint64_t bytes, loan_owner& owner) {
  loan& of = owner.loan_of(to);
  of.granted += bytes;
  of.holds = 1;
  lent_ += bytes;
  owner.send_note(to, {.what = credit_note::kind::grant, .total = of.granted});
}

void lent_memory::top_up(peer_number from, loan_owner& owner) {
  if (asking_ != 0) return;
  const std::uint64_t has = owner.loan_of(from).outstanding();
  const std::uint64_t share = (free() + has) / 2;
  if (has < share / 2 && share - has >= step_) grant(from, share - has, owner);
}

// Notes may overtake each other: one that asks for less than is granted, or than a newer one, has been dealt with.
void lent_memory::requested(peer_number from, const credit_note& note, loan_owner& owner) {
  loan& of = owner.loan_of(from);
  const std::uint64_t needed = note.total + note.bytes;
  if (needed <= of.granted || (of.asking != 0 && needed <= of.needed)) return;
  of.needed = needed;
  of.first = note.bytes;
  of.more = note.more & memory_credit::most_more;
  of.holds = of.granted > note.total;
  if (of.asking == 0) enqueue(from, of, owner);
}

bool lent_memory::returned(loan& from, const credit_note& note) {
  if (note.bytes > from.outstanding() || from.recalled == 0) return false;
  from.arrived += note.bytes;
  lent_ -= note.bytes;
  from.recalled = 0;
  from.holds = from.granted > note.total;  // a grant crossed the answer
  return true;
}

// Who asks first is served first, with a batch, so that a note pays. What is in use comes back by itself; only when
// even that would not be enough, others have to return what they do not use.
void lent_memory::serve(loan_owner& owner) {
  while (asking_ != 0) {
    const peer_number peer = first_asking_;
    loan& of = owner.loan_of(peer);
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

// Nothing is here, nothing comes, and nobody else may send anything: but those who were never heard of, whose part is
// set aside.
bool lent_memory::is_alone(const loan& first) const {
  const bool nothing_on_its_way = first.arrived == first.needed - first.first;
  return in_use_ == 0 && lent_ == first.outstanding() && nothing_on_its_way;
}

void lent_memory::recall_from(peer_number peer, loan_owner& owner) {
  loan& of = owner.loan_of(peer);
  if (of.holds == 0 || of.recalled != 0 || peer == first_asking_) return;
  of.recalled = 1;
  owner.send_note(peer, {.what = credit_note::kind::recall, .total = of.granted});
}

void lent_memory::lost(peer_number peer, loan_owner& owner) {
  loan& of = owner.loan_of(peer);
  if (of.asking != 0) {
    peer_number before = first_asking_;
    if (before == peer) {
      first_asking_ = of.next;
    } else {
      while (owner.loan_of(before).next != peer) before = owner.loan_of(before).next;
      owner.loan_of(before).next = of.next;
      if (last_asking_ == peer) last_asking_ = before;
    }
    of.asking = 0;
    --asking_;
  }
  lent_ -= of.outstanding();
  of.granted = of.arrived;
  of.holds = 0;
  of.recalled = 0;
}

void lent_memory::enqueue(peer_number peer, loan& of, loan_owner& owner) {
  if (asking_ == 0)
    first_asking_ = peer;
  else
    owner.loan_of(last_asking_).next = peer;
  last_asking_ = peer;
  of.asking = 1;
  ++asking_;
}

void lent_memory::dequeue_first(loan& of) {
  first_asking_ = of.next;
  of.asking = 0;
  --asking_;
}

}  // namespace tri::wire::flow
