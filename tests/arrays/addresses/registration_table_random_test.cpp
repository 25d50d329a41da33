// 100 000 random calls of the table of registrations beside a model that searches and sums.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "target_host.hpp"

namespace tri::arrays {
namespace {

struct model_area {
  state is = state::unused;
  std::set<host_number> hosts;
  std::uint32_t uses = 0;
  std::multiset<host_number> waits_for;
  invalidation_epoch epoch = 0;
};

class random_calls {
 public:
  void run(int calls) {
    host_.table.for_each([](const auto&) { FAIL() << "nothing is registered at first"; });
    for (int i = 0; i < calls; ++i) {
      switch (random_() % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
          access();
          break;
        case 5:
        case 6:
          begin_use();
          break;
        case 7:
        case 8:
        case 9:
          end_use();
          break;
        default:
          acknowledge();
          break;
      }
      if (random_() % 500 == 0) free_array();
      if (!present_) was_freed_late();
      ASSERT_NO_FATAL_FAILURE(compare()) << "call " << i;
    }
    const auto& count = host_.table.count();
    EXPECT_GT(count.victims, 1000U);
    EXPECT_GT(count.broadcasts, 10U);
    EXPECT_GT(frees_that_waited_, 10U);
    EXPECT_EQ(host_.registrar.adapter.count().errors, 0U);
    EXPECT_LE(host_.registrar.adapter.count().most_bytes, limit);
  }

 private:
  static constexpr chunk_number chunks = 10;
  static constexpr std::uint64_t part_bytes = chunks * chunk_bytes - 20;  // the last one is shorter
  static constexpr std::uint64_t limit = 4 * chunk_bytes - 10;            // the short chunk alone makes too little room
  static constexpr std::size_t listed = 2;
  static constexpr host_number hosts = 5;

  static std::uint64_t bytes_of(chunk_number chunk) { return chunk + 1 == chunks ? chunk_bytes - 20 : chunk_bytes; }
  std::uint64_t bytes_in(std::initializer_list<state> states) const {
    std::uint64_t sum = 0;
    for (chunk_number i = 0; i < chunks; ++i)
      if (std::find(states.begin(), states.end(), areas_[i].is) != states.end()) sum += bytes_of(i);
    return sum;
  }

  bool want(chunk_number chunk) {
    if (areas_[chunk].is != state::unused) return areas_[chunk].is == state::registered;
    std::vector<chunk_number> victims;
    std::uint64_t staying = bytes_in({state::registered, state::wanted}) + bytes_of(chunk);
    for (const chunk_number each : in_order_) {
      if (staying <= limit) break;
      if (areas_[each].is != state::registered || areas_[each].uses > 0) continue;
      victims.push_back(each);
      staying -= bytes_of(each);
    }
    if (staying > limit) return false;
    for (const chunk_number each : victims) leave(each);
    areas_[chunk].is = state::wanted;
    wanted_.push_back(chunk);
    serve();
    return areas_[chunk].is == state::registered;
  }
  void leave(chunk_number chunk) {
    model_area& of = areas_[chunk];
    std::erase(in_order_, chunk);
    of.is = state::leaving;
    of.epoch = ++epoch_;
    if (of.hosts.size() > listed) {
      for (host_number host = 1; host < hosts; ++host) of.waits_for.insert(host);
    } else {
      of.waits_for.insert(of.hosts.begin(), of.hosts.end());
    }
    for (const host_number host : of.waits_for) expected_.insert({host, chunk, of.epoch});
    end_if_done(chunk);
  }
  void end_if_done(chunk_number chunk) {
    if (areas_[chunk].is == state::leaving && areas_[chunk].waits_for.empty() && areas_[chunk].uses == 0)
      areas_[chunk] = {};
  }
  void serve() {
    while (!wanted_.empty() && bytes_in({state::registered, state::leaving}) + bytes_of(wanted_.front()) <= limit) {
      areas_[wanted_.front()].is = state::registered;
      in_order_.push_back(wanted_.front());
      wanted_.erase(wanted_.begin());
    }
  }

