// The adapter over UCX, between two that stand for processes: by cross-memory attach, which works with the own process,
// too. Skipped where there is none, as in containers that forbid it.
#include "arrays/direct/ucx_adapter.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tri::arrays {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int target_process = 7;

std::byte fill(std::size_t i) { return static_cast<std::byte>(i * 37 + i / 256); }

class ucx_adapter_test : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      target_ = std::make_unique<ucx_adapter>(ucx_adapter_options{.limits = {.total_bytes = std::uint64_t{64} << 20}});
      initiator_ = std::make_unique<ucx_adapter>(ucx_adapter_options{});
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    port_ = initiator_->open_port();
    memory_.resize(std::size_t{4} << 20);
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = fill(i);
  }
  remote_address made_reachable(std::size_t first, std::size_t bytes) {
    const auto where = target_->register_memory(reinterpret_cast<std::uintptr_t>(memory_.data()) + first, bytes);
    EXPECT_TRUE(where);
    initiator_->learn(target_process, *where, target_->bytes_for(*where));
    return *where;
  }
  adapter_access access(remote_access how, const remote_address& where, std::uint64_t offset,
                        std::vector<std::byte>& local) const {
    return {.how = how,
            .through = initiator_->find(target_process, where),
            .where = where,
            .offset = offset,
            .local = local.data(),
            .bytes = local.size()};
  }
  void carry_out(const std::vector<adapter_access>& accesses) { port_->carry_out(accesses); }

  std::vector<std::byte> memory_;
  std::unique_ptr<ucx_adapter> target_;
  std::unique_ptr<ucx_adapter> initiator_;
  std::unique_ptr<access_port> port_;
};

TEST_F(ucx_adapter_test, gets_and_puts_what_is_registered) {
  const std::size_t last = memory_.size() - 4096;
  const remote_address where = made_reachable(4096, last);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}, std::size_t{4097},
                                  std::size_t{600} << 10, last}) {
    const std::size_t offset = last - bytes;
    std::vector<std::byte> local(bytes);
    carry_out({access(remote_access::get, where, offset, local)});
    ASSERT_EQ(std::memcmp(local.data(), memory_.data() + 4096 + offset, bytes), 0) << bytes;
    for (std::byte& each : local) each ^= std::byte{0xff};
    carry_out({access(remote_access::put, where, offset, local)});
    ASSERT_EQ(std::memcmp(local.data(), memory_.data() + 4096 + offset, bytes), 0) << bytes;
  }
  for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(memory_[i], fill(i)) << "in front of what is registered";
}

TEST_F(ucx_adapter_test, carries_out_many_accesses_at_once) {
  const remote_address where = made_reachable(0, memory_.size());
  std::vector<std::vector<std::byte>> local(100, std::vector<std::byte>(1000));
  std::vector<adapter_access> all;
  for (std::size_t i = 0; i < local.size(); ++i) {
    const bool is_put = i % 3 == 0;
    if (is_put) local[i].assign(1000, static_cast<std::byte>(i));
    all.push_back(access(is_put ? remote_access::put : remote_access::get, where, 2000 * i, local[i]));
  }
  carry_out(all);
  for (std::size_t i = 0; i < local.size(); ++i)
    for (std::size_t k = 0; k < 1000; ++k) {
      const std::byte expected = i % 3 == 0 ? static_cast<std::byte>(i) : fill(2000 * i + k);
      ASSERT_EQ(memory_[2000 * i + k], expected);
      ASSERT_EQ(local[i][k], expected);
    }
}

TEST_F(ucx_adapter_test, ports_of_several_threads_access_at_once) {
  const remote_address where = made_reachable(0, memory_.size());
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const std::unique_ptr<access_port> own = initiator_->open_port();
      std::vector<std::byte> local(64);
      for (std::size_t round = 0; round < 500; ++round) {
        local.assign(64, static_cast<std::byte>(round + thread));
        const adapter_access put[] = {access(remote_access::put, where, 4096 * thread, local)};
        own->carry_out(put);
        std::vector<std::byte> found(64);
        const adapter_access get[] = {access(remote_access::get, where, 4096 * thread, found)};
        own->carry_out(get);
        ASSERT_EQ(found, local);
      }
    });
  for (std::thread& each : threads) each.join();
}

