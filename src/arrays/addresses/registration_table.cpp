#include "arrays/addresses/registration_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tri::arrays {

registration_table::registration_table(std::size_t hosts, host_number self, memory_registrar& registrar,
                                       const registration_options& options)
    : hosts_(hosts),
      self_(self),
      registrar_(&registrar),
      options_(options),
      most_bytes_(std::min(options.most_bytes, registrar.limits().total_bytes)),
      most_contiguous_bytes_(std::min(registrar.limits().contiguous_bytes, most_bytes_)) {
  options.chunks.check();
  if (self >= hosts)
    throw std::invalid_argument("registration table: host " + std::to_string(self) + " of " + std::to_string(hosts) +
                                "; hosts are 0 to " + std::to_string(hosts) + " - 1");
}

// ---- where things are

void registration_table::append(area_list& list, area_number number) {
  areas_[number].next = none;
  areas_[number].previous = list.last;
  (list.last == none ? list.first : areas_[list.last].next) = number;
  list.last = number;
}

void registration_table::remove(area_list& list, area_number number) {
  const area& of = areas_[number];
  (of.previous == none ? list.first : areas_[of.previous].next) = of.next;
  (of.next == none ? list.last : areas_[of.next].previous) = of.previous;
}

area_number registration_table::find(std::uint64_t begin, std::uint64_t bytes) const {
  const auto found = by_address_.find({begin, bytes});
  return found == by_address_.end() ? none : found->second;
}

// The last area that begins before the range ends the search: of private areas that lie in each other, a longer one may
// be missed, and then the range is registered once more by itself.
area_number registration_table::find_around(std::uint64_t begin, std::uint64_t bytes) const {
  auto behind = by_address_.upper_bound({begin, std::numeric_limits<std::uint64_t>::max()});
  if (behind == by_address_.begin()) return none;
  const auto& [around, number] = *--behind;
  const std::uint64_t offset = begin - around.first;
  return offset <= around.second && bytes <= around.second - offset ? number : none;
}

const registration_table::array_part* registration_table::part_around(std::uint64_t begin, std::uint64_t bytes,
                                                                      array_handle& array) const {
  auto behind = parts_by_address_.upper_bound(begin);
  if (behind == parts_by_address_.begin()) return nullptr;
  array = (--behind)->second;
  const array_part& part = parts_.at(array);
  const std::uint64_t offset = begin - part.begin;
  return offset <= part.bytes && bytes <= part.bytes - offset ? &part : nullptr;
}

bool registration_table::overlaps_a_part(std::uint64_t begin, std::uint64_t bytes) const {
  const auto next = parts_by_address_.lower_bound(begin);
  if (next != parts_by_address_.end() && next->first - begin < bytes) return true;
  if (next == parts_by_address_.begin()) return false;
  const array_part& before = parts_.at(std::prev(next)->second);
  return begin - before.begin < before.bytes;
}

bool registration_table::overlaps_an_area(std::uint64_t begin, std::uint64_t bytes) const {
  return std::any_of(by_address_.begin(), by_address_.lower_bound({begin + bytes, 0}),
                     [&](const auto& one) { return one.first.first + one.first.second > begin; });
}

// ---- arrays

void registration_table::add_array(array_handle array, std::uint64_t begin, std::uint64_t bytes) {
  if (parts_.contains(array))
    throw std::logic_error("registration table: array " + std::to_string(array) +
                           " is here already, or was freed and waits for acknowledgements");
  if (bytes > 0) {
    if (overlaps_a_part(begin, bytes))
      throw std::logic_error("registration table: array " + std::to_string(array) + " overlaps another one");
    if (overlaps_an_area(begin, bytes))
      throw std::logic_error("registration table: array " + std::to_string(array) +
                             " overlaps private memory that was not released");
    parts_by_address_.emplace(begin, array);
  }
  parts_[array] = {.begin = begin, .bytes = bytes};
}

bool registration_table::free_array(array_handle array, std::vector<outgoing_invalidation>& out) {
  const auto found = parts_.find(array);
  if (found == parts_.end() || found->second.is_freed)
    throw std::logic_error("registration table: array " + std::to_string(array) + " is freed, but is not here");
  array_part& part = found->second;
  part.is_freed = true;
  std::vector<area_number> areas;
  for (auto one = by_address_.lower_bound({part.begin, 0});
       one != by_address_.end() && one->first.first - part.begin < part.bytes; ++one)
    areas.push_back(one->second);
  for (const area_number number : areas) {
    const area_state is = areas_[number].is;
    if (is == area_state::wanted) forget(number);
    if (is == area_state::registered) invalidate(number, out);
  }
  // The last area that goes reports the array as freed; here the return value does.
  const bool is_done = part.areas == 0;
  if (is_done) {
    if (part.bytes > 0) parts_by_address_.erase(part.begin);
    parts_.erase(found);
  }
  serve_wanted();
  return is_done;
}

std::optional<array_handle> registration_table::next_freed() {
  if (freed_.empty()) return std::nullopt;
  const array_handle array = freed_.front();
  freed_.pop_front();
  return array;
}

