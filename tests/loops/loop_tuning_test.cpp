// Tune files: what is read, what is refused, and which loop gets which schedule.
#include "loops/loop_tuning.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "schedules/automatic_schedule.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "trireme/loops.hpp"

namespace tri::loops {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class temporary_file {
 public:
  explicit temporary_file(const std::string& text) {
    std::string name = testing::TempDir() + "loop_tuning_test.XXXXXX";
    close(mkstemp(name.data()));
    name_ = name;
    std::ofstream(name_) << text;
  }
  ~temporary_file() { unlink(name_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

TEST(tune_file, is_read) {
  const temporary_file file(R"({"trireme_tune": 1, "machine": "mill", "program": "app", "schedule": "static",
    "loops": [{"file": "a.cpp", "line": 7, "schedule": "hybrid,0.8", "seconds": 1.5}], "more": true})");
  const tune_file read = tune_file::read(file.name(), "mill");
  EXPECT_EQ(read.program, "app");
  EXPECT_EQ(read.schedule, "static");
  EXPECT_FALSE(read.omp);
  ASSERT_EQ(read.loops.size(), 1u);
  EXPECT_EQ(read.loops[0].file, "a.cpp");
  EXPECT_EQ(read.loops[0].line, 7u);
  EXPECT_EQ(read.loops[0].schedule, "hybrid,0.8");
}

TEST(tune_file, of_another_machine_is_refused) {
  const temporary_file file(R"({"trireme_tune": 1, "machine": "mill"})");
  EXPECT_THAT([&] { tune_file::read(file.name(), "forge"); },
              ThrowsMessage<tune_file_error>(AllOf(HasSubstr(file.name()), HasSubstr("made on another machine (mill)"),
                                                   HasSubstr("this one is forge"), HasSubstr("trireme tune"))));
}

TEST(tune_file, what_cannot_be_used_says_why) {
  const auto refuses = [](const std::string& text, const char* why) {
    const temporary_file file(text);
    EXPECT_THAT([&] { tune_file::read(file.name(), "mill"); },
                ThrowsMessage<tune_file_error>(AllOf(HasSubstr(file.name()), HasSubstr(why))));
  };
  refuses("", "cannot be understood");
  refuses("[1, 2]", "cannot be understood");
  refuses(R"({"machine": "mill"})", "is not a tune file");
  refuses(R"({"trireme_tune": 2, "machine": "mill"})", "is not a tune file");
  refuses(R"({"trireme_tune": 1})", "machine");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "schedule": "statik"})", "static");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "schedule": "native"})", "native");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "schedule": "host"})", "host");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "loops": [{"file": "a.cpp", "schedule": "static"}]})", "line");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "loops": [{"file": "a.cpp", "line": 3, "schedule": "hybrid,7"}]})",
          "loop at a.cpp:3");
  refuses(R"({"trireme_tune": 1e300, "machine": "mill"})", "is not a tune file");
  refuses(R"({"trireme_tune": 1, "machine": "mill", "loops": [{"file": "a.cpp", "line": -1, "schedule": "static"}]})",
          "'line' is -1; it must be a whole number from 0 to 4294967295");
  refuses(
      R"({"trireme_tune": 1, "machine": "mill", "loops": [{"file": "a.cpp", "line": 1e300, "schedule": "static"}]})",
      "'line' is 1e+300");
  EXPECT_THAT([] { tune_file::read("/nowhere/x.json", "mill"); },
              ThrowsMessage<tune_file_error>(HasSubstr("/nowhere/x.json: cannot be read")));
}

TEST(tune_file, an_openmp_program_may_be_left_to_its_runtime) {
  const temporary_file file(R"({"trireme_tune": 1, "machine": "mill", "omp": true, "schedule": "native"})");
  EXPECT_EQ(tune_file::read(file.name(), "mill").schedule, "native");
  const temporary_file older(R"({"trireme_tune": 1, "machine": "mill", "omp": true, "schedule": "host"})");
  EXPECT_EQ(tune_file::read(older.name(), "mill").schedule, "host");
}

TEST(machine, has_the_same_fingerprint_every_time) {
  EXPECT_EQ(machine_fingerprint(), machine_fingerprint());
  EXPECT_THAT(machine_fingerprint(), HasSubstr("cores"));
}

// One process, one setting: the whole life of it in one test.
TEST(loop_tuning, decides_where_the_program_names_no_schedule) {
  setenv("TRIREME_PES", "2", 1);
  EXPECT_THAT([] { set_loop_tuning("statik", ""); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("loops_schedule"), HasSubstr("static"))));
  set_loop_tuning("automatic", "");
  EXPECT_FALSE(tuning);
  loop_record elsewhere;
  const auto place = std::source_location::current();
  loop_record here;  // one line below
  const auto file_text = [&](const char* extra) {
    return R"({"trireme_tune": 1, "machine": ")" + machine_fingerprint() + R"(", "schedule": "hybrid,0.25")" + extra +
           R"(, "loops": [{"file": ")" + place.file_name() + R"(", "line": )" + std::to_string(place.line() + 1) +
           R"(, "schedule": "hybrid,0.75"}]})";
  };
  const temporary_file for_openmp(file_text(R"(, "omp": true)"));
  EXPECT_THAT([&] { set_loop_tuning("automatic", for_openmp.name()); },
              ThrowsMessage<tune_file_error>(HasSubstr("trireme exec --omp --tune-file")));
  const temporary_file file(file_text(""));
  set_loop_tuning("automatic", file.name());
  EXPECT_TRUE(tuning);
  const auto fraction_used = [](loop_record& record, loop_options options) {
    options.record = &record;
    parallel_for(
        100, [](int) {}, options);
    EXPECT_EQ(record.automatic().executions(), 0u);
    return record.named().static_fraction();
  };
  EXPECT_EQ(fraction_used(here, {}), 0.75) << "that of the place";
  EXPECT_EQ(fraction_used(elsewhere, {}), 0.25) << "that for all others";
  EXPECT_EQ(fraction_used(here, "hybrid,0.625"), 0.625) << "the program has the last word";
  EXPECT_EQ(fraction_used(here, {}), 0.75);
}

}  // namespace
}  // namespace tri::loops
