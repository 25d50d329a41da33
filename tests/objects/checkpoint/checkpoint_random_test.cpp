// Random programs against a sequential model, with checkpoints and restarts on random numbers of PEs thrown in: sparse
// elements that are inserted, deleted, moved and added to, sums by reductions and contributions.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

struct pair_key {
  int first = 0, second = 0;
  friend bool operator==(const pair_key&, const pair_key&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first, second);
  }
};

}  // namespace
}  // namespace tri::testing

template <>
struct std::hash<tri::testing::pair_key> {
  std::size_t operator()(const tri::testing::pair_key& key) const {
    return static_cast<std::size_t>(key.first) * 1000003 + static_cast<std::size_t>(key.second);
  }
};

namespace tri::testing {
namespace {

template <class Index>
struct holder : array_element<holder<Index>, Index> {
  std::vector<long> values;
  void add(long value) { values.push_back(value); }
  void hop(int pe) { this->migrate_to(pe); }
  void end() { this->erase_this(); }
  std::vector<long> get() { return values; }
  long total() {
    long sum = 0;
    for (const long each : values) sum += each;
    return sum;
  }
  void count(const element_ref<holder<index<1>>>& target) {
    this->contribute(total(), sum, to<&holder<index<1>>::add>(target));
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(values);
  }
};
template struct holder<pair_key>;
template struct holder<index<2>>;
template struct holder<index<1>>;
using keyed = holder<pair_key>;
using numbered = holder<index<2>>;
using one = holder<index<1>>;

/// What the job has, and what the model believes.
struct model {
  std::map<int, std::vector<long>> keyed_values;     // those that exist
  std::map<int, std::vector<long>> numbered_values;  // a dense array; those that were not deleted
  std::vector<long> contributed;
};
struct handles {
  array<keyed> by_key;
  array<numbered> by_number;
  array<one> target;
};

pair_key key_of(int n) { return {n % 7, n / 7}; }
constexpr int width = 6, height = 5;

class random_program {
 public:
  random_program(std::mt19937& random, model& expected) : random_(random), expected_(expected) {}
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  template <class Map>
  auto pick(Map& map) {
    return std::next(map.begin(), draw(static_cast<int>(map.size())));
  }

  void begin() {
    job_.by_key = make_sparse_array<keyed>();
    job_.by_number = make_array<numbered>({height, width}, draw(2) == 0 ? round_robin() : block());
    job_.target = make_array<one>({1});
    for (int n = 0; n < width * height; ++n) expected_.numbered_values[n] = {};
  }
  void go_on() { job_ = restored_state<handles>(); }
  const handles& job() const { return job_; }

  void step() {
    const int action = draw(8);
    if (action < 2) {
      const int n = draw(40);
      if (expected_.keyed_values.contains(n)) return;
      job_.by_key.insert(key_of(n));
      quiescence().get();  // where it was deleted before, a message could arrive earlier than the insertion
      expected_.keyed_values[n] = {};
    } else if (action < 4) {
      const long value = draw(1000);
      if (draw(2) == 0 && !expected_.keyed_values.empty()) {
        auto& [n, values] = *pick(expected_.keyed_values);
        job_.by_key[key_of(n)].send<&keyed::add>(value);
        values.push_back(value);
      } else {
        auto& [n, values] = *pick(expected_.numbered_values);
        job_.by_number(n / width, n % width).send<&numbered::add>(value);
        values.push_back(value);
      }
    } else if (action == 4) {
      if (!expected_.keyed_values.empty())
        job_.by_key[key_of(pick(expected_.keyed_values)->first)].send<&keyed::hop>(draw(pe_count()));
      const int n = pick(expected_.numbered_values)->first;
      job_.by_number(n / width, n % width).send<&numbered::hop>(draw(pe_count()));
    } else if (action == 5) {
      const long value = draw(10);
      quiescence().get();  // broadcasts are not ordered with messages to elements that move
      job_.by_number.broadcast<&numbered::add>(value);
      for (auto& [n, values] : expected_.numbered_values) values.push_back(value);
      quiescence().get();  // what is sent to one element later may not come before it
    } else if (action == 6) {
      delete_one();
    } else {
      quiescence().get();
      job_.by_number.broadcast<&numbered::count>(job_.target(0));
      long sum = 0;
      for (const auto& [n, values] : expected_.numbered_values)
        for (const long value : values) sum += value;
      expected_.contributed.push_back(sum);
      quiescence().get();
    }
  }

  void check_all() {
    quiescence().get();
    for (const auto& [n, values] : expected_.keyed_values)
      check(job_.by_key[key_of(n)].call<&keyed::get>().get() == values, "keyed element " + std::to_string(n));
    long sum_of_numbered = 0;
    for (const auto& [n, values] : expected_.numbered_values) {
      check(job_.by_number(n / width, n % width).call<&numbered::get>().get() == values,
            "numbered element " + std::to_string(n));
      for (const long value : values) sum_of_numbered += value;
    }
    check_equal(job_.by_number.reduce<&numbered::total>(sum).get(), sum_of_numbered);
    check(job_.target(0).call<&one::get>().get() == expected_.contributed, "other contributions");
  }

 private:
  void delete_one() {
    quiescence().get();  // no message to it may be on its way
    if (draw(3) != 0 && !expected_.keyed_values.empty()) {
      const auto found = pick(expected_.keyed_values);
      job_.by_key[key_of(found->first)].send<&keyed::end>();
      expected_.keyed_values.erase(found);
    } else if (expected_.numbered_values.size() > 3) {
      const auto found = pick(expected_.numbered_values);
      job_.by_number(found->first / width, found->first % width).send<&numbered::end>();
      expected_.numbered_values.erase(found);
    }
    quiescence().get();
  }

  std::mt19937& random_;
  model& expected_;
  handles job_;
};

void run_random_job(unsigned seed) {
  const checkpoint_folder folder;
  std::mt19937 random(seed);
  model expected;
  model at_checkpoint;
  for (int life = 0; life < 4; ++life) {
    const int pes = 1 + static_cast<int>(random() % 5);
    std::vector<std::string> options;
    if (life != 0) options.push_back(folder.restart_option());
    expected = at_checkpoint;  // what came after it is lost
    ASSERT_EQ(run_on_pes(
                  pes,
                  [&] {
                    random_program program(random, expected);
                    if (life == 0)
                      program.begin();
                    else
                      program.go_on();
                    program.check_all();
                    const int checkpoints = 1 + static_cast<int>(random() % 2);
                    for (int i = 0; i < checkpoints; ++i) {
                      for (int steps = program.draw(40); steps > 0; --steps) program.step();
                      checkpoint(folder.checkpoint(), program.job()).get();
                      at_checkpoint = expected;
                    }
                    for (int steps = program.draw(20); steps > 0; --steps) program.step();
                    program.check_all();
                  },
                  options),
              0)
        << "seed " << seed << ", life " << life << ", " << pes << " PEs";
  }
}

TEST(checkpoint_random, jobs_agree_with_the_model) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    run_random_job(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tri::testing
