// Archives of arguments: what is written comes back, and a reader believes no size that the rest cannot hold.
#include "trireme/detail/objects/serialization.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "support/run_on_pes.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/objects.hpp"

namespace tri::objects {
namespace {

struct plain_point {
  double x = 0;
  int y = 0;
  friend bool operator==(const plain_point&, const plain_point&) = default;
};
struct silent {  // takes no byte
  template <class Archive>
  void serialize(Archive&) {}
  friend bool operator==(const silent&, const silent&) = default;
};
struct named {
  std::string name;
  std::vector<silent> marks;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, marks);
  }
  friend bool operator==(const named&, const named&) = default;
};

template <class T>
std::string written(const T& value) {
  output_archive archive;
  archive(value);
  const output_archive::contents made = archive.take();
  const std::string bytes(static_cast<const char*>(made.block), made.bytes);
  arena::release(made.block);
  return bytes;
}
template <class T>
T read(const std::string& bytes) {
  input_archive archive(bytes.data(), bytes.size());
  T value;
  archive(value);
  return value;
}

// Of the value, only what the compiler has to make again for each type: this file has many.
void expect_back(const std::string& bytes, os::function_ref<bool(const std::string&)> comes_back) {
  EXPECT_TRUE(comes_back(bytes));
  // Cut off anywhere it is refused, or (in zeros that nobody reads) the same.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    try {
      EXPECT_TRUE(comes_back(bytes.substr(0, size))) << size;
    } catch (const archive_error&) {
    }
  }
}
template <class T>
void expect_back(const T& value) {
  expect_back(written(value), [&](const std::string& bytes) { return read<T>(bytes) == value; });
}

std::string refusal_of(const std::string& bytes, os::function_ref<void(const std::string&)> reads) {
  try {
    reads(bytes);
  } catch (const archive_error& refused) {
    return refused.what();
  }
  return "nothing was refused";
}
template <class T>
void expect_refused(const std::string& bytes, const std::string& text) {
  EXPECT_EQ(refusal_of(bytes, [](const std::string& all) { read<T>(all); }), text);
}

std::string number(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// In a job, which has an arena.
void run(void (*body)()) { ASSERT_EQ(testing::run_on_pes(1, body), 0); }

TEST(archive, what_is_written_comes_back) {
  run([] {
    expect_back(std::vector<int>{1, 2, 3});
    expect_back(std::vector<bool>{true, false, true});
    expect_back(std::vector<plain_point>{{1.5, 2}, {3.5, 4}});
    expect_back(std::vector<std::string>{"one", "", "three"});
    expect_back(std::map<std::string, std::vector<double>>{{"a", {1, 2}}, {"b", {}}});
    expect_back(std::unordered_map<int, std::string>{{1, "x"}, {2, "y"}});
    expect_back(std::unordered_set<int>{1, 2});
    expect_back(std::set<std::string>{"p", "q"});
    expect_back(std::deque<std::list<int>>{{1}, {}, {2, 3}});
    expect_back(std::tuple<std::optional<int>, std::variant<int, std::string>, std::array<short, 3>>{
        7, std::string("v"), {1, 2, 3}});
    expect_back(named{"somebody", {}});
    expect_back(std::vector<int>{});
    const std::string nothing = written(std::tuple<>{});
    EXPECT_LE(nothing.size(), 1u);
  });
}

// Each way in which a class may say how it is written.
struct by_free_serialize {
  std::string text;
  friend bool operator==(const by_free_serialize&, const by_free_serialize&) = default;
};
template <class Archive>
void serialize(Archive& archive, by_free_serialize& value) {
  archive& value.text;
}
struct by_member_pair {
  std::string text;
  template <class Archive>
  void save(Archive& archive) const {
    static_assert(Archive::is_saving::value && !Archive::is_loading::value);
    archive << text;
  }
  template <class Archive>
  void load(Archive& archive) {
    static_assert(Archive::is_loading::value && !Archive::is_saving::value);
    archive >> text;
  }
  friend bool operator==(const by_member_pair&, const by_member_pair&) = default;
};
struct by_free_pair {
  std::map<int, std::string> texts;
  friend bool operator==(const by_free_pair&, const by_free_pair&) = default;
};
template <class Archive>
void save(Archive& archive, const by_free_pair& value) {
  archive(value.texts);
}
template <class Archive>
void load(Archive& archive, by_free_pair& value) {
  archive(value.texts);
}
// Its bytes would do, but it says otherwise.
struct plain_but_says {
  int kept = 0;
  int left_out = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(kept);
  }
};

