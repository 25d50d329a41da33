#include "boot/mpi/mpi_space.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "boot/bootstrap_messages.hpp"
#include "boot/mpi/mpi_library.hpp"

namespace tri::boot {
namespace {

void append(std::vector<std::byte>& to, const void* bytes, std::size_t size) {
  const auto length = static_cast<std::uint32_t>(size);
  const auto* const head = reinterpret_cast<const std::byte*>(&length);
  to.insert(to.end(), head, head + sizeof length);
  const auto* const first = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), first, first + size);
}

std::span<const std::byte> take_one(std::span<const std::byte>& rest, int rank) {
  std::uint32_t size = 0;
  if (rest.size() >= sizeof size) std::memcpy(&size, rest.data(), sizeof size);
  if (rest.size() < sizeof size + size)
    throw protocol_error(fmt::format("what rank {} sends to the others over MPI is cut off", rank));
  const auto taken = rest.subspan(sizeof size, size);
  rest = rest.subspan(sizeof size + size);
  return taken;
}

}  // namespace

void mpi_space::put(const std::string& key, std::span<const std::byte> value) {
  append(put_since_fence_, key.data(), key.size());
  append(put_since_fence_, value.data(), value.size());
}

void mpi_space::fence(bool) {
  const std::vector<std::byte> own = std::move(put_since_fence_);
  put_since_fence_.clear();
  std::vector<std::vector<std::byte>> all;
  try {
    all = mpi_.exchange(own);
  } catch (const std::exception& problem) {
    throw protocol_error(problem.what());
  }
  for (int rank = 0; rank < size(); ++rank) take(rank, all[static_cast<std::size_t>(rank)]);
}

void mpi_space::take(int rank, std::span<const std::byte> bytes) {
  const std::lock_guard locked(lock_);
  while (!bytes.empty()) {
    const auto key = take_one(bytes, rank);
    const auto value = take_one(bytes, rank);
    values_[{rank, std::string(reinterpret_cast<const char*>(key.data()), key.size())}].assign(value.begin(),
                                                                                               value.end());
  }
}

std::optional<std::vector<std::byte>> mpi_space::get(int rank, const std::string& key) {
  const std::lock_guard locked(lock_);
  const auto found = values_.find({rank, key});
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void mpi_space::finalize() {
  forget_started_mpi();
  mpi_.finalize();
}

// Text has no place in MPI_Abort; the caller printed it.
void mpi_space::abort(int exit_status, const std::string&) { mpi_.abort(exit_status); }

}  // namespace tri::boot
