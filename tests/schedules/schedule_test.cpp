// The text form of loop schedules: what is read, how it is printed, and what the messages say. K01, K07, K08, K90
// (text).
#include "trireme/detail/schedules/loop_schedule.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tri::schedules {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using enum schedule_kind;

schedule of(schedule_kind kind) {
  schedule result;
  result.kind = kind;
  return result;
}

void expect_refused(std::string_view text, std::initializer_list<const char*> said) {
  for (const char* part : said) {
    EXPECT_THAT([&] { parse_schedule(text); }, ThrowsMessage<std::invalid_argument>(HasSubstr(part))) << text;
  }
}

TEST(schedule_text, every_own_name_is_read_and_printed) {  // K01
  const std::pair<const char*, schedule_kind> own[] = {
      {"automatic", automatic},     {"static", static_blocks},
      {"dynamic", dynamic},         {"guided", guided},
      {"trapezoid", trapezoid},     {"factoring", factoring},
      {"hybrid,0.5", hybrid},       {"tasklets,0.5", tasklets},
      {"weighted", weighted},       {"weighted-tasklets,0.5", weighted_tasklets},
      {"staggered,0.5", staggered}, {"static-hybrid", static_hybrid},
      {"slack", slack_conscious},   {"combined", combined}};
  for (const auto& [text, kind] : own) {
    EXPECT_EQ(parse_schedule(text), of(kind)) << text;
    EXPECT_EQ(to_text(of(kind)), text);
  }
}

TEST(schedule_text, parameters_by_place_and_by_name) {  // K07
  EXPECT_EQ(parse_schedule("static,16").chunk, 16u);
  EXPECT_EQ(parse_schedule("dynamic,4").chunk, 4u);
  EXPECT_EQ(parse_schedule("hybrid,0.8").static_fraction, 0.8);
  EXPECT_EQ(parse_schedule("hybrid,0.8,8"), parse_schedule("hybrid,chunk=8,static=0.8"));
  EXPECT_EQ(parse_schedule(" Tri:HYBRID , static = 0.8 , chunk = 8 "), parse_schedule("hybrid,0.8,8"));
  const schedule tasks = parse_schedule("tasklets,static=0.25,count=64,sizes=skewed,tags=off,queues=2");
  EXPECT_EQ(tasks.static_fraction, 0.25);
  EXPECT_EQ(tasks.tasklets, 64u);
  EXPECT_TRUE(tasks.skewed);
  EXPECT_FALSE(tasks.tags);
  EXPECT_EQ(tasks.queues, 2u);
  const schedule bands = parse_schedule("staggered,0.5,chunk=8,keep=0.25,ends=clip,weights=on");
  EXPECT_EQ(bands.chunk, 8u);
  EXPECT_EQ(bands.keep, 0.25);
  EXPECT_FALSE(bands.wrap);
  EXPECT_TRUE(bands.weights);
  EXPECT_TRUE(parse_schedule("slack,rule=sharp").sharp);
  EXPECT_EQ(parse_schedule("static-hybrid,delay=larger").delay, delay_source::larger);
}

TEST(schedule_text, half_is_hybrid_with_a_half) {  // K08
  EXPECT_EQ(parse_schedule("half"), parse_schedule("hybrid,0.5"));
}