std::size_t registration_table::freed_waiting() const {
  return static_cast<std::size_t>(
      std::count_if(parts_.begin(), parts_.end(), [](const auto& part) { return part.second.is_freed; }));
}

// ---- registering

// Nothing goes before it is sure that enough can go.
bool registration_table::make_room(std::uint64_t bytes, std::vector<outgoing_invalidation>& out) {
  const std::uint64_t staying = registered_bytes_ - leaving_bytes_ + wanted_bytes_;  // at most most_bytes_
  if (bytes <= most_bytes_ - staying) return true;
  const std::uint64_t missing = bytes - (most_bytes_ - staying);
  std::uint64_t found = 0;
  std::vector<area_number> victims;
  for (area_number i = registered_ones_.first; i != none && found < missing; i = areas_[i].next) {
    if (!may_be_victim(areas_[i])) continue;
    victims.push_back(i);
    found += areas_[i].bytes;
  }
  if (found < missing) return false;
  count_.victims += victims.size();
  for (const area_number victim : victims) invalidate(victim, out);
  return true;
}

// With the strategy `everything` arrays that came later have no addresses, as the source has it.
bool registration_table::may_be_victim(const area& of) const {
  return of.local_uses == 0 && (of.is_private || options_.chunks.strategy == registration_strategy::chunks);
}

area_number registration_table::make_area(const area& what) {
  area_number number = first_unused_;
  if (number == none) {
    number = static_cast<area_number>(areas_.size());
    areas_.emplace_back();
  } else {
    first_unused_ = areas_[number].next;
  }
  areas_[number] = what;
  areas_[number].is = area_state::wanted;
  by_address_.emplace(range{what.begin, what.bytes}, number);
  if (!what.is_private) ++parts_.at(what.array).areas;
  wanted_bytes_ += what.bytes;
  append(wanted_ones_, number);
  return number;
}

// Of an area that is wanted, or leaving and deregistered.
void registration_table::forget(area_number number) {
  area& of = areas_[number];
  if (of.is == area_state::wanted) {
    remove(wanted_ones_, number);
    wanted_bytes_ -= of.bytes;
  }
  by_address_.erase({of.begin, of.bytes});
  if (!of.is_private) --parts_.at(of.array).areas;
  of = {};
  of.next = first_unused_;
  first_unused_ = number;
}

// What is wanted and what stays never exceed the limit together, so the first fits at the latest when all that leave
// are gone.
void registration_table::serve_wanted() {
  while (wanted_ones_.first != none) {
    const area_number number = wanted_ones_.first;
    area& of = areas_[number];
    if (of.bytes > most_bytes_ - registered_bytes_) return;
    const std::optional<remote_address> where = registrar_->register_memory(of.begin, of.bytes);
    if (!where) {
      ++count_.refused;
      forget(number);
      continue;
    }
    remove(wanted_ones_, number);
    wanted_bytes_ -= of.bytes;
    of.where = *where;
    of.is = area_state::registered;
    append(registered_ones_, number);
    ++registered_;
    registered_bytes_ += of.bytes;
    ++count_.registrations;
  }
}

// none: it has no address now; it may be on its way to have one.
area_number registration_table::registered_area(const area& what, std::vector<outgoing_invalidation>& out) {
  area_number number = find(what.begin, what.bytes);
  if (number == none) {
    if (what.bytes > most_contiguous_bytes_) {
      ++count_.too_large;
    } else if (make_room(what.bytes, out)) {
      make_area(what);
      serve_wanted();
      number = find(what.begin, what.bytes);
    }
  }
  if (number != none && areas_[number].is == area_state::registered) return number;
  ++count_.without_address;
  return none;
}

std::optional<reply_address> registration_table::on_access(host_number from, array_handle array, chunk_number chunk,
                                                           std::vector<outgoing_invalidation>& out) {
  if (from >= hosts_ || from == self_)
    throw address_protocol_error(from, array, chunk, "requests come from other hosts of the job");
  ++count_.lookups;
  const auto part = parts_.find(array);
  if (part == parts_.end() || part->second.is_freed) {
    ++count_.without_address;
    return std::nullopt;
  }
  const std::uint64_t bytes = options_.chunks.bytes_of(chunk, part->second.bytes);
  if (bytes == 0) throw address_protocol_error(from, array, chunk, "the array has no such chunk on this host");
  area what;
  what.begin = part->second.begin + options_.chunks.offset_of(chunk);
  what.bytes = bytes;
  what.array = array;
  what.chunk = chunk;
  const area_number number = registered_area(what, out);
  if (number == none) return std::nullopt;
  add_host(areas_[number], from);
  return reply_address{.array = array, .chunk = chunk, .epoch = epoch_, .where = areas_[number].where};
}

void registration_table::add_host(area& of, host_number host) {
  if (of.is_known_to_all || std::find(of.hosts.begin(), of.hosts.end(), host) != of.hosts.end()) return;
  if (of.hosts.size() < options_.listed_hosts)
    of.hosts.push_back(host);
  else
    of.is_known_to_all = true;
}

