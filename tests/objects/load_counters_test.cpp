// Counters of a PE by their names: a source that the test controls, and the machine's (M70).
#include "objects/balance/load_counters.hpp"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

#include "support/command_runner.hpp"

namespace tri::objects {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::map<std::string, std::uint64_t> made_up;

class made_up_counts final : public load_counter_source {
 public:
  explicit made_up_counts(std::vector<std::string> names) : names_(std::move(names)) {}
  void read(std::span<std::uint64_t> counts) override {
    for (std::size_t i = 0; i < names_.size(); ++i) counts[i] = made_up[names_[i]];
  }

 private:
  std::vector<std::string> names_;
};

const bool added = [] {
  add_load_counters("fake", [](const std::vector<std::string>& names) -> std::unique_ptr<load_counter_source> {
    for (const std::string& each : names)
      if (each == "none") throw std::runtime_error("'none' cannot be counted");
    return std::make_unique<made_up_counts>(names);
  });
  return true;
}();

TEST(load_counter_names, from_the_option_and_from_a_file) {
  const testing::temporary_folder folder;
  EXPECT_TRUE(load_counter_names("").empty());
  EXPECT_THAT(load_counter_names("cache-misses, fake:b"), ElementsAre("cache-misses", "fake:b"));
  testing::write_file(folder.path() / "names", "# of the machine\ncache-misses\n\n  fake:b  # ours\n");
  EXPECT_THAT(load_counter_names((folder.path() / "names").string()), ElementsAre("cache-misses", "fake:b"));
}

TEST(load_counter_names, that_cannot_be_are_refused) {
  const testing::temporary_folder folder;
  testing::write_file(folder.path() / "empty", "# nothing\n");
  const auto names = [](const std::string& option) { return [option] { load_counter_names(option); }; };
  EXPECT_THAT(names((folder.path() / "empty").string()),
              ThrowsMessage<std::invalid_argument>(HasSubstr("has no name of a counter")));
  EXPECT_THAT(names("/missing/names"), ThrowsMessage<std::invalid_argument>(HasSubstr("there is no file")));
  EXPECT_THAT(names("a,,b"), ThrowsMessage<std::invalid_argument>(HasSubstr("a name is missing")));
  EXPECT_THAT(names("a,b,a"), ThrowsMessage<std::invalid_argument>(HasSubstr("'a' is there twice")));
}

TEST(load_counters, what_passes_between_two_calls_is_charged) {
  made_up = {{"a", 100}, {"b", 7}};
  load_counters counters({"fake:b", "fake:a"});
  std::vector<std::uint64_t> first(2), second(2);
  made_up["a"] += 5;
  counters.charge(first);
  made_up["b"] += 2;
  counters.skip();
  made_up["a"] += 10;
  made_up["b"] += 1;
  counters.charge(second);
  counters.charge(second);
  EXPECT_THAT(first, ElementsAre(0, 5));
  EXPECT_THAT(second, ElementsAre(1, 10)) << "in the order of the names; b's 2 are of no element";
}

TEST(load_counters, of_the_machine_and_the_program_together) {
  made_up = {};
  std::unique_ptr<load_counters> counters;
  try {
    counters = std::make_unique<load_counters>(std::vector<std::string>{"fake:a", "page-faults", "fake:c"});
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  made_up["c"] = 3;
  std::vector<std::uint64_t> found(3);
  counters->charge(found);
  EXPECT_EQ(found[0], 0u);
  EXPECT_LT(found[1], 1000u);
  EXPECT_EQ(found[2], 3u);
}

TEST(load_counters, that_cannot_be_counted_say_why) {
  const auto opened = [](const char* name) { return [name] { load_counters({name}); }; };
  EXPECT_THAT(opened("other:a"), ThrowsMessage<std::runtime_error>(HasSubstr("no counters with the prefix 'other'")));
  EXPECT_THAT(opened("cash-misses"), ThrowsMessage<std::runtime_error>(HasSubstr("there is no event 'cash-misses'")));
  EXPECT_THAT(opened("fake:none"), ThrowsMessage<std::runtime_error>(HasSubstr("'none' cannot be counted")));
  EXPECT_THAT([] { add_load_counters("fake", {}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("have no function")));
  EXPECT_THAT([] { add_load_counters("a b", {}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cannot be a prefix")));
}

}  // namespace
}  // namespace tri::objects
