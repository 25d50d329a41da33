#include "wire/page_exchange.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace tri::bench {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t offset_in_page(const std::byte* place) { return reinterpret_cast<std::uintptr_t>(place) % page_bytes(); }

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

// The range of one page table on x86-64. The system moves a whole table at once when both ranges have the same
// alignment to it.
constexpr std::size_t table_bytes = std::size_t{2} << 20;

// The first address from `first` on with the same offset in a page table as `place`.
std::byte* like(std::byte* first, const std::byte* place) {
  return first + (reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(first)) % table_bytes;
}

// The pages go to `to`; the addresses they leave stay ours, empty, so no other thread's mapping can come there.
bool move_pages(std::byte* from, std::byte* to, std::size_t bytes) {
  return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
}

// True: the pages at `place` are those that were at `came`. False: `place` has some content, `came` the same as before.
bool exchange(std::byte* came, std::byte* place, std::byte* spare, std::size_t bytes) {
  // The old content of `place` is overwritten in any case, so a step that is refused loses nothing.
  if (!move_pages(place, spare, bytes)) return false;
  if (!move_pages(came, place, bytes)) {
    madvise(spare, bytes, MADV_DONTNEED);
    return false;
  }
  // So that the next message finds pages there. Refused: the system provides them at first touch.
  move_pages(spare, came, bytes);
  return true;
}

}  // namespace

page_region::page_region(std::size_t bytes) : bytes_(whole_pages(bytes)) {
  void* const address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw std::runtime_error(fmt::format("cannot map {} bytes of pages: {}", bytes_, std::strerror(errno)));
  data_ = static_cast<std::byte*>(address);
}

page_region::~page_region() { munmap(data_, bytes_); }

// The message fits wherever in a page table it begins; unused parts cost only addresses.
landing_area::landing_area(std::size_t most_bytes)
    : memory_(most_bytes + table_bytes), spare_(memory_.bytes()), most_bytes_(most_bytes) {}

std::byte* landing_area::for_message_to(const std::byte* predicted_place) const {
  return like(memory_.data(), predicted_place);
}

received_bytes landing_area::deliver(std::byte* came, std::size_t bytes, std::byte* place, const page_region* region) {
  if (bytes > most_bytes_ || !memory_.holds(came, bytes))
    throw std::invalid_argument(
        fmt::format("a message of {} bytes did not come into its landing area of {} bytes", bytes, most_bytes_));
  const std::size_t before = (page_bytes() - offset_in_page(place)) % page_bytes();
  if (region != nullptr && region->holds(place, bytes) && offset_in_page(place) == offset_in_page(came) &&
      bytes >= before + page_bytes()) {
    const std::size_t in_pages = (bytes - before) / page_bytes() * page_bytes();
    if (exchange(came + before, place + before, like(spare_.data(), place + before), in_pages)) {
      const std::size_t after = before + in_pages;
      std::memcpy(place, came, before);
      std::memcpy(place + after, came + after, bytes - after);
      return {.exchanged = in_pages, .copied = bytes - in_pages};
    }
  }
  std::memcpy(place, came, bytes);
  return {.exchanged = 0, .copied = bytes};
}

}  // namespace tri::bench