TEST(schedule_text, names_of_the_dissertation) {
  EXPECT_EQ(parse_schedule("sd,0.7"), parse_schedule("hybrid,0.7"));
  EXPECT_EQ(parse_schedule("hybSched"), parse_schedule("hybrid"));
  for (const char* name : {"besf", "tunedSched", "expTunedSched"}) {
    EXPECT_EQ(parse_schedule(name), parse_schedule("hybrid,search=on")) << name;
  }
  EXPECT_EQ(parse_schedule("hybrid+locality"), parse_schedule("tasklets,tags=on"));
  EXPECT_EQ(parse_schedule("skewed"), parse_schedule("tasklets,sizes=skewed"));
  EXPECT_EQ(parse_schedule("micro"), parse_schedule("tasklets"));
  EXPECT_EQ(parse_schedule("wSched"), parse_schedule("weighted"));
  EXPECT_EQ(parse_schedule("weighted-micro"), parse_schedule("weighted-tasklets"));
  EXPECT_EQ(parse_schedule("uWldb"), parse_schedule("weighted-tasklets"));
  for (const char* name : {"sds", "stag", "stagSched", "vSched", "CDY"}) {
    EXPECT_EQ(parse_schedule(name), parse_schedule("staggered")) << name;
  }
  EXPECT_EQ(parse_schedule("noiseModelSched"), parse_schedule("static-hybrid"));
  EXPECT_EQ(parse_schedule("appModelSched"), parse_schedule("static-hybrid,delay=application"));
  EXPECT_EQ(parse_schedule("modelSched"), parse_schedule("static-hybrid,delay=sum"));
  EXPECT_EQ(parse_schedule("uSched"), parse_schedule("static-hybrid,search=on"));
  for (const char* name : {"sSch", "slackSched"}) EXPECT_EQ(parse_schedule(name), parse_schedule("slack")) << name;
  for (const char* name : {"combo", "comboSched", "comboStrat"}) {
    EXPECT_EQ(parse_schedule(name), parse_schedule("combined")) << name;
  }
}

TEST(schedule_text, features_are_joined) {  // K90
  EXPECT_EQ(parse_schedule("slack+staggered,sizes=skewed"), parse_schedule("combined,sizes=skewed"));
  EXPECT_EQ(parse_schedule("uSched+slack"), parse_schedule("slack,search=on"));
  EXPECT_EQ(parse_schedule("weighted+tasklets"), parse_schedule("weighted-tasklets"));
  EXPECT_EQ(parse_schedule("weighted + staggered, 0.7"), parse_schedule("staggered,0.7,weights=on"));
  EXPECT_EQ(parse_schedule("hybrid+skewed+weighted"), parse_schedule("hybrid,sizes=skewed,weights=on"));
  EXPECT_EQ(parse_schedule("hybrid+tags"), parse_schedule("tasklets"));
  EXPECT_EQ(parse_schedule("modelSched+slack+weighted"), parse_schedule("slack,delay=sum,weights=on"));
}

TEST(schedule_text, joined_features_that_do_not_fit_are_refused_with_the_reason) {  // K90
  expect_refused("tasklets+staggered", {"exclude each other", "in a queue of its own"});
  expect_refused("slack+tasklets", {"exclude each other", "changes the fraction from one execution to the next"});
  expect_refused("dynamic+slack", {"'dynamic' is a complete schedule", "features are hybrid"});
  expect_refused("static-hybrid+staggered", {"'combined' is that"});
  expect_refused("weighted+search", {"no fraction to search for"});
  expect_refused("tasklets,queues=2", {"tags and queues=2 exclude each other", "say tags=off or queues=1"});
  expect_refused("hybrid,chunk=4,sizes=skewed", {"chunk=4 and sizes=skewed exclude each other"});
  expect_refused("hybrid,count=64", {"count=64 needs sizes=skewed"});
}

