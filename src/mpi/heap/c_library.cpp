#include "mpi/heap/c_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <atomic>
#include <cstdlib>

namespace tri::mpi {

constinit code_range c_library_code;
constinit code_range dynamic_linker_code;

namespace {

int look_at(dl_phdr_info* object, std::size_t, void*) {
  const auto base = static_cast<std::uintptr_t>(object->dlpi_addr);
  const bool linker = base != 0 && base == getauxval(AT_BASE);
  for (unsigned index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const code_range code{base + segment.p_vaddr, segment.p_memsz};
    if (linker) dynamic_linker_code = code;
    if (code.holds(reinterpret_cast<const void*>(&__libc_malloc))) c_library_code = code;
  }
  return 0;
}

}  // namespace

void find_c_library() { dl_iterate_phdr(&look_at, nullptr); }

std::size_t c_library_usable_bytes(void* block) {
  using function = std::size_t (*)(void*);
  static std::atomic<function> found{nullptr};
  function usable = found.load(std::memory_order_relaxed);  // relaxed: every thread finds the same
  if (usable == nullptr) {
    usable = reinterpret_cast<function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    if (usable == nullptr) std::abort();             // every C library that has __libc_malloc has it
    found.store(usable, std::memory_order_relaxed);  // relaxed: see above
  }
  return usable(block);
}

}  // namespace tri::mpi
