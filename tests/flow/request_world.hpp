// Initiators of one-sided requests, one target and the channels between them, as a world for the explorers of
// tests/explore. Requests and notes are in order between two peers; answers overtake what they like; slots are finished
// in any order. Each initiator has a cell at the target, and its requests put into it, update it (in a way in which the
// order matters) and get it, so what is got proves the order. The world also knows how long a peer may be passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "explore/fingerprints.hpp"
#include "flow/request_initiator.hpp"
#include "flow/request_target.hpp"

namespace tri::flow {

struct request_scope {
  std::vector<std::size_t> requests;  // of each initiator
  std::size_t slots = 1;
  std::size_t most_unanswered = 4;
  bool refused_once = true;  // a request that is refused twice is a fault
  bool late_notes = true;    // false: the target's notes leave with the event
  bool late_answers = true;  // false: so do answers, as soon as the slot is finished
};

template <class Initiator = request_initiator, class Target = request_target>
class request_world {
 public:
  // The scope must outlive the world.
  explicit request_world(const request_scope& what)
      : scope_(&what), target_(what.requests.size(), what.slots), running_(what.slots) {
    for (const std::size_t count : what.requests) ends_.emplace_back(what.most_unanswered, count, what.requests.size());
  }

  int steps() const {
    list_steps();
    return static_cast<int>(steps_.size());
  }

  void take(int number) {
    list_steps();
    const step what = steps_.at(static_cast<std::size_t>(number));
    are_steps_known_ = false;
    std::vector<outgoing_control> out;
    switch (what.kind) {
      case step_kind::request: {
        end& here = ends_[what.of];
        here.side.request(0, here.made, out);
        ++here.made;
        carry(what.of, out);
        break;
      }
      case step_kind::arrival:
        arrive(what.of);
        break;
      case step_kind::finish:
        finish(static_cast<slot_number>(what.of));
        break;
      case step_kind::note:
        emit();
        break;
      case step_kind::noted: {
        end& here = ends_[what.of];
        const request_control note = taken_first(here.notes);
        if (here.side.on_control(0, note, out)) throw std::logic_error("done without an answer");
        carry(what.of, out);
        break;
      }
      case step_kind::answer:
        take_answer(what.of, what.item);
        break;
    }
    if (!scope_->late_notes)
      while (target_.has_control()) emit();
    check();
  }

