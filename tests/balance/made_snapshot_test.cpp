#include "balance/made_snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "balance/snapshot_text.hpp"
#include "trireme/detail/balance/loads.hpp"

namespace tri::balancing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(made_snapshot, follows_from_the_wish_alone) {
  const std::string wish = "random,objects=500,pes=12,hosts=3,numa=2,immovable=0.2,speeds=0.3,background=0.5,seed=4";
  const snapshot made = make_snapshot(wish_from(wish));
  check(made);
  EXPECT_EQ(made.objects.size(), 500u);
  EXPECT_EQ(made.pes.size(), 12u);
  EXPECT_EQ(made.pes.back().host, 2);
  EXPECT_EQ(made.pes.back().numa_node, 1);
  EXPECT_EQ(to_text(make_snapshot(wish_from(wish))), to_text(made));
  EXPECT_NE(to_text(make_snapshot(wish_from(wish + "1"))), to_text(made)) << "another seed";
}

TEST(made_snapshot, patches_and_droplets_are_uneven) {
  for (const char* kind : {"patches", "droplet"}) {
    const snapshot made = make_snapshot(wish_from(std::string(kind) + ",objects=1000,pes=4"));
    check(made);
    const quality now = quality_of(made, {});
    EXPECT_GT(now.longest_ns, 1.3 * now.level_ns) << kind;
  }
}

TEST(made_snapshot, none_of_its_sizes_fails) {
  for (const char* wish :
       {"random,objects=0,pes=1", "random,objects=1,pes=7,hosts=7", "droplet,objects=2,pes=3,hosts=2,numa=9"})
    check(make_snapshot(wish_from(wish)));
}

TEST(made_snapshot, wrong_wishes_are_explained) {
  const auto refusal = [](const char* wish, const char* why) {
    EXPECT_THAT([&] { wish_from(wish); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why))) << wish;
  };
  refusal("", "begins with its kind, random, patches or droplet; '' is none");
  refusal("patch", "did you mean 'patches'?");
  refusal("random,object=3", "has no 'object'; did you mean 'objects'?");
  refusal("random,pes=0", "'pes=0': pes must be a whole number from 1 to 1048576");
  refusal("random,pes=2.5", "whole number");
  refusal("random,pes", "'pes': pes must be");
  refusal("random,immovable=1.5", "must be a number from 0 to 1");
  refusal("random,pes=2,hosts=3", "hosts is 3 and pes 2; each host needs a PE");
}

}  // namespace
}  // namespace tri::balancing
