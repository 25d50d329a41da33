// The figures of a job as JSON, from one host to another: what is written is read.
#include "top/job_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tri::tools {
namespace {

using nlohmann::json;

// No field has the value that it begins with.
job_figures all_different() {
  job_figures made;
  made.facts = {.number = 4711,
                .kind = live::job_kind::mpi,
                .program = "waves",
                .processes = 3,
                .hosts = 2,
                .rows = 5,
                .age_s = 12.5};
  made.seconds = 0.75;
  made.rows.push_back({.number = 4,
                       .process = 2,
                       .is_idle = true,
                       .busy = 0.5,
                       .idle = 0.25,
                       .overhead = 0.125,
                       .sent = 10,
                       .received = 11,
                       .bytes = 12,
                       .steals = 13,
                       .migrations = 14,
                       .queue = 15,
                       .busy_since_start = 0.0625,
                       .totals = {{"sent", 100}, {"migrations", 101}}});
  made.processes.push_back({.process = 2,
                            .pid = 4713,
                            .host = 1,
                            .arena_bytes = 20,
                            .arena_limit_bytes = 21,
                            .resident_bytes = 22,
                            .cpus = 1.5,
                            .has_ended = true,
                            .is_lost = true});
  made.messages[{4, 1}] = 6.5;
  return made;
}

// Whatever is not read shows in the second text, unless it has no field there.
TEST(job_text, everything_that_is_written_is_read) {
  const json written = to_json(all_different());
  job_figures read;
  ASSERT_TRUE(add_json(written, read));
  EXPECT_EQ(to_json(read), written);
  EXPECT_EQ(read.facts.kind, live::job_kind::mpi);
  EXPECT_EQ(read.rows.front().totals.at("migrations"), 101u);
  EXPECT_EQ(read.ended_processes, 1);
}

TEST(job_text, fields_have_their_names) {
  const json written = to_json(all_different());
  EXPECT_EQ(written.at("job"), json::parse(R"({"number": 4711, "kind": "mpi", "program": "waves", "processes": 3,
    "processes_here": 0, "hosts": 2, "rows": 5, "age_s": 12.5})"));
  EXPECT_EQ(written.at("rows"), json::parse(R"([{"number": 4, "process": 2, "state": "idle", "busy": 0.5, "idle": 0.25,
    "overhead": 0.125, "busy_since_start": 0.0625, "sent_per_s": 10.0, "received_per_s": 11.0, "bytes_per_s": 12.0,
    "steals_per_s": 13.0, "migrations_per_s": 14.0, "queue": 15, "totals": {"sent": 100, "migrations": 101}}])"));
  EXPECT_EQ(written.at("process_figures"), json::parse(R"([{"process": 2, "pid": 4713, "host": 1, "resident_bytes": 22,
    "arena_bytes": 20, "arena_limit_bytes": 21, "cpus": 1.5, "has_ended": true, "is_lost": true}])"));
}

TEST(job_text, of_another_host_adds_to_the_first) {
  job_figures all;
  job_figures one = all_different();
  ASSERT_TRUE(add_json(to_json(one), all));
  one.facts.number = 1;
  one.facts.age_s = 1;
  ASSERT_TRUE(add_json(to_json(one), all));
  EXPECT_EQ(all.facts.number, 4711);
  EXPECT_EQ(all.facts.age_s, 12.5);
  EXPECT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.processes.size(), 2u);
  EXPECT_EQ((all.messages.at({4, 1})), 13.0);
}

TEST(job_text, something_else_changes_nothing) {
  job_figures read;
  for (const char* const place :
       {"/job/kind", "/rows/0/queue", "/rows/0/totals", "/process_figures/0/pid", "/messages"}) {
    json written = to_json(all_different());
    written.at(json::json_pointer(place)) = json::object({{"other", "words"}});
    EXPECT_FALSE(add_json(written, read)) << place;
  }
  for (const char* const place : {"/job", "/rows/0", "/process_figures/0"}) {
    const json whole = to_json(all_different());
    const json::json_pointer object(place);
    for (const auto& [name, field] : whole.at(object).items()) {
      json written = whole;
      written.at(object).erase(name);
      EXPECT_EQ(add_json(written, read), name == "processes_here") << place << "/" << name;
      read = {};
    }
  }
  EXPECT_FALSE(add_json(json::array(), read));
  EXPECT_TRUE(read.rows.empty());
  EXPECT_EQ(read.facts.number, 0);
}

TEST(job_text, kinds_have_names) {
  EXPECT_EQ(kind_named(""), std::nullopt);
  EXPECT_EQ(kind_named("mpi"), live::job_kind::mpi);
  EXPECT_EQ(kind_named("objects"), live::job_kind::objects);
  for (const live::job_kind kind : {live::job_kind::mpi, live::job_kind::objects})
    EXPECT_EQ(kind_named(name_of(kind)), kind);
}

}  // namespace
}  // namespace tri::tools