  void check_end() const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].made < scope_->requests[i] || !ends_[i].side.is_idle())
        throw std::logic_error("deadlock: initiator " + std::to_string(i) + " has requests left");
      if (ends_[i].executed != scope_->requests[i]) throw std::logic_error("not everything was executed");
    }
    if (target_.in_use() + target_.kept() + target_.waiting() != 0)
      throw std::logic_error("something is left at the target");
  }

  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    const auto put_note = [&put](const request_control& note) {
      put(note.request);
      put(static_cast<std::uint64_t>(note.kind));
    };
    for (const end& one : ends_) {
      put(one.made);
      put(one.executed);
      for (const std::uint8_t times : one.refusals) put(times);
      for (const std::uint8_t times : one.passed_by) put(times);
      one.side.encode(put);
      put(one.to_target.size());
      for (const outgoing_control& note : one.to_target) put_note(note.what);
      put(one.notes.size());
      for (const request_control& note : one.notes) put_note(note);
      put(one.answers.size());
      for (const answer& done : one.answers) put(done.note.request);
    }
    target_.encode(put);
  }

  const Target& target() const { return target_; }
  std::uint64_t requests_on_the_wire() const { return on_the_wire_; }

 private:
  enum class step_kind : std::uint8_t { request, arrival, finish, note, noted, answer };
  struct step {
    step_kind kind;
    std::uint8_t of;
    std::uint16_t item;
  };
  struct answer {
    request_control note;
    std::uint64_t number = 0;  // of the request among those of its initiator
    std::uint64_t got = 0;
  };
  struct end {
    end(std::size_t most_unanswered, std::size_t count, std::size_t peers)
        : side(1, most_unanswered), refusals(count), passed_by(peers) {}
    Initiator side;
    std::size_t made = 0;
    std::size_t executed = 0;
    std::uint64_t cell = 0;  // at the target
    std::vector<outgoing_control> to_target;
    std::vector<request_control> notes;   // from the target, in order
    std::vector<answer> answers;          // from the target, in no order
    std::vector<std::uint8_t> refusals;   // of each request
    std::vector<std::uint8_t> passed_by;  // how often each other peer was served while this one waited
  };
  struct running_request {
    std::size_t of = 0;
    answer done;
    bool is_used = false;
  };

  // Queues are short.
  template <class Item>
  static Item taken_first(std::vector<Item>& queue) {
    const Item first = queue.front();
    queue.erase(queue.begin());
    return first;
  }

  // Put, update, get in turn. Updates do not commute with each other nor with puts.
  static std::uint64_t cell_after(std::uint64_t cell, std::uint64_t number) {
    switch (number % 3) {
      case 0:
        return number + 1;
      case 1:
        return cell * 31 + number;
      default:
        return cell;
    }
  }
  static std::uint64_t cell_in_order(std::uint64_t number) {
    std::uint64_t cell = 0;
    for (std::uint64_t i = 0; i <= number; ++i) cell = cell_after(cell, i);
    return cell;
  }

  void list_steps() const {
    if (are_steps_known_) return;
    are_steps_known_ = true;
    steps_.clear();
    const auto add = [this](step_kind kind, std::size_t of = 0, std::size_t item = 0) {
      steps_.push_back({kind, static_cast<std::uint8_t>(of), static_cast<std::uint16_t>(item)});
    };
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const end& one = ends_[i];
      if (one.made < scope_->requests[i]) add(step_kind::request, i);
      if (!one.to_target.empty()) add(step_kind::arrival, i);
      if (!one.notes.empty()) add(step_kind::noted, i);
      for (std::size_t k = 0; k < one.answers.size(); ++k) add(step_kind::answer, i, k);
    }
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (running_[i].is_used) add(step_kind::finish, i);
    if (scope_->late_notes && target_.has_control()) add(step_kind::note);
  }

  void carry(std::size_t from, const std::vector<outgoing_control>& out) {
    on_the_wire_ += out.size();
    for (const outgoing_control& one : out) ends_[from].to_target.push_back(one);
  }

  void arrive(std::size_t from) {
    const outgoing_control note = taken_first(ends_[from].to_target);
    const std::uint64_t number = note.token;
    const request_decision made = target_.on_request(static_cast<peer_number>(from), note.what);
    if (made.what == request_verdict::refused && ++ends_[from].refusals[number] > 1 && scope_->refused_once)
      throw std::logic_error("a request was refused twice");
    if (made.what != request_verdict::accepted) return;
    end& owner = ends_[from];
    if (number != owner.executed) throw std::logic_error("order broken");
    ++owner.executed;
    owner.cell = cell_after(owner.cell, number);
    running_request& run = running_.at(made.slot);
    if (run.is_used) throw std::logic_error("two requests in one slot");
    run = {.of = from, .done = {.note = {}, .number = number, .got = owner.cell}, .is_used = true};
    for (peer_number other = 0; other < ends_.size(); ++other) {
      if (other == from || !target_.is_waiting(other)) continue;
      if (++ends_[other].passed_by[from] > 2) throw std::logic_error("a peer that waits was passed by too often");
    }
  }

  void finish(slot_number slot) {
    running_request& run = running_[slot];
    const outgoing_control note = target_.finish(slot);
    if (note.peer != run.of) throw std::logic_error("another peer's slot");
    run.is_used = false;
    run.done.note = note.what;
    ends_[run.of].answers.push_back(run.done);
    if (!scope_->late_answers) take_answer(run.of, ends_[run.of].answers.size() - 1);
  }

  void take_answer(std::size_t of, std::size_t item) {
    end& here = ends_[of];
    const answer done = here.answers[item];
    here.answers.erase(here.answers.begin() + static_cast<std::ptrdiff_t>(item));
    std::vector<outgoing_control> out;
    const auto token = here.side.on_control(0, done.note, out);
    if (!token || *token != done.number) throw std::logic_error("the answer to another request");
    if (done.got != cell_in_order(done.number)) throw std::logic_error("order broken: another value was got");
    carry(of, out);
  }

  void emit() {
    const auto note = target_.next_control();
    if (!note) throw std::logic_error("there was a note, and then none");
    end& to = ends_.at(note->peer);
    to.notes.push_back(note->what);
    if (note->what.kind == request_kind::again) to.passed_by.assign(ends_.size(), 0);
  }

  void check() const {
    std::size_t used = 0;
    for (const running_request& one : running_) used += one.is_used ? 1 : 0;
    if (target_.in_use() != used || used + target_.kept() > scope_->slots)
      throw std::logic_error("more slots in use than there are");
    for (const end& one : ends_)
      if (one.side.unanswered(0) > scope_->most_unanswered) throw std::logic_error("too many unanswered");
  }

  const request_scope* scope_;
  std::vector<end> ends_;
  Target target_;
  std::vector<running_request> running_;  // by slot
  std::uint64_t on_the_wire_ = 0;
  mutable std::vector<step> steps_;  // of list_steps
  mutable bool are_steps_known_ = false;
};

}  // namespace tri::flow
