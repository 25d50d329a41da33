// Hardware event counters: events are counted between start and stop only; where they are unavailable, a reason is
// given.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "framework/event_counter.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t pages = 100;

// Page faults are the system's own event, which virtual machines have as well.
class FreshPages {
 public:
  FreshPages() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const address = mmap(nullptr, pages * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = address == MAP_FAILED ? nullptr : static_cast<volatile std::byte*>(address);
    // One page at a time.
    if (data_ != nullptr) madvise(address, pages * page_, MADV_NOHUGEPAGE);
  }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  ~FreshPages() { munmap(const_cast<std::byte*>(data_), pages * page_); }
  void touch() const {
    for (std::size_t i = 0; i < pages; ++i) data_[i * page_] = std::byte{1};
  }

 private:
  std::size_t page_;
  volatile std::byte* data_;
};

TEST(event_counter, counts_between_start_and_stop) {
  event_counter faults(page_faults);
  if (!faults.missing().empty()) GTEST_SKIP() << faults.missing();
  const FreshPages before, during, after;
  before.touch();
  faults.start();
  during.touch();
  faults.stop();
  after.touch();
  EXPECT_GE(faults.read(), pages);
  EXPECT_LT(faults.read(), 2 * pages);
}

TEST(event_counter, says_why_nothing_is_counted) {
  const event_counter none({.type = 0xffffffffU, .config = 0});
  EXPECT_THAT(none.missing(), testing::StartsWith("perf_event_open: "));
}

}  // namespace
}  // namespace tri::bench