  void access() {
    const auto chunk = static_cast<chunk_number>(random_() % chunks);
    const auto from = static_cast<host_number>(1 + random_() % (hosts - 1));
    const bool has_address = present_ && want(chunk);
    const auto reply = host_.access(from, chunk);
    ASSERT_EQ(reply.has_value(), has_address);
    if (!reply) return;
    areas_[chunk].hosts.insert(from);
    ASSERT_EQ(reply->epoch, epoch_);
    ASSERT_TRUE(host_.registrar.adapter.check(reply->where.address, bytes_of(chunk), reply->where.key));
  }
  void begin_use() {
    const auto chunk = static_cast<chunk_number>(random_() % chunks);
    const bool may = present_ && want(chunk);
    const auto use = host_.table.begin_local_use(base + chunk * chunk_bytes, 8, host_.out);
    ASSERT_EQ(use.has_value(), may);
    if (!use) return;
    ++areas_[chunk].uses;
    uses_.push_back({chunk, *use});
  }
  void end_use() {
    if (uses_.empty()) return;
    const auto which = uses_.begin() + static_cast<std::ptrdiff_t>(random_() % uses_.size());
    const auto [chunk, use] = *which;
    uses_.erase(which);
    ASSERT_TRUE(host_.registrar.adapter.check(use.where.address, 8, use.where.key));
    host_.table.end_local_use(use.area);
    --areas_[chunk].uses;
    end_if_done(chunk);
    serve();
  }
  void acknowledge() {
    for (const outgoing_invalidation& one : std::exchange(host_.out, {})) in_flight_.push_back(one);
    if (in_flight_.empty()) return;
    const auto which = in_flight_.begin() + static_cast<std::ptrdiff_t>(random_() % in_flight_.size());
    const outgoing_invalidation one = *which;
    in_flight_.erase(which);
    ASSERT_EQ(expected_.erase({one.to, one.what.chunk, one.what.epoch}), 1U) << "an invalidation too many";
    model_area& of = areas_[one.what.chunk];
    of.waits_for.erase(of.waits_for.find(one.to));
    end_if_done(one.what.chunk);
    serve();
    host_.acknowledge(one);
  }
  void free_array() {
    if (!present_) return;
    present_ = false;
    const std::vector<chunk_number> wanted = std::exchange(wanted_, {});
    for (const chunk_number each : wanted) areas_[each] = {};
    for (chunk_number each = 0; each < chunks; ++each)
      if (areas_[each].is == state::registered) leave(each);
    const bool is_done = is_gone();
    ASSERT_EQ(host_.table.free_array(array, host_.out), is_done);
    if (is_done)
      add_again();
    else
      ++frees_that_waited_;
  }
  bool is_gone() const {
    return std::all_of(areas_.begin(), areas_.end(), [](const auto& one) { return one.is == state::unused; });
  }
  void was_freed_late() {
    const auto freed = host_.table.next_freed();
    EXPECT_EQ(freed.has_value(), is_gone());
    if (freed) add_again();
  }
  void add_again() {
    host_.table.add_array(array, base, part_bytes);
    present_ = true;
  }

  void compare() {
    std::vector<chunk_number> order;
    std::vector<chunk_number> wanted;
    host_.table.for_each([&](const registration_table::area_view& area) {
      const model_area& of = areas_.at(area.chunk);
      ASSERT_EQ(area.state, of.is);
      ASSERT_EQ(area.local_uses, of.uses);
      ASSERT_EQ(area.unacknowledged, of.waits_for.size());
      ASSERT_EQ(area.is_known_to_all, of.hosts.size() > listed);
      ASSERT_TRUE(area.is_known_to_all || std::set(area.hosts.begin(), area.hosts.end()) == of.hosts);
      if (area.state == state::registered) order.push_back(area.chunk);
      if (area.state == state::wanted) wanted.push_back(area.chunk);
    });
    ASSERT_EQ(order, in_order_);
    ASSERT_EQ(wanted, wanted_);
    ASSERT_EQ(host_.table.registered_bytes(), bytes_in({state::registered, state::leaving}));
    ASSERT_EQ(host_.registrar.adapter.registered_bytes(), host_.table.registered_bytes());
  }

  std::mt19937_64 random_{5};
  target_host host_{
      {.chunks = {.chunk_bytes = chunk_bytes}, .most_bytes = limit, .listed_hosts = listed}, hosts, part_bytes};
  std::array<model_area, chunks> areas_;
  std::vector<chunk_number> in_order_;  // of registration
  std::vector<chunk_number> wanted_;
  std::vector<std::pair<chunk_number, local_use>> uses_;
  messages in_flight_;
  std::set<std::tuple<host_number, chunk_number, invalidation_epoch>> expected_;
  invalidation_epoch epoch_ = 0;
  bool present_ = true;
  int frees_that_waited_ = 0;
};

TEST(registration_table, does_what_a_simple_model_does) { random_calls().run(100'000); }

}  // namespace
}  // namespace tri::arrays
