// Methods by name, rounds in turn, tables, CSV and pictures, with a kernel that only counts; times are given, never
// measured.
#include "experiment.hpp"

#include <algorithm>
#include <set>

#include "every_method.hpp"
#include "options.hpp"
#include "pictures/line_chart.hpp"

namespace kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class counting_kernel final : public kernel {
 public:
  std::string problem() const override { return "counting"; }
  int steps() const override { return 2; }
  void reset() override { value_ = 0.0; }
  void run(method& how) override {
    ran.push_back(how.text());
    value_ = how.text() == wrong ? 2.0 : 1.0;
  }
  std::vector<double> result() const override { return {value_}; }
  void run_serial() override {}
  std::vector<finding> check() override { return {{value_ == 1.0, "counted"}}; }

  std::vector<std::string> ran;
  std::string wrong;

 private:
  double value_ = 0.0;
};

const progress_function silent = [](int, int, const std::string&) {};

TEST(experiment, runs_every_method_in_every_round_and_one_round_more_than_is_counted) {
  counting_kernel counter;
  const std::vector<std::string> methods{"static", "dynamic", "hybrid,0.5"};
  const experiment_result result = run_experiment(counter, {{"static", "dynamic"}, {"hybrid,0.5"}, 2}, silent);
  ASSERT_EQ(counter.ran.size(), 9u);
  for (std::size_t round = 0; round < 3; ++round) {
    const auto begin = counter.ran.begin() + static_cast<std::ptrdiff_t>(3 * round);
    EXPECT_THAT(std::vector<std::string>(begin, begin + 3), testing::UnorderedElementsAreArray(methods));
  }
  ASSERT_EQ(result.rows.size(), 3u);
  for (const measured& row : result.rows) EXPECT_EQ(row.times.size(), 2u);
  EXPECT_TRUE(result.right());
}

TEST(experiment, one_different_bit_is_wrong) {
  counting_kernel counter;
  counter.wrong = "dynamic";
  const experiment_result result = run_experiment(counter, {{"static", "dynamic"}, {}, 1}, silent);
  EXPECT_FALSE(result.right());
  EXPECT_NE(result.rows[0].same_result, result.rows[1].same_result);  // whichever ran first is what others equal
  EXPECT_THAT(table_of(counter, result), HasSubstr("DIFFERENT"));
  counter.wrong = "static";  // the first: now what must hold does not
  EXPECT_FALSE(run_experiment(counter, {{"static"}, {}, 1}, silent).right());
}

TEST(experiment, progress_reaches_the_end) {
  counting_kernel counter;
  int last = -1;
  int end = 0;
  run_experiment(counter, {{"static", "guided"}, {}, 3}, [&](int done, int all, const std::string&) {
    EXPECT_GE(done, last);
    last = done;
    end = all;
  });
  EXPECT_EQ(last, end);
}

TEST(experiment, a_task_graph_is_refused_by_kernels_without_one) {
  counting_kernel counter;
  EXPECT_THROW(run_experiment(counter, {{"tasks,0.5"}, {}, 1}, silent), std::invalid_argument);
}

experiment_result made_up() {
  experiment_result result;
  const auto add = [&](const std::string& text, std::optional<double> fraction, bool in_sweep, double time) {
    measured row;
    row.method = text;
    row.static_fraction = fraction;
    row.in_sweep = in_sweep;
    row.times = {time + 1, time, time + 3};
    result.rows.push_back(row);
  };
  add("static", std::nullopt, false, 10);
  add("dynamic", std::nullopt, false, 21);
  add("hybrid,0", 0.0, true, 20);
  add("hybrid,0.5", 0.5, true, 8);
  add("hybrid,1", 1.0, true, 10);
  return result;
}

TEST(experiment, tables_tell_medians_and_the_best_fraction) {
  const counting_kernel counter;
  const std::string table = table_of(counter, made_up());
  EXPECT_THAT(table, HasSubstr("2.000"));  // 22 by 11
  EXPECT_THAT(table, Not(HasSubstr("hybrid")));
  EXPECT_THAT(sweep_table_of(made_up()), HasSubstr("best hybrid: static fraction 0.5, 9.000 ms"));
  EXPECT_EQ(sweep_table_of({}), "");
}

TEST(experiment, csv_has_a_line_for_every_run) {
  const std::string csv = csv_of("cg", 2, made_up());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 5 * 3);
  EXPECT_THAT(csv, HasSubstr("cg,\"hybrid,0.5\",0.5,2,2,8.000000\n"));
  EXPECT_THAT(csv, HasSubstr("cg,\"static\",,2,1,11.000000\n"));
}

TEST(experiment, the_picture_has_the_curve_and_the_levels) {
  const std::string svg = picture_of("a < b", made_up());
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">hybrid<"));
  EXPECT_THAT(svg, HasSubstr(">static 11<"));
  EXPECT_THAT(svg, HasSubstr(">dynamic 22<"));
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
  EXPECT_EQ(circles, 3u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr(">-0")));
  EXPECT_THAT(tri::pictures::to_svg({}), Not(HasSubstr("nan")));  // nothing to draw
}

TEST(line_chart_axis, has_round_numbers) {
  EXPECT_THAT(tri::pictures::axis_ticks(0.0, 1.0, 5), testing::SizeIs(6));
  EXPECT_THAT(tri::pictures::axis_ticks(13.0, 29.0, 4), ElementsAre(15, 20, 25));
  EXPECT_THAT(tri::pictures::axis_ticks(1.0, 1.0, 5), ElementsAre(1.0));
}

TEST(sweep, covers_0_to_1) {
  EXPECT_THAT(sweep_fractions(0.25), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(sweep_fractions(0.4), ElementsAre(0, 0.4, 0.8, 1));
  EXPECT_EQ(sweep_fractions(0.05).size(), 21u);
  EXPECT_THROW(sweep_fractions(0.0), std::invalid_argument);
  EXPECT_THROW(sweep_fractions(1.5), std::invalid_argument);
}

TEST(method_text, says_what_has_a_static_fraction) {
  EXPECT_EQ(method("hybrid,0.3").static_fraction(), 0.3);
  EXPECT_EQ(method("staggered,0.9").static_fraction(), 0.9);
  EXPECT_EQ(method("tasks,0.25").static_fraction(), 0.25);
  EXPECT_TRUE(method("tasks").is_task_graph());
  EXPECT_FALSE(method("tasklets,0.5").is_task_graph());
  EXPECT_FALSE(method("dynamic").static_fraction().has_value());
  EXPECT_FALSE(method("automatic").static_fraction().has_value());
  for (const char* text : {"tasks,", "tasks,2", "tasks,-1", "tasks,x", "taks", "hybrid,7"}) {
    EXPECT_THROW(method{text}, std::invalid_argument) << text;
  }
}

TEST(all_schedules_list, has_every_kind_once_and_parses) {
  std::set<std::string> kinds;
  for (const std::string& text : all_schedules())
    EXPECT_TRUE(kinds.insert(tri::schedules::to_text(tri::schedules::parse_schedule(text))).second);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(tri::schedules::schedule_kind::combined) + 2);
}

}  // namespace
}  // namespace kernels
