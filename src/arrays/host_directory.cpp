#include "arrays/host_directory.hpp"

#include <fmt/format.h>

#include <mutex>
#include <new>
#include <stdexcept>

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/index.hpp"

namespace tri::arrays {

host_pieces*& host_directory::chain_of(array_id id) { return chain_[objects::finalize_hash(id) % chains]; }

host_pieces& host_directory::join(array_id id, std::uint32_t pes, std::uint64_t digest, const array_shape& shape) {
  std::lock_guard guard(lock_);
  host_pieces*& chain = chain_of(id);
  for (host_pieces* record = chain; record != nullptr; record = record->next)
    if (record->id == id) {
      if (record->digest != digest)
        throw std::logic_error(fmt::format(
            "{} has another type, other extents or another distribution on another PE of this host: {} there, {} here",
            describe(id), describe(record->shape), describe(shape)));
      ++record->users;
      return *record;
    }
  auto* const made = new (arena::allocate(host_pieces::bytes_for(pes))) host_pieces{id, chain, 1, digest, shape};
  for (std::uint32_t i = 0; i < pes; ++i) new (made->pieces() + i) std::atomic<std::byte*>(nullptr);
  chain = made;
  return *made;
}

void host_directory::leave(host_pieces& record) {
  std::lock_guard guard(lock_);
  if (--record.users != 0) return;
  host_pieces** link = &chain_of(record.id);
  while (*link != &record) link = &(*link)->next;
  *link = record.next;
  arena::release(&record);
}

}  // namespace tri::arrays
