#include "mpi/rma/windows.hpp"

#include <unordered_map>

#include "mpi/abi/abi.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<window>> known;
window* last = nullptr;

}  // namespace

window* windows::find(MPI_Win handle) {
  if (last != nullptr && last->handle == handle) return last;
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  return last = found->second.get();
}

void windows::add(std::unique_ptr<window> made) {
  last = nullptr;
  known[abi::word(made->handle)] = std::move(made);
}

std::unique_ptr<window> windows::remove(MPI_Win handle) {
  last = nullptr;
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  std::unique_ptr<window> removed = std::move(found->second);
  known.erase(found);
  return removed;
}

}  // namespace tri::mpi
