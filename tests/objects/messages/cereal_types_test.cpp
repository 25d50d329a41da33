// Types that are written for the library cereal, with its wrappers, go through our archives as they are.
#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/run_on_pes.hpp"
#include "trireme/detail/objects/serialization.hpp"
#include "trireme/objects.hpp"

namespace tri::objects {
namespace {

struct base {
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(number));
  }
};
struct derived : base {
  std::vector<std::string> texts;
  double raw[2] = {0, 0};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<base>(this), cereal::make_nvp("texts", texts), cereal::binary_data(raw, sizeof raw));
  }
};
// Its own container, as cereal's documentation shows them.
struct numbers {
  std::vector<int> all;
  template <class Archive>
  void save(Archive& archive) const {
    archive(cereal::make_size_tag(static_cast<cereal::size_type>(all.size())));
    for (const int each : all) archive(each);
  }
  template <class Archive>
  void load(Archive& archive) {
    cereal::size_type size = 0;
    archive(cereal::make_size_tag(size));
    all.resize(static_cast<std::size_t>(size));
    for (int& each : all) archive(each);
  }
};

template <class T>
T there_and_back(const T& value) {
  output_archive archive;
  archive(value);
  const output_archive::contents made = archive.take();
  input_archive reader(made.block, made.bytes);
  T back;
  reader(back);
  EXPECT_EQ(reader.left(), 0u);
  arena::release(made.block);
  return back;
}

void check() {
  static_assert(is_serializable<derived> && is_serializable<numbers>);
  derived value;
  value.number = 7;
  value.texts = {"one", "two"};
  value.raw[1] = 2.5;
  const derived back = there_and_back(value);
  EXPECT_EQ(back.number, 7);
  EXPECT_EQ(back.texts, value.texts);
  EXPECT_EQ(back.raw[1], 2.5);
  EXPECT_EQ(there_and_back(numbers{{1, 2, 3}}).all, (std::vector<int>{1, 2, 3}));
}

TEST(cereal_types, go_through_our_archives) { ASSERT_EQ(testing::run_on_pes(1, &check), 0); }

}  // namespace
}  // namespace tri::objects