TEST(archive, classes_say_how_they_are_written) {
  run([] {
    expect_back(by_free_serialize{"free"});
    expect_back(by_member_pair{"members"});
    expect_back(by_free_pair{{{1, "one"}, {2, "two"}}});
    expect_back(std::vector<by_member_pair>{{"a"}, {"b"}});
    expect_back(std::map<std::string, by_free_pair>{{"k", {{{3, "three"}}}}});
    const auto back = read<std::vector<plain_but_says>>(written(std::vector<plain_but_says>{{1, 2}, {3, 4}}));
    EXPECT_EQ(back[1].kept, 3);
    EXPECT_EQ(back[1].left_out, 0);
  });
}

enum class colour : std::uint8_t { red, green };
struct node {
  int value = 0;
  std::shared_ptr<node> next;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, next);
  }
};

TEST(archive, other_types) {
  run([] {
    expect_back(colour::green);
    expect_back(std::pair<std::string, bool>{"p", true});
    expect_back(std::multimap<int, colour>{{1, colour::red}, {1, colour::green}});
    expect_back(std::optional<std::string>{});
    expect_back(std::optional<std::string>{"some"});
    expect_back(std::variant<std::monostate, std::vector<int>>{std::vector<int>{4, 5}});
    expect_back(std::complex<double>{1.5, -2});
    const auto owned = read<std::unique_ptr<std::string>>(written(std::make_unique<std::string>("owned")));
    EXPECT_EQ(*owned, "owned");
    EXPECT_EQ(read<std::unique_ptr<int>>(written(std::unique_ptr<int>())), nullptr);
    struct arrays {
      int numbers[3];
    };
    const auto numbers = read<arrays>(written(arrays{{1, 2, 3}}));
    EXPECT_EQ(numbers.numbers[2], 3);
  });
}

TEST(archive, what_pointers_share_is_shared_again) {
  run([] {
    const auto one = std::make_shared<std::string>("shared");
    const auto back = read<std::vector<std::shared_ptr<std::string>>>(written(std::vector{one, {}, one}));
    ASSERT_EQ(back.size(), 3u);
    EXPECT_EQ(*back[0], "shared");
    EXPECT_EQ(back[1], nullptr);
    EXPECT_EQ(back[0], back[2]);
    const auto ring = std::make_shared<node>(node{7, nullptr});
    ring->next = ring;
    const auto again = read<std::shared_ptr<node>>(written(ring));
    EXPECT_EQ(again->value, 7);
    EXPECT_EQ(again->next, again);
    ring->next.reset();
    again->next.reset();
  });
}

struct with_first {
  int first = 0;
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first, text);
  }
};
// Makes what it shares while it is written.
struct makes_shared {
  template <class Archive>
  void save(Archive& archive) const {
    for (int i = 0; i < 20; ++i) archive(std::make_shared<int>(i));
  }
  template <class Archive>
  void load(Archive& archive) {
    for (int i = 0; i < 20; ++i) {
      std::shared_ptr<int> back;
      archive(back);
      EXPECT_EQ(*back, i);
    }
  }
};

