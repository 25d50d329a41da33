#include "mpi/heap/static_data.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/heap_parts.hpp"
#include "mpi/heap/kernel_memory.hpp"
#include "mpi/heap/size_classes.hpp"
#include "os/dynamic_section.hpp"

namespace tri::mpi {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t copy_relocation = R_X86_64_COPY;
#elif defined(__aarch64__)
constexpr std::uint64_t copy_relocation = R_AARCH64_COPY;
#else
#error "which relocation copies a variable of a library into the program?"
#endif

constinit static_range ranges[most_static_ranges];
constinit std::size_t range_count = 0;
constinit const std::byte* window_address = nullptr;
constinit int window_file = -1;

std::uintptr_t page_down(std::uintptr_t address) { return address & ~(page_bytes - 1); }
std::uintptr_t page_up(std::uintptr_t address) { return page_down(address + page_bytes - 1); }

struct page_range {
  std::uintptr_t first;
  std::uintptr_t end;
};

// From the program headers of the main program.
struct program_data {
  std::uintptr_t base = 0;
  page_range zero[4] = {};  // pages without a file; more than one range where arrays beyond 2 GiB have a segment
  std::size_t zero_count = 0;
  std::optional<os::dynamic_section> dynamic = {};
};

int look_at_program(dl_phdr_info* object, std::size_t, void* result) {
  auto& data = *static_cast<program_data*>(result);
  data.base = object->dlpi_addr;
  for (unsigned index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    const std::uintptr_t start = data.base + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
      const page_range zero{page_up(start + segment.p_filesz), page_up(start + segment.p_memsz)};
      if (zero.first < zero.end && data.zero_count < std::size(data.zero)) data.zero[data.zero_count++] = zero;
    }
  }
  data.dynamic.emplace(*object);
  return 1;  // the program is the first object
}

// The lowest pages in [from, end) that hold a copied variable; {end, end}: none.
page_range next_copies(const program_data& data, std::uintptr_t from, std::uintptr_t end) {
  page_range lowest{end, end};
  for (const ElfW(Rela) & relocation : data.dynamic->relocations()) {
    const ElfW(Sym)* const symbol = data.dynamic->symbol_of(relocation);
    if (ELF64_R_TYPE(relocation.r_info) != copy_relocation || symbol == nullptr) continue;
    const std::uintptr_t start = data.base + relocation.r_offset;
    const std::size_t bytes = std::max<std::size_t>(symbol->st_size, 1);
    const page_range pages{page_down(start), page_up(start + bytes)};
    if (pages.end > from && pages.first < lowest.first) lowest = {std::max(pages.first, from), pages.end};
  }
  return lowest;
}

// Finds the pages of private memory that were never touched, so that sparse arrays stay sparse.
class page_map {
 public:
  page_map() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~page_map() {
    if (file_ >= 0) close(file_);
  }
  page_map(const page_map&) = delete;
  page_map& operator=(const page_map&) = delete;
  bool untouched(std::uintptr_t page) {
    const std::size_t number = page / page_bytes;
    if (number < first_ || number >= first_ + count_) {
      first_ = number;
      const ssize_t bytes =
          file_ < 0 ? -1 : pread(file_, entries_, sizeof(entries_), static_cast<off_t>(number * sizeof(std::uint64_t)));
      count_ = bytes <= 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
    }
    if (count_ == 0) return false;
    return entries_[number - first_] >> 62 == 0;  // neither in memory nor swapped out
  }

 private:
  int file_;
  std::uint64_t entries_[512];
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

bool is_zero(const std::byte* page) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(page);
  return std::all_of(words, words + page_bytes / sizeof(std::uint64_t), [](std::uint64_t word) { return word == 0; });
}

