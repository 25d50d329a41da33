#include "wire/mpi/sized_receives.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tri::wire {
namespace {

// More than these stay at their senders, or in the library, until there is a place.
constexpr std::size_t most_posted_on_demand = 16;

}  // namespace

sized_receives::sized_receives(boot::mpi_calls& mpi, const posting_options& options)
    : mpi_(mpi), plan_(options), classes_(most_size_classes + 1) {
  for (const posted_ahead& each : options.fixed) {
    const std::size_t size_class = size_class_of(each.bytes);
    top_up(size_class, named(size_class));
  }
}

// Memory that the library may still write to is leaked: better than written to after reuse.
sized_receives::~sized_receives() {
  for (const auto& all : classes_) {
    if (all == nullptr) continue;
    for (receive& each : all->posted)
      if (each.request != 0) static_cast<void>(each.place.release());
  }
}

sized_receives::of_class& sized_receives::named(std::size_t size_class) {
  auto& all = classes_.at(size_class);
  if (all == nullptr) all = std::make_unique<of_class>();
  return *all;
}

void sized_receives::list(std::size_t size_class) {
  of_class& all = named(size_class);
  if (!std::exchange(all.listed, true)) busy_.push_back(size_class);
}

void sized_receives::post(std::size_t size_class, of_class& all) {
  const std::size_t bytes = size_class * size_class_bytes;
  receive made;
  made.place = std::make_unique_for_overwrite<std::byte[]>(bytes);
  made.request =
      mpi_.receive(boot::mpi_channel::body, boot::mpi_any, static_cast<int>(size_class), {made.place.get(), bytes});
  all.posted.push_back(std::move(made));
}

// As many as there are bodies announced: each of those then has one of these receives, or a body not yet announced has
// it and makes room when it has arrived.
void sized_receives::top_up(std::size_t size_class, of_class& all) {
  if (ending_ && all.expected.empty()) return;
  const std::size_t on_demand = std::min(all.expected.size(), most_posted_on_demand);
  const std::size_t goal = std::max(ending_ ? 0 : plan_.wanted(size_class), on_demand);
  std::size_t open = 0;
  for (const receive& each : all.posted)
    if (!each.cancelled) ++open;
  for (; open < goal; ++open) post(size_class, all);
}

void sized_receives::announced(int source, std::span<const std::byte> header, std::size_t bytes) {
  const std::size_t size_class = size_class_of(bytes);
  of_class& all = named(size_class);
  std::size_t open = 0;
  for (const receive& each : all.posted)
    if (!each.cancelled) ++open;
  if (open > all.expected.size() || !all.unannounced.empty()) ++counters_.posted_ahead;
  all.expected.push_back({source, {header.begin(), header.end()}, bytes});
  ++missing_;
  list(size_class);
  plan_.saw(size_class);
  top_up(size_class, all);
}

bool sized_receives::take(const on_body& to) {
  bool something = false;
  for (std::size_t i = 0; i < busy_.size();) {
    const std::size_t size_class = busy_[i];
    of_class& all = *classes_[size_class];
    something |= take_from(size_class, all, to);
    const bool withdrawing = !all.posted.empty() && all.posted.front().cancelled;
    if (all.expected.empty() && !withdrawing) {
      all.listed = false;
      busy_[i] = busy_.back();
      busy_.pop_back();
    } else {
      ++i;
    }
  }
  if (!ending_ && plan_.renew()) follow_plan();
  return something;
}

bool sized_receives::take_from(std::size_t size_class, of_class& all, const on_body& to) {
  bool something = false;
  pair(all, to);  // bodies that came before their announcement
  while (!all.posted.empty() && (!all.expected.empty() || all.posted.front().cancelled)) {
    boot::mpi_completion done;
    if (!mpi_.test(all.posted.front().request, done)) break;
    something = true;
    receive complete = std::move(all.posted.front());
    all.posted.pop_front();
    if (done.problem != 0 && !done.cancelled)
      throw std::runtime_error("MPI cannot receive a message between hosts: " + mpi_.text_of(done.problem));
    if (!done.cancelled) {
      all.unannounced.push_back({done.source, std::move(complete.place), done.bytes});
      pair(all, to);
    }
    top_up(size_class, all);
  }
  return something;
}

void sized_receives::pair(of_class& all, const on_body& to) {
  for (std::size_t next = 0; next < all.unannounced.size();) {
    const auto of_it = std::find_if(all.expected.begin(), all.expected.end(), [&](const announcement& each) {
      return each.source == all.unannounced[next].source;
    });
    if (of_it == all.expected.end()) {
      ++next;
      continue;
    }
    const announcement said = std::move(*of_it);
    const body came = std::move(all.unannounced[next]);
    all.expected.erase(of_it);
    all.unannounced.erase(all.unannounced.begin() + static_cast<std::ptrdiff_t>(next));
    --missing_;
    if (said.bytes != came.bytes) {
      throw std::runtime_error("rank " + std::to_string(said.source) + " announced a body of " +
                               std::to_string(said.bytes) + " bytes over MPI and sent " + std::to_string(came.bytes));
    }
    ++counters_.arrived;
    to(said.header, {came.place.get(), came.bytes});
    next = 0;  // the call may have found that a sender has failed, and bodies are forgotten
  }
}

void sized_receives::forget(int source) {
  for (const auto& all : classes_) {
    if (all == nullptr) continue;
    missing_ -= std::erase_if(all->expected, [&](const announcement& each) { return each.source == source; });
    std::erase_if(all->unannounced, [&](const body& each) { return each.source == source; });
  }
}

// All of them, the oldest first: those behind a receive that is not cancelled would have to wait for it.
void sized_receives::cancel_all(std::size_t size_class, of_class& all) {
  for (receive& each : all.posted) {
    if (std::exchange(each.cancelled, true)) continue;
    mpi_.cancel(each.request);
    if (!ending_) ++counters_.withdrawn;
  }
  if (!all.posted.empty()) list(size_class);
}

// The safe point of a class: none of its bodies is known to be in flight. An unannounced one in flight either finds its
// receive cancelled, and waits for the next one, or completes it, and is handled like any other.
void sized_receives::follow_plan() {
  for (std::size_t size_class = 1; size_class <= most_size_classes; ++size_class) {
    const std::size_t wanted = plan_.wanted(size_class);
    if (classes_[size_class] == nullptr && wanted == 0) continue;
    of_class& all = named(size_class);
    if (all.expected.empty() && all.posted.size() > wanted) cancel_all(size_class, all);
    top_up(size_class, all);
  }
}

bool sized_receives::withdraw() {
  ending_ = true;
  bool gone = true;
  for (std::size_t size_class = 1; size_class <= most_size_classes; ++size_class) {
    if (classes_[size_class] == nullptr) continue;
    of_class& all = *classes_[size_class];
    cancel_all(size_class, all);
    while (!all.posted.empty()) {
      boot::mpi_completion done;
      if (!mpi_.test(all.posted.front().request, done)) break;
      all.posted.pop_front();
    }
    gone = gone && all.posted.empty();
  }
  return gone;
}

std::size_t sized_receives::posted(std::size_t size_class) const {
  const auto& all = classes_.at(size_class);
  if (all == nullptr) return 0;
  return static_cast<std::size_t>(
      std::count_if(all->posted.begin(), all->posted.end(), [](const receive& each) { return !each.cancelled; }));
}

}  // namespace tri::wire
