#include "trireme/detail/arrays/halo_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tri::arrays {

std::uint64_t halo_exchanges::begin(std::size_t neighbours, taker take, ending done) {
  const std::uint64_t number = ++begun_;
  if (neighbours == 0) {
    done({});
    return number;
  }
  under_way_.push_back({number, neighbours, std::move(take), std::move(done)});
  if (auto waiting = early_.extract(number))
    for (early& one : waiting.mapped()) arrive(number, one.pe, std::move(one.cells));
  return number;
}

bool halo_exchanges::arrive(std::uint64_t number, std::int32_t pe, buffer<std::byte> cells) {
  if (number > begun_) {
    early_[number].push_back({pe, std::move(cells)});
    return true;
  }
  const auto found = std::ranges::find(under_way_, number, &exchange::number);
  if (found == under_way_.end()) return false;
  found->take(pe, cells);
  if (--found->missing != 0) return true;
  const auto done = std::move(found->done);
  under_way_.erase(found);
  done({});
  return true;
}

void halo_exchanges::end_all(std::string_view fault) {
  for (const exchange& one : std::exchange(under_way_, {})) one.done(fault);
}

void take_halo(asked_array id, std::int32_t source, std::uint64_t number, buffer<std::byte> cells) {
  with_piece(
      id, source,
      [id, source, number, cells = std::move(cells)](local_array* array, std::byte*, const std::string& fault) mutable {
        if (!fault.empty()) {
          if (was_freed(id.id)) return;
          refuse(fault);
        }
        if (!array->halos().arrive(number, source, std::move(cells)))
          refuse(fmt::format("{}: PE {} sent cells for exchange {} of its halo, which has ended", describe(array->id()),
                             source, number));
      });
}

void check_halo_length(const local_array& array, std::int32_t pe, std::size_t come, std::size_t expected) {
  if (come != expected)
    refuse(fmt::format("{}: PE {} sent {} bytes for the halo, {} are right: all PEs must exchange the same width",
                       describe(array.id()), pe, come, expected));
}

}  // namespace tri::arrays