TEST(archive, shared_objects_are_known_by_address_and_type_for_as_long_as_the_archive) {
  run([] {
    const auto whole = std::make_shared<with_first>(with_first{7, "text"});
    const std::shared_ptr<int> part(whole, &whole->first);  // the same address
    const auto [back_part, back_whole] =
        read<std::tuple<std::shared_ptr<int>, std::shared_ptr<with_first>>>(written(std::tuple(part, whole)));
    EXPECT_EQ(*back_part, 7);
    EXPECT_EQ(back_whole->text, "text");
    read<makes_shared>(written(makes_shared{}));
    // Another process may say that they are one.
    const std::string one{1, 0, 0, 0};
    const std::string zero{0, 0, 0, 0};
    expect_refused<std::tuple<std::shared_ptr<int>, std::shared_ptr<float>>>(
        one + zero + zero + one + zero, "the shared object 0 is of another type than what refers to it");
  });
}

TEST(archive, a_chain_that_another_process_makes_too_long_is_refused) {
  run([] {
    node chain;
    for (int i = 0; i < 900; ++i) chain = node{i, std::make_shared<node>(std::move(chain))};
    EXPECT_EQ(read<node>(written(chain)).next->value, 898);
    std::string endless;  // a value, then that a pointer follows, to a new object, again and again
    for (std::uint32_t i = 0; i < 100'000; ++i) {
      endless.append(4, '\0').append(1, '\1').append(3, '\0');
      endless.append(reinterpret_cast<const char*>(&i), sizeof i);
    }
    expect_refused<node>(endless, "objects lie more than 1000 deep in each other");
  });
}

struct has_pair {
  std::string text;
  template <class Archive>
  void save(Archive& archive) const {
    archive(text);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(text);
  }
};
struct serializes_over_a_pair : has_pair {
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};
struct serializes_beside_another_save {
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  template <class Out>
  void save(Out&) const {}
  friend bool operator==(const serializes_beside_another_save&, const serializes_beside_another_save&) = default;
};
struct its_own_element {
  using value_type = its_own_element;
  std::size_t size() const { return 0; }
  its_own_element* begin() const { return nullptr; }
  its_own_element* end() const { return nullptr; }
  void clear() {}
  void push_back(its_own_element&&) {}
  std::string text;
};
enum class yes_or_no : bool { no, yes };

TEST(archive, what_may_not_have_every_value_is_checked) {
  run([] {
    expect_back(std::map<int, double>{{1, 1.5}, {2, 2.5}});
    expect_back(std::vector<std::optional<int>>{1, {}, 3});
    expect_back(std::variant<int, double>{2.5});
    expect_back(std::variant<int, std::string, int>{std::in_place_index<2>, 5});
    expect_back(std::array<bool, 3>{true, false, true});
    expect_back(std::array<std::string, 2000>{"first", "second"});  // a loop, not 2000 calls
    expect_back(std::vector<std::array<std::optional<int>, 3>>{{1, {}, 3}, {}});
    expect_back(yes_or_no::yes);
    expect_back(serializes_beside_another_save{"text"});
    const auto constant = read<std::unique_ptr<const int>>(written(std::make_unique<const int>(4)));
    EXPECT_EQ(*constant, 4);
    const std::string nine{9, 0, 0, 0};
    const std::string rest(12, '\0');
    expect_refused<std::variant<int, double>>(nine + rest, "the number of an alternative is 9, but there are only 2");
    expect_refused<std::optional<int>>(nine + rest, "the number of an alternative is 9, but there are only 2");
    EXPECT_EQ(read<yes_or_no>(std::string{2}), yes_or_no::yes);
    EXPECT_TRUE((read<std::array<bool, 2>>(std::string{2, 0})[0]));
  });
  static_assert(!is_serializable<serializes_over_a_pair>, "which of the two?");
  static_assert(!is_serializable<its_own_element>);
  static_assert(!is_serializable<std::optional<const int>>);
}

struct says_nothing {
  std::string text;
};
struct only_saves {
  std::string text;
  template <class Archive>
  void save(Archive& archive) const {
    archive(text);
  }
};
class undeletable {  // through a pointer to it
 public:
  virtual int value() const { return 0; }

