// Halves of the protocol with one fault each, which the explorations have to find.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/registration_table.hpp"

namespace tri::arrays {

/// Acknowledges although operations use the entry.
struct hasty_cache : address_cache {
  using address_cache::address_cache;
  std::optional<outgoing_acknowledgement> on_invalidation(host_number from, const invalidation& message) {
    static_cast<void>(address_cache::on_invalidation(from, message));
    return outgoing_acknowledgement{.to = from,
                                    .what = {.array = message.array, .chunk = message.chunk, .epoch = message.epoch}};
  }
  std::optional<outgoing_acknowledgement> end_use(cache_entry_number number) {
    static_cast<void>(address_cache::end_use(number));
    return std::nullopt;
  }
};

/// Takes an address from every reply, however late.
struct credulous_cache : address_cache {
  using address_cache::address_cache;
  void on_reply(host_number from, reply_address reply) {
    reply.epoch = std::numeric_limits<invalidation_epoch>::max();
    address_cache::on_reply(from, reply);
  }
};

/// Does not acknowledge what it has evicted or never had.
struct silent_cache : address_cache {
  using address_cache::address_cache;
  std::optional<outgoing_acknowledgement> on_invalidation(host_number from, const invalidation& message) {
    const std::size_t before = size();
    const auto answer = address_cache::on_invalidation(from, message);
    return size() < before ? answer : std::nullopt;
  }
};

/// Deregisters as soon as the invalidations are sent.
struct hasty_table : registration_table {
  using registration_table::registration_table;
  std::optional<reply_address> on_access(host_number from, array_handle array, chunk_number chunk,
                                         std::vector<outgoing_invalidation>& out) {
    const auto reply = registration_table::on_access(from, array, chunk, out);
    for (const outgoing_invalidation& one : out)
      registration_table::on_acknowledgement(one.to, {one.what.array, one.what.chunk, one.what.epoch});
    return reply;
  }
  void on_acknowledgement(host_number, const acknowledgement&) {}
};

/// Sends an invalidation to one host only.
struct forgetful_table : registration_table {
  using registration_table::registration_table;
  std::optional<reply_address> on_access(host_number from, array_handle array, chunk_number chunk,
                                         std::vector<outgoing_invalidation>& out) {
    const auto reply = registration_table::on_access(from, array, chunk, out);
    while (out.size() > 1) {
      const outgoing_invalidation one = out.back();
      out.pop_back();
      registration_table::on_acknowledgement(one.to, {one.what.array, one.what.chunk, one.what.epoch});
    }
    return reply;
  }
};

}  // namespace tri::arrays
