// Options from the command line and the environment: precedence, removal of arguments, error messages.
#include "config/configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/variable_names.hpp"

namespace tri::config {
namespace {

using ::testing::HasSubstr;

// Arguments as main() gets them.
class arguments {
 public:
  arguments(std::initializer_list<std::string> words) : words_(words) {
    words_.insert(words_.begin(), "app");
    for (std::string& each : words_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
    count = static_cast<int>(words_.size());
  }
  configuration read(const std::vector<std::string>& environment = {}) {
    return configuration::from(count, pointers_.data(), environment);
  }
  std::vector<std::string> rest() const { return {pointers_.begin() + 1, pointers_.begin() + count}; }
  bool ends_with_null() const { return pointers_[static_cast<std::size_t>(count)] == nullptr; }
  int count;

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

std::string message_of(const std::vector<std::string>& environment, std::initializer_list<std::string> words) {
  arguments given(words);
  try {
    given.read(environment);
  } catch (const configuration_error& problem) {
    return problem.what();
  }
  return "no error";
}

TEST(configuration, defaults) {
  arguments none{};
  const configuration values = none.read();
  EXPECT_EQ(values.pes, 0);
  EXPECT_EQ(values.affinity, "auto");
  EXPECT_EQ(values.inbox_cells, 1024);
  EXPECT_EQ(values.node_queue_cells, 4096);
  EXPECT_EQ(values.arena_window_bytes, std::size_t{os::under_thread_sanitizer ? 4 : 64} << 30);
  EXPECT_EQ(values.idle, idle_policy::automatic);
  EXPECT_DOUBLE_EQ(values.stall_report_s, 5);
  EXPECT_FALSE(values.counters);
  EXPECT_EQ(values.origin_of("pes"), value_origin::default_value);
}

TEST(configuration, command_line_wins_over_environment) {
  arguments given{"--tri-pes", "3"};
  const configuration values = given.read({"TRIREME_PES=2", "TRIREME_IDLE=yield", "PATH=/bin", "TRIREMELIKE=1"});
  EXPECT_EQ(values.pes, 3);
  EXPECT_EQ(values.idle, idle_policy::yield);
  EXPECT_EQ(values.origin_of("pes"), value_origin::command_line);
  EXPECT_EQ(values.origin_of("idle"), value_origin::environment);
}

TEST(configuration, removes_its_arguments_only) {
  arguments given{"-v", "--tri-inbox-cells=64", "input", "--tri-idle", "sleep", "--pes", "7", "--", "--tri-pes", "9"};
  const configuration values = given.read();
  EXPECT_EQ(values.inbox_cells, 64);
  EXPECT_EQ(values.idle, idle_policy::sleep);
  EXPECT_EQ(values.pes, 0);
  EXPECT_EQ(given.rest(), (std::vector<std::string>{"-v", "input", "--pes", "7", "--", "--tri-pes", "9"}));
  EXPECT_TRUE(given.ends_with_null());
}

TEST(configuration, underscores_are_as_good_as_dashes) {
  arguments given{"--tri-inbox_cells", "32"};
  EXPECT_EQ(given.read().inbox_cells, 32);
}

TEST(configuration, switches) {
  arguments alone{"--tri-counters", "file"};
  EXPECT_TRUE(alone.read().counters);
  EXPECT_EQ(alone.rest(), std::vector<std::string>{"file"});
  arguments last{"--tri-counters"};
  EXPECT_TRUE(last.read().counters);
  arguments off{"--tri-counters", "off"};
  EXPECT_FALSE(off.read({"TRIREME_COUNTERS=yes"}).counters);
  EXPECT_TRUE(off.rest().empty());
  arguments equals{"--tri-footprint=true"};
  EXPECT_TRUE(equals.read().footprint);
}

TEST(configuration, sizes_have_suffixes) {
  arguments given{"--tri-arena-limit-bytes", "3M"};
  EXPECT_EQ(given.read().arena_limit_bytes, std::size_t{3} << 20);
}

TEST(configuration, unknown_names_get_a_suggestion) {
  EXPECT_EQ(message_of({}, {"--tri-inbox-cell=4"}),
            "unknown option --tri-inbox-cell; did you mean --tri-inbox-cells? `trireme info --config` lists all");
  EXPECT_EQ(
      message_of({"TRIREME_AFINITY=none"}, {}),
      "unknown environment variable TRIREME_AFINITY; did you mean TRIREME_AFFINITY? `trireme info --config` lists all");
  EXPECT_THAT(message_of({"TRIREME_pes=1"}, {}),
              HasSubstr("unknown environment variable TRIREME_pes; did you mean TRIREME_PES?"));
  configuration values;
  EXPECT_THROW(values.set("hots", "2"), configuration_error);
}

TEST(configuration, bad_values_say_what_would_be_right) {
  EXPECT_EQ(message_of({}, {"--tri-pes", "many"}), "--tri-pes is 'many', but it must be a whole number, 0 .. 4096");
  EXPECT_EQ(message_of({}, {"--tri-pes=-1"}), "--tri-pes is '-1', but it must be 0 .. 4096");
  EXPECT_EQ(message_of({}, {"--tri-pes"}), "--tri-pes needs a value: 0 .. 4096");
  EXPECT_EQ(message_of({"TRIREME_IDLE=slepe"}, {}),
            "TRIREME_IDLE is 'slepe', but it must be one of auto, spin, yield, sleep; did you mean 'sleep'?");
  EXPECT_EQ(message_of({"TRIREME_INBOX_CELLS=100"}, {}),
            "TRIREME_INBOX_CELLS is '100', but it must be a power of two in 16 .. 65536");
  EXPECT_EQ(message_of({"TRIREME_PES="}, {}), "TRIREME_PES is '', but it must be a whole number, 0 .. 4096");
  EXPECT_THAT(message_of({}, {"--tri-arena-limit-bytes=4X"}),
              HasSubstr("it must be a size such as 4096, 64K, 16M or 2G"));
  EXPECT_THAT(message_of({}, {"--tri-stall-report-s=-1"}), HasSubstr("it must be at least 0"));
  EXPECT_THAT(message_of({}, {"--tri-counters=maybe"}), HasSubstr("it must be on or off"));
}

TEST(configuration, variables_of_the_launcher_are_known) {
  EXPECT_EQ(message_of({"TRIREME_JOB=x", "TRIREME_PROCESS=0", "TRIREME_PROCESSES=2"}, {}), "no error");
}

// A job may run under the drop-in, and its user may have set what other programs read.
TEST(configuration, variables_that_no_job_reads_are_known) {
  for (const other_variable& each : other_variables()) {
    EXPECT_EQ(message_of({std::string(each.name) + "=x"}, {}), "no error");
    EXPECT_THAT(configuration_listing(configuration{}), HasSubstr(each.name));
  }
  EXPECT_EQ(message_of({"TRIREME_OMP_SHEDULE=static"}, {}),
            "unknown environment variable TRIREME_OMP_SHEDULE; did you mean TRIREME_OMP_SCHEDULE? "
            "`trireme info --config` lists all");
  EXPECT_EQ(message_of({"TRIREME_SLAK=off"}, {}),
            "unknown environment variable TRIREME_SLAK; did you mean TRIREME_SLACK? `trireme info --config` lists all");
}

TEST(configuration, names_are_checked_without_reading_values) {
  check_variable_names({"TRIREME_PES=many", "TRIREME_OMP_VIRTUAL=x", "TRIREME_JOB=x", "PATH=/bin"});
  EXPECT_THROW(check_variable_names({"TRIREME_OMP_VIRTUEL=8"}), configuration_error);
  check_variable_names({"TRIREME_ROOT=/opt/trireme", "TRIREME_DIR=/opt", "TRIREME_HOME=/opt", "TRIREME_VERSION=0.1"});
  EXPECT_THROW(check_variable_names({"TRIREME_ROOTS=/opt"}), configuration_error);
}

TEST(configuration, a_bad_value_changes_nothing) {
  configuration values;
  values.set("pes", "4");
  EXPECT_THROW(values.set("pes", "5000"), configuration_error);
  EXPECT_EQ(values.pes, 4);
  EXPECT_EQ(values.origin_of("pes"), value_origin::program);
}

TEST(configuration, every_row_is_complete_and_reads_back_its_default) {
  std::set<std::string> names;
  for (const option_description& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.allowed.empty()) << row.name;
    configuration values;
    values.set(row.name, row.default_value);
    EXPECT_EQ(values.text_of(row.name), row.default_value) << row.name;
    EXPECT_EQ(row.option().find('_'), std::string::npos);
  }
  EXPECT_TRUE(names.contains("stall_report_s"));
}

TEST(configuration, listing_shows_value_and_origin) {
  arguments given{"--tri-pes", "3"};
  const std::string listing = configuration_listing(given.read({"TRIREME_IDLE=spin"}));
  EXPECT_THAT(listing, ::testing::ContainsRegex("pes +integer +0 +PEs +3 +command line "));
  EXPECT_THAT(listing, ::testing::ContainsRegex("idle +name +auto +spin +environment "));
  EXPECT_THAT(listing, ::testing::ContainsRegex("inbox_cells +integer +1024 +cells +1024 +default "));
  EXPECT_THAT(listing, ::testing::ContainsRegex("loops_schedule +text +automatic +automatic +default "));
}

}  // namespace
}  // namespace tri::config