 protected:
  ~undeletable() = default;
};
struct base_of_many {
  virtual ~base_of_many() = default;
  virtual int value() const { return 0; }
};
struct one_of_many : base_of_many {
  int own = 0;
  std::shared_ptr<base_of_many> next;
  one_of_many() = default;
  explicit one_of_many(int its_value) : own(its_value) {}
  int value() const override { return own; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(own, next);
  }
};
struct unknown_of_many : base_of_many {};
const tri::derived_class<base_of_many, one_of_many> one_is_of_many;

TEST(archive, objects_are_written_by_their_class) {
  run([] {
    std::unique_ptr<base_of_many> one = std::make_unique<one_of_many>(7);
    const std::string bytes = written(one);
    const auto back = read<std::unique_ptr<base_of_many>>(bytes);
    ASSERT_NE(dynamic_cast<one_of_many*>(back.get()), nullptr);
    EXPECT_EQ(back->value(), 7);
    EXPECT_EQ(read<std::unique_ptr<base_of_many>>(written(std::unique_ptr<base_of_many>())), nullptr);

    // One object, known by pointers to two classes, and a ring.
    const auto first = std::make_shared<one_of_many>(1), second = std::make_shared<one_of_many>(2);
    first->next = second;
    second->next = first;
    const auto ring = read<std::vector<std::shared_ptr<base_of_many>>>(
        written(std::vector<std::shared_ptr<base_of_many>>{first, second, nullptr, first}));
    first->next = nullptr;
    ASSERT_EQ(ring.size(), 4U);
    EXPECT_EQ(ring[0], ring[3]);
    EXPECT_EQ(ring[2], nullptr);
    EXPECT_EQ(dynamic_cast<one_of_many&>(*ring[0]).next, ring[1]);
    EXPECT_EQ(dynamic_cast<one_of_many&>(*ring[1]).next, ring[0]);
    dynamic_cast<one_of_many&>(*ring[0]).next = nullptr;
  });
}

TEST(archive, a_class_that_is_not_known_is_refused) {
  run([] {
    try {
      written(std::unique_ptr<base_of_many>(std::make_unique<unknown_of_many>()));
      FAIL() << "it was written";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("unknown_of_many cannot be sent by a pointer to"), std::string::npos)
          << error.what();
    }
    std::string bytes = written(std::unique_ptr<base_of_many>(std::make_unique<one_of_many>(7)));
    ++bytes[4];  // the name of the class follows whether there is an object
    EXPECT_THROW(read<std::unique_ptr<base_of_many>>(bytes), archive_error);
    EXPECT_THROW(read<std::shared_ptr<base_of_many>>(bytes), archive_error);
    for (std::size_t size = 0; size + 1 < bytes.size(); ++size)
      EXPECT_THROW(read<std::unique_ptr<base_of_many>>(bytes.substr(0, size)), archive_error);
  });
}

TEST(archive, what_has_no_way_is_known_before) {
  static_assert(is_serializable<std::map<std::string, std::vector<std::optional<named>>>>);
  static_assert(!is_serializable<says_nothing>);
  static_assert(!is_serializable<only_saves>);
  static_assert(!is_serializable<std::vector<says_nothing>>);
  static_assert(!is_serializable<std::tuple<int, std::map<int, says_nothing>>>);
  static_assert(!is_serializable<std::variant<int, says_nothing>>);
  static_assert(!is_serializable<int*>);
  static_assert(!is_serializable<std::vector<int*>>);
  static_assert(!is_serializable<std::unique_ptr<undeletable>>, "of which class?");
  static_assert(!is_serializable<std::unique_ptr<int[]>>, "how many?");
}

