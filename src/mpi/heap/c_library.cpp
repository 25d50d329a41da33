#include "mpi/heap/c_library.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/auxv.h>
#include <atomic>
#include <cstdlib>

namespace tri::mpi {

constinit code_range c_library_code;
constinit code_range dynamic_linker_code;
constinit next_allocator behind;

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

namespace {

template <typename Function>
bool look_up(const char* name, Function*& function) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) function = reinterpret_cast<Function*>(found);
  return found != nullptr;
}

const char* file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
}

bool same_object(const void* left, const void* right) {
  Dl_info one{};
  Dl_info other{};
  return dladdr(left, &one) != 0 && dladdr(right, &other) != 0 && one.dli_fbase == other.dli_fbase;
}

}  // namespace

const char* find_other_allocator() {
  // The program itself, and libraries that are preloaded before us, come first in the search.
  const void* const first = dlsym(RTLD_DEFAULT, "malloc");
  if (!same_object(first, reinterpret_cast<const void*>(&find_other_allocator))) return file_of(first);
  // Some allocators also export the C library's alias names, so those prove nothing.
  const void* const next = dlsym(RTLD_NEXT, "malloc");
  if (same_object(next, reinterpret_cast<const void*>(&gnu_get_libc_version))) return nullptr;
  next_allocator other;
  if (look_up("malloc", other.malloc) && look_up("calloc", other.calloc) && look_up("realloc", other.realloc) &&
      look_up("memalign", other.memalign) && look_up("free", other.free))
    behind = other;
  return file_of(next);
}

std::size_t usable_bytes_behind(void* block) {
  using function = std::size_t(void*);
  static std::atomic<function*> found{nullptr};
  function* usable = found.load(std::memory_order_relaxed);  // relaxed: every thread finds the same
  if (usable == nullptr) {
    if (!look_up("malloc_usable_size", usable)) std::abort();  // the C library has one at least
    found.store(usable, std::memory_order_relaxed);            // relaxed: see above
  }
  return usable(block);
}

}  // namespace tri::mpi