// ---- deregistering

void registration_table::invalidate(area_number number, std::vector<outgoing_invalidation>& out) {
  area& of = areas_[number];
  remove(registered_ones_, number);
  of.is = area_state::leaving;
  ++leaving_;
  leaving_bytes_ += of.bytes;
  of.invalidated = ++epoch_;
  const auto send = [&](host_number to) {
    out.push_back({.to = to, .what = {.array = of.array, .chunk = of.chunk, .epoch = of.invalidated}});
    ++of.unacknowledged;
    ++count_.invalidations;
  };
  if (of.is_known_to_all) {
    ++count_.broadcasts;
    for (host_number host = 0; host < hosts_; ++host)
      if (host != self_) send(host);
  } else {
    for (const host_number host : of.hosts) send(host);
  }
  deregister_if_done(number);
}

void registration_table::deregister_if_done(area_number number) {
  const area& of = areas_[number];
  if (of.unacknowledged > 0 || of.local_uses > 0) return;
  registrar_->deregister_memory(of.where);
  ++count_.deregistrations;
  --registered_;
  --leaving_;
  registered_bytes_ -= of.bytes;
  leaving_bytes_ -= of.bytes;
  forget(number);
}

void registration_table::report_if_freed(array_handle array) {
  const auto found = parts_.find(array);
  if (!found->second.is_freed || found->second.areas > 0) return;
  parts_by_address_.erase(found->second.begin);
  parts_.erase(found);
  freed_.push_back(array);
}

void registration_table::on_acknowledgement(host_number from, const acknowledgement& message) {
  const auto part = parts_.find(message.array);
  area_number number = none;
  if (part != parts_.end()) {
    number = find(part->second.begin + options_.chunks.offset_of(message.chunk),
                  options_.chunks.bytes_of(message.chunk, part->second.bytes));
  }
  if (number == none || areas_[number].is != area_state::leaving || areas_[number].unacknowledged == 0 ||
      areas_[number].invalidated != message.epoch)
    throw address_protocol_error(from, message.array, message.chunk,
                                 "acknowledges epoch " + std::to_string(message.epoch) + ", which waits for nothing");
  --areas_[number].unacknowledged;
  deregister_if_done(number);
  report_if_freed(message.array);
  serve_wanted();
}

// ---- uses of this host

std::optional<local_use> registration_table::begin_local_use(std::uint64_t begin, std::uint64_t bytes,
                                                             std::vector<outgoing_invalidation>& out) {
  ++count_.lookups;
  area what;
  what.begin = begin;
  what.bytes = bytes;
  array_handle array = 0;
  bool may_register = bytes > 0;
  if (const array_part* const part = part_around(begin, bytes, array); part != nullptr) {
    const std::uint64_t offset = begin - part->begin;
    what.array = array;
    what.chunk = options_.chunks.chunk_of(offset);
    what.begin = part->begin + options_.chunks.offset_of(what.chunk);
    what.bytes = options_.chunks.bytes_of(what.chunk, part->bytes);
    may_register = may_register && !part->is_freed && options_.chunks.is_within_one_chunk(offset, bytes);
  } else if (const area_number around = find_around(begin, bytes); around != none) {
    what = areas_[around];
  } else {
    what.is_private = true;
    may_register = may_register && !overlaps_a_part(begin, bytes);  // that part ends by itself
  }
  if (!may_register) {
    ++count_.without_address;
    return std::nullopt;
  }
  const area_number number = registered_area(what, out);
  if (number == none) return std::nullopt;
  ++areas_[number].local_uses;
  const remote_address& where = areas_[number].where;
  return local_use{.where = {.address = where.address + (begin - what.begin), .key = where.key}, .area = number};
}

void registration_table::end_local_use(area_number number) {
  if (number >= areas_.size() || areas_[number].local_uses == 0)
    throw std::logic_error("registration table: a use of area " + std::to_string(number) + " ends that did not begin");
  area& of = areas_[number];
  if (--of.local_uses > 0 || of.is != area_state::leaving) return;
  const array_handle array = of.array;  // private memory does not leave while it is in use
  deregister_if_done(number);
  report_if_freed(array);
  serve_wanted();
}

bool registration_table::release_private(std::uint64_t begin, std::uint64_t bytes) {
  std::vector<area_number> areas;
  const auto end = by_address_.lower_bound({begin + bytes, 0});
  for (auto one = by_address_.begin(); one != end; ++one) {
    const area& of = areas_[one->second];
    if (!of.is_private || of.begin + of.bytes <= begin) continue;
    if (of.local_uses > 0) return false;
    areas.push_back(one->second);
  }
  std::vector<outgoing_invalidation> none_known;  // private addresses are given to no other host
  for (const area_number number : areas) {
    if (areas_[number].is == area_state::wanted)
      forget(number);
    else
      invalidate(number, none_known);
  }
  serve_wanted();
  return true;
}

}  // namespace tri::arrays
