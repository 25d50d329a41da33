#include "arrays/addresses/address_cache.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace tri::arrays {
namespace {

constexpr std::size_t most_entries_ever = std::size_t{1} << 24U;

}  // namespace

address_cache::address_cache(std::size_t hosts, const address_cache_options& options)
    : hosts_(hosts), is_on_(options.is_on), caches_puts_(options.caches_puts), dropped_(options.dropped) {
  if (options.most_entries == 0 || options.most_entries > most_entries_ever)
    throw std::invalid_argument("address cache: " + std::to_string(options.most_entries) + " entries; it has 1 to " +
                                std::to_string(most_entries_ever) + ", or is turned off");
  entries_.resize(options.most_entries);
  const std::size_t slots = std::bit_ceil(4 * options.most_entries);
  slots_.assign(slots, none);
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
  for (std::size_t i = options.most_entries; i-- > 0;) release(static_cast<cache_entry_number>(i));
}

// Those behind the slot move up, so that probing needs no marks of what was there.
void address_cache::hide(std::size_t slot) {
  unlink(slots_[slot]);
  --size_;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = (slot + 1) & mask; slots_[at] != none; at = (at + 1) & mask) {
    const std::size_t home = home_of(entries_[slots_[at]].key);
    if (((at - home) & mask) < ((at - slot) & mask)) continue;  // it would come before its home
    slots_[slot] = slots_[at];
    slot = at;
  }
  slots_[slot] = none;
}

void address_cache::release(cache_entry_number number) {
  entries_[number] = {};
  entries_[number].older = first_free_;
  first_free_ = number;
}

void address_cache::drop(cache_entry_number number) {
  if (dropped_) dropped_(entries_[number].key, entries_[number].where);
  release(number);
}

bool address_cache::evict() {
  cache_entry_number victim = oldest_;
  while (victim != none && entries_[victim].uses > 0) victim = entries_[victim].newer;
  if (victim == none) return false;
  hide(slot_of(entries_[victim].key));
  drop(victim);
  ++count_.evictions;
  return true;
}

bool address_cache::on_reply(host_number from, const reply_address& reply) {
  if (from >= hosts_)
    throw address_protocol_error(from, reply.array, reply.chunk, "there are only " + std::to_string(hosts_) + " hosts");
  if (!is_on_) return false;
  if (reply.epoch < seen_epoch(from)) {
    ++count_.late_replies;
    return false;
  }
  const address_key key{.array = reply.array, .host = from, .chunk = reply.chunk};
  if (const cache_entry_number found = slots_[slot_of(key)]; found != none) {
    if (entries_[found].where != reply.where)
      throw address_protocol_error(from, reply.array, reply.chunk,
                                   "an address with key " + std::to_string(reply.where.key) + ", but that with key " +
                                       std::to_string(entries_[found].where.key) + " was not invalidated");
    make_newest(found);
    return false;
  }
  if (first_free_ == none && !evict()) {
    ++count_.all_in_use;
    return false;
  }
  const cache_entry_number added = first_free_;
  first_free_ = entries_[added].older;
  entries_[added] = {};
  entries_[added].key = key;
  entries_[added].where = reply.where;
  slots_[slot_of(key)] = added;
  link(added);
  ++size_;
  ++count_.insertions;
  return true;
}

std::optional<outgoing_acknowledgement> address_cache::on_invalidation(host_number from, const invalidation& message) {
  if (from >= hosts_)
    throw address_protocol_error(from, message.array, message.chunk,
                                 "there are only " + std::to_string(hosts_) + " hosts");
  ++count_.invalidations;
  invalidation_epoch& seen = seen_[from];
  seen = std::max(seen, message.epoch);
  const std::size_t slot = slot_of({.array = message.array, .host = from, .chunk = message.chunk});
  if (const cache_entry_number found = slots_[slot]; found != none) {
    hide(slot);
    if (entries_[found].uses > 0) {
      entries_[found].is_leaving = true;
      entries_[found].invalidated = message.epoch;
      ++leaving_;
      return std::nullopt;
    }
    drop(found);
  }
  return outgoing_acknowledgement{.to = from,
                                  .what = {.array = message.array, .chunk = message.chunk, .epoch = message.epoch}};
}

std::optional<outgoing_acknowledgement> address_cache::end_use(cache_entry_number number) {
  if (number >= entries_.size() || entries_[number].uses == 0)
    throw std::logic_error("address cache: a use of entry " + std::to_string(number) + " ends that did not begin");
  entry& of = entries_[number];
  if (--of.uses > 0 || !of.is_leaving) return std::nullopt;
  const outgoing_acknowledgement answer{
      .to = of.key.host, .what = {.array = of.key.array, .chunk = of.key.chunk, .epoch = of.invalidated}};
  drop(number);
  --leaving_;
  return answer;
}

}  // namespace tri::arrays