TEST(archive, elements_that_take_no_byte_come_back_in_any_number) {
  run([] {
    expect_back(std::vector<silent>(1000));
    expect_back(std::vector<std::vector<silent>>(3, std::vector<silent>(5)));
    expect_back(named{"somebody", std::vector<silent>(77)});
    expect_back(std::vector<named>(4, named{"", std::vector<silent>(9)}));
    EXPECT_EQ(written(std::vector<silent>(1000)).size(), 1008u);
    EXPECT_EQ(written(std::vector<int>(1000)).size(), 4008u) << "others are not made longer";
  });
}

// Without the check each of these asks for petabytes first.
TEST(archive, a_size_that_the_rest_cannot_hold_is_refused_before_anything_is_made) {
  const std::string many = number(std::uint64_t{1} << 50);
  const std::string rest(12, '\0');
  const std::string one_byte =
      "a size is 1125899906842624, but the archive has only 12 bytes left, at least 1 for each element";
  expect_refused<std::string>(many + rest, one_byte);
  expect_refused<std::vector<std::string>>(many + rest, one_byte);
  expect_refused<std::vector<bool>>(many + rest, one_byte);
  expect_refused<std::vector<int>>(many + rest, one_byte);
  expect_refused<std::vector<silent>>(many + rest, one_byte);
  expect_refused<std::deque<int>>(many + rest, one_byte);
  expect_refused<std::list<int>>(many + rest, one_byte);
  expect_refused<std::map<int, int>>(many + rest, one_byte);
  expect_refused<std::set<int>>(many + rest, one_byte);
  expect_refused<std::unordered_map<int, int>>(many + rest, one_byte);
  expect_refused<std::unordered_set<int>>(many + rest, one_byte);
  expect_refused<named>(many + rest, one_byte);
  expect_refused<std::vector<double>>(
      number(2) + rest, "a size is 2, but the archive has only 12 bytes left, at least 8 for each element");
  expect_refused<std::vector<plain_point>>(
      number(12) + rest, "a size is 12, but the archive has only 12 bytes left, at least 16 for each element");
  expect_refused<std::vector<int>>(number(~std::uint64_t{0}) + rest,
                                   "a size is 18446744073709551615, but the archive has only 12 bytes left, at least "
                                   "1 for each element");
  expect_refused<std::vector<int>>("abc", "8 bytes are to be read, but the archive has only 3 left");
  expect_refused<std::tuple<long, long>>(rest, "8 bytes are to be read, but the archive has only 4 left");
}

TEST(archive, an_alternative_that_is_none_is_refused) {
  const std::string seven{7, 0, 0, 0};
  const std::string rest(12, '\0');
  const auto text = [](int there) {
    return "the number of an alternative is 7, but there are only " + std::to_string(there);
  };
  expect_refused<std::variant<int, std::string, double>>(seven + rest, text(3));
  expect_refused<std::optional<std::string>>(seven + rest, text(2));
  expect_refused<std::unique_ptr<int>>(seven + rest, text(2));
  expect_refused<std::shared_ptr<int>>(seven + rest, text(2));
  const std::string one{1, 0, 0, 0};
  expect_refused<std::shared_ptr<int>>(one + seven + rest,
                                       "the number of a shared object is 7, but only 0 were before it");
  EXPECT_TRUE(read<bool>(std::string{2})) << "a byte that is no bool";
}

TEST(archive, a_buffer_takes_no_memory_for_a_wrong_size) {
  run([] {
    const std::string bytes = written(buffer<double>(3, 1.5));
    EXPECT_EQ(read<buffer<double>>(bytes)[2], 1.5);
    EXPECT_EQ(read<shared_buffer<double>>(bytes)[2], 1.5);
    const std::string wrong = number(4) + bytes.substr(8);
    const std::string text = "a size is 4, but the archive has only 24 bytes left, at least 8 for each element";
    expect_refused<buffer<double>>(wrong, text);
    expect_refused<shared_buffer<double>>(wrong, text);
  });
}

}  // namespace
}  // namespace tri::objects