TEST_F(ucx_adapter_test, keeps_the_keys_that_are_not_forgotten) {
  const remote_address first = made_reachable(0, 4096);
  const remote_address second = made_reachable(4096, 4096);
  EXPECT_NE(first.key, second.key);
  EXPECT_EQ(initiator_->known_addresses(), 2U);
  initiator_->learn(target_process, first, target_->bytes_for(first));
  EXPECT_EQ(initiator_->known_addresses(), 2U);
  initiator_->forget(target_process, first);
  EXPECT_EQ(initiator_->known_addresses(), 1U);
  EXPECT_THROW(initiator_->find(target_process, first), std::out_of_range);
  std::vector<std::byte> local(8);
  carry_out({access(remote_access::get, second, 8, local)});
  EXPECT_EQ(std::memcmp(local.data(), memory_.data() + 4104, 8), 0);
  initiator_->forget(target_process, second);
  initiator_->forget(target_process, second);
  EXPECT_EQ(initiator_->known_addresses(), 0U);
  const remote_address again = made_reachable(0, 4096);
  EXPECT_NE(again.key, first.key);
}

TEST_F(ucx_adapter_test, has_the_limits_of_its_options) {
  const std::uint64_t half = std::uint64_t{32} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
  const auto first = target_->register_memory(begin, half);
  const auto second = target_->register_memory(begin, half);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(target_->register_memory(begin, 1));
  target_->deregister_memory(*first);
  EXPECT_TRUE(target_->register_memory(begin, 1));
  EXPECT_EQ(target_->most_registered_bytes(), 2 * half);
  EXPECT_THROW(target_->deregister_memory(*first), std::logic_error);
  ucx_adapter other({.limits = {.contiguous_bytes = 4096}});
  EXPECT_TRUE(other.register_memory(begin, 4096));
  EXPECT_FALSE(other.register_memory(begin, 4097));
}

TEST_F(ucx_adapter_test, an_access_to_memory_that_is_gone_is_an_error_and_the_port_goes_on) {
  const std::size_t bytes = 8192;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  const auto gone = target_->register_memory(reinterpret_cast<std::uintptr_t>(place), bytes);
  ASSERT_TRUE(gone);
  initiator_->learn(target_process, *gone, target_->bytes_for(*gone));
  ASSERT_EQ(mprotect(place, bytes, PROT_NONE), 0);  // nothing else comes there, unlike after munmap
  std::vector<std::byte> local(8);
  EXPECT_THAT([&] { carry_out({access(remote_access::get, *gone, 8, local)}); },
              ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("a direct get of 8 bytes"), HasSubstr("process 7"))));
  EXPECT_THAT([&] { carry_out({access(remote_access::put, *gone, 8, local)}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("a direct put of 8 bytes")));
  const remote_address where = made_reachable(0, 4096);
  carry_out({access(remote_access::get, where, 0, local)});
  EXPECT_EQ(std::memcmp(local.data(), memory_.data(), 8), 0);
  munmap(place, bytes);
}

TEST_F(ucx_adapter_test, refuses_addresses_of_something_else) {
  const remote_address where = made_reachable(0, 4096);
  const adapter_bytes good = target_->bytes_for(where);
  adapter_bytes foreign = good;
  foreign.all[0] ^= std::byte{1};
  EXPECT_THAT([&] { initiator_->learn(8, where, foreign); },
              ThrowsMessage<std::runtime_error>(HasSubstr("another transport")));
  for (std::uint8_t used = 0; used < good.used; ++used) {
    adapter_bytes shorter = good;
    shorter.used = used;
    EXPECT_THROW(initiator_->learn(8, where, shorter), std::runtime_error) << int{used};
  }
  adapter_bytes longer = good;
  longer.used = 255;
  EXPECT_THROW(initiator_->learn(8, where, longer), std::runtime_error);
}

// Those of shared memory and TCP access nothing without the target's processor; the error says so of each.
TEST_F(ucx_adapter_test, says_what_it_has_looked_for) {
  EXPECT_THAT([] { ucx_adapter({.transports = "posix,tcp"}); },
              ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("rma_transports=posix,tcp"),
                                                      HasSubstr("accesses memory by messages"),
                                                      HasSubstr("posix/memory (registers no memory"))));
  EXPECT_THAT([] { ucx_adapter({.transports = "cma", .machines = 2}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("other machines")));
}

}  // namespace
}  // namespace tri::arrays