// Copies the data and maps the window's pages in its place, in one step. Nothing writes in between: there is one
// thread, and this code and the C library keep their data elsewhere.
bool move_range(const heap_window& own, std::uintptr_t first, std::size_t bytes) {
  const auto run = heap_pages.allocate(bytes / page_bytes, 1, large_block);
  if (run.address == nullptr) return false;
  page_map map;
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes) {
    if (map.untouched(first + offset)) continue;
    const auto* const page = reinterpret_cast<const std::byte*>(first + offset);
    if (!is_zero(page)) std::memcpy(run.address + offset, page, page_bytes);
  }
  void* const place = reinterpret_cast<void*>(first);
  if (kernel_mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, own.file,
                  run.address - own.address) == MAP_FAILED) {
    heap_pages.release(run.run);
    return false;
  }
  kernel_madvise(run.address, bytes, MADV_DONTDUMP);  // a core dump has it at the program's address
  heap_pages.set_aside(run.run);                      // arrays of the program may be larger than memory, and sparse
  ranges[range_count++] = {static_cast<std::byte*>(place), bytes, run.address};
  return true;
}

}  // namespace

void share_static_data(const heap_window& own, text_line& reason) {
  program_data data;
  dl_iterate_phdr(&look_at_program, &data);
  if (data.zero_count == 0) return;
  if (__libc_single_threaded == 0) {
    reason << "there are threads already";
    return;
  }
  window_address = own.address;
  window_file = own.file;
  for (std::size_t index = 0; index < data.zero_count; ++index)
    for (page_range rest = data.zero[index]; rest.first < rest.end && range_count < most_static_ranges;) {
      const page_range copies = next_copies(data, rest.first, rest.end);
      const std::size_t bytes = copies.first - rest.first;
      if (bytes >= smallest_static_range && !move_range(own, rest.first, bytes)) {
        reason << "the window or the kernel has no space for " << (bytes >> 10) << " KiB of static data";
        return;
      }
      rest.first = copies.end;
    }
}

static_ranges shared_static_data() { return {ranges, range_count}; }

void* shared_address_of(const void* address, std::size_t bytes) {
  if (in_mapped_heap(address, bytes)) return const_cast<void*>(address);
  for (const static_range& range : shared_static_data()) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(address) -
                                                 reinterpret_cast<std::uintptr_t>(range.place));
    if (offset < range.bytes && bytes <= range.bytes - offset) return range.alias + offset;
  }
  return nullptr;
}

bool check_static_data() {
  std::size_t expected = 0;
  for (const static_range& range : shared_static_data()) expected += range.bytes;
  if (expected == 0) return true;
  struct stat window {};
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  std::size_t found = 0;
  char* line = nullptr;
  std::size_t room = 0;
  if (maps != nullptr && fstat(window_file, &window) == 0)
    while (getline(&line, &room, maps) > 0) {
      std::uintptr_t first = 0;
      std::uintptr_t end = 0;
      std::uintptr_t offset = 0;
      unsigned long inode = 0;
      if (std::sscanf(line, "%zx-%zx %*s %zx %*s %lu", &first, &end, &offset, &inode) != 4 || inode != window.st_ino)
        continue;
      for (const static_range& range : shared_static_data()) {
        const auto place = reinterpret_cast<std::uintptr_t>(range.place);
        const auto in_file = static_cast<std::uintptr_t>(range.alias - window_address);
        const std::uintptr_t low = std::max(first, place);
        const std::uintptr_t high = std::min(end, place + range.bytes);
        if (low < high && offset + (low - first) == in_file + (low - place)) found += high - low;
      }
    }
  std::free(line);
  if (maps != nullptr) std::fclose(maps);
  if (found != expected) range_count = 0;
  return found == expected;
}

bool make_static_data_private() {
  for (const static_range& range : shared_static_data()) {
    if (kernel_mremap(range.alias, range.bytes, range.place) == MAP_FAILED ||
        map_private(range.alias, range.bytes, MAP_FIXED) == MAP_FAILED)
      return false;
  }
  return true;
}

}  // namespace tri::mpi