TEST(schedule_text, messages_name_value_and_remedy) {  // K07, K90
  expect_refused("hybird,0.8",
                 {"loop schedule 'hybird,0.8'", "'hybird' is not a known name", "the nearest is 'hybrid'"});
  expect_refused("", {"a name is missing", "'automatic' is the default"});
  expect_refused("hybrid,1.5", {"static is '1.5'; it must be a number between 0 and 1"});
  expect_refused("hybrid,-0.1", {"static is '-0.1'"});
  expect_refused("hybrid,nan", {"static is 'nan'"});
  expect_refused("hybrid,0.5x", {"static is '0.5x'"});
  expect_refused("dynamic,0", {"chunk is '0'; it must be a whole number of iterations, at least 1"});
  expect_refused("dynamic,-4", {"chunk is '-4'"});
  expect_refused("dynamic,99999999999999999999", {"chunk is '99999999999999999999'"});
  expect_refused("dynamic,4,5", {"'5' has no meaning here: 'dynamic' takes one without a key"});
  expect_refused("weighted,0.5", {"'weighted' takes no value without a key"});
  expect_refused("dynamic,", {"a value is missing"});
  expect_refused("staggered,kep=0.5", {"no parameter 'kep'", "the nearest is 'keep'"});
  expect_refused("automatic,chunk=3", {"'automatic' has no parameter 'chunk'; it has none"});
  expect_refused("tasklets,tags=maybe", {"tags is 'maybe'; it must be one of on, off"});
  expect_refused("staggered,ends=clop", {"one of wrap, clip; the nearest is 'clip'"});
  expect_refused("tasklets,count=0", {"count is '0'", "1 to 1048576"});
  expect_refused("hybrid,0.5,static=0.6", {"static is given twice"});
}

TEST(schedule_text, what_is_printed_reads_back) {
  std::vector<schedule> all;
  for (int kind = 0; kind <= static_cast<int>(combined); ++kind) {
    schedule plain = of(static_cast<schedule_kind>(kind));
    all.push_back(plain);
    for (const char* extra :
         {",chunk=7", ",static=0.123456789", ",count=96,sizes=skewed", ",keep=1", ",ends=clip", ",tags=off,queues=3",
          ",rule=sharp", ",weights=on,search=on", ",delay=application", ",sizes=skewed"}) {
      try {
        all.push_back(parse_schedule(to_text(plain) + extra));
      } catch (const std::invalid_argument&) {
        continue;  // not a parameter of this kind
      }
    }
  }
  EXPECT_GT(all.size(), 50u);
  for (const schedule& which : all) EXPECT_EQ(parse_schedule(to_text(which)), which) << to_text(which);
}

TEST(schedule_check, built_by_hand_it_is_checked_as_well) {
  const auto refused = [](auto change, const char* said) {
    schedule which = of(hybrid);
    change(which);
    EXPECT_THAT([&] { check_schedule(which); }, ThrowsMessage<std::invalid_argument>(HasSubstr(said)));
  };
  refused([](schedule& s) { s.static_fraction = 1.01; }, "static is 1.01");
  refused([](schedule& s) { s.static_fraction = 0.0 / 0.0; }, "static is");
  refused([](schedule& s) { s.keep = -1; }, "keep is -1");
  refused([](schedule& s) { s.keep = 0.5; }, "'hybrid' has no parameter 'keep'");
  refused([](schedule& s) { s.tasklets = 0; }, "count is 0");
  refused([](schedule& s) { s.queues = 0; }, "queues is 0");
  refused([](schedule& s) { s.kind = static_cast<schedule_kind>(77); }, "kind 77");
  schedule which = of(weighted);
  which.weights = true;
  EXPECT_NO_THROW(check_schedule(which)) << "implied, so it may be said";
}

TEST(schedule_features, a_composition_lists_them) {  // K88 (the list), K91 (the list)
  EXPECT_THAT(features_of(parse_schedule("combined,rule=sharp,sizes=skewed,keep=0.1")),
              ElementsAre("static part", "staggered dynamic part", "neighbour stealing", "kept share",
                          "variable task sizes", "model", "slack, sharp rule"));
  EXPECT_THAT(features_of(parse_schedule("tasklets")),
              ElementsAre("static part", "shared dynamic part", "tasklets", "locality tags"));
  EXPECT_THAT(features_of(parse_schedule("weighted")), ElementsAre("static part", "weights"));
  EXPECT_THAT(features_of(parse_schedule("uSched+slack")), AllOf(Contains("search"), Contains("slack")));
  EXPECT_THAT(features_of(parse_schedule("dynamic")), ElementsAre("shared dynamic part"));
  EXPECT_THAT(features_of(parse_schedule("static")), Not(Contains("shared dynamic part")));
}

}  // namespace
}  // namespace tri::schedules
