#include "omp/fibers/virtual_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "omp/spin_lock.hpp"

namespace tri::omp {
namespace {

constexpr std::size_t smallest_stack = std::size_t{64} << 10;
constexpr std::size_t without_limit = std::size_t{8} << 20;
constexpr std::size_t first_without_limit = std::size_t{1} << 30;  // addresses, not memory
constexpr int no_memory_status = 1;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
std::size_t whole_pages(std::size_t size) { return (size + page_size() - 1) / page_size() * page_size(); }

// "64M", " 512 k ", "100" (KiB); 0 when invalid: the native runtime then uses its default (and reports it).
std::size_t read_size(const char* text) {
  if (text == nullptr) return 0;
  while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
  if (*text == '-') return 0;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text, &end, 10);
  if (end == text || errno != 0) return 0;
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  int shift = 10;
  if (*end != '\0') {
    const char* const units = "bkmg";
    const char* const unit = std::strchr(units, std::tolower(static_cast<unsigned char>(*end)));
    if (unit == nullptr) return 0;
    shift = static_cast<int>(unit - units) * 10;
    ++end;
    while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
    if (*end != '\0') return 0;
  }
  if (number > (std::uint64_t{1} << 46) >> shift) return 0;
  return static_cast<std::size_t>(number) << shift;
}

// The surplus stacks of the carriers.
spin_lock common_lock;
std::vector<stack_area>& common() {
  static auto* const stacks = new std::vector<stack_area>;  // never destroyed: the process may end inside a region
  return *stacks;
}

stack_area take_fitting(std::vector<stack_area>& stacks, std::size_t size) {
  for (std::size_t index = stacks.size(); index-- > 0;) {
    if (stacks[index].size != size) continue;
    const stack_area found = stacks[index];
    stacks[index] = stacks.back();
    stacks.pop_back();
    return found;
  }
  return {};
}

}  // namespace

stack_sizes choose_stack_sizes(const char* omp_text, const char* gomp_text, std::uint64_t process_limit) {
  std::size_t asked = read_size(omp_text);
  if (asked == 0) asked = read_size(gomp_text);
  const bool limited = process_limit != unlimited;
  stack_sizes sizes;
  sizes.each = asked != 0 ? asked : limited ? static_cast<std::size_t>(process_limit) : without_limit;
  if (sizes.each < smallest_stack) sizes.each = smallest_stack;
  const std::size_t process = limited ? static_cast<std::size_t>(process_limit) : first_without_limit;
  sizes.first = process > sizes.each ? process : sizes.each;
  sizes.each = whole_pages(sizes.each);
  sizes.first = whole_pages(sizes.first);
  return sizes;
}

stack_area map_stack(std::size_t size) {
  const std::size_t guard = page_size();
  void* const memory = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE) != 0) {
    std::fprintf(stderr,
                 "trireme omp: no memory for the stack of a virtual thread (%zu KiB: %s). Ask for less: fewer virtual "
                 "threads, a smaller OMP_STACKSIZE, or a smaller `ulimit -s`.\n",
                 size >> 10, std::strerror(errno));
    _exit(no_memory_status);
  }
  return {static_cast<char*>(memory) + guard, size};
}

stack_area stack_shelf::take(std::size_t size) {
  if (!spare_.empty() && spare_.back().size == size) {
    const stack_area found = spare_.back();
    spare_.pop_back();
    return found;
  }
  stack_area found = take_fitting(spare_, size);
  if (found.bottom == nullptr) {
    const std::lock_guard held(common_lock);
    found = take_fitting(common(), size);
  }
  return found.bottom != nullptr ? found : map_stack(size);
}

void stack_shelf::put_back(stack_area stack, std::size_t most) {
  if (spare_.size() < most) {
    spare_.push_back(stack);
    return;
  }
  const std::lock_guard held(common_lock);
  common().push_back(stack);
}

}  // namespace tri::omp
