#include "arrays/rows.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/pes.hpp"
#include "trireme/arrays.hpp"
#include "trireme/group.hpp"

namespace tri::bench {
namespace {

constexpr std::int64_t words = std::int64_t{8} << 20;  // of each PE: 64 MiB, more than any cache
constexpr std::int64_t rows_of_matrix = 2048;          // of doubles; the second half of the columns is of PE 1
constexpr int in_flight = 512;

/// The arrays, on each of two PEs.
struct arrays_of_pe : tri::group_member<arrays_of_pe> {
  tri::global_array<std::uint64_t, 1> table;
  tri::global_array<std::uint64_t, 1> walk;  // each word names the next of PE 1
  tri::global_array<double, 2> matrix;
  int make() {
    table = tri::global_array<std::uint64_t, 1>(tri::position<1>(2 * words), tri::tiles(words));
    walk = tri::global_array<std::uint64_t, 1>(tri::position<1>(2 * words), tri::tiles(words));
    matrix = tri::global_array<double, 2>({rows_of_matrix, 2 * rows_of_matrix}, tri::grid(1, 2));
    tri::for_each_own(walk, [](const tri::position<1>& at, std::uint64_t& word) {
      // A linear congruential sequence of full period (Hull and Dobell 1962), whose steps no prefetcher follows.
      const auto next = (static_cast<std::uint64_t>(at[0]) * 2'862'933'555'777'941'757U + 3'037'000'493U) % words;
      word = static_cast<std::uint64_t>(words) + next;
    });
    return 1;
  }
};

/// Made once in each program of rows.
const arrays_of_pe& here() {
  static std::optional<tri::group<arrays_of_pe>> made;
  if (!made) {
    made = tri::make_group<arrays_of_pe>();
    if (made->reduce<&arrays_of_pe::make>(tri::sum).get() != 2) throw std::logic_error("arrays: two PEs are needed");
  }
  return made->local();
}

class random_words {  // of PE 1
 public:
  std::int64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return words + static_cast<std::int64_t>(state_ % words);
  }

 private:
  std::uint64_t state_ = 88172645463325252U;
};

using operation = void (*)(const arrays_of_pe&, std::uint64_t count);

void keep(std::uint64_t value) { asm volatile("" : : "r"(value)); }
// A word that lies in the cache, as in a loop over few elements.
std::int64_t near(std::uint64_t i) { return words + static_cast<std::int64_t>(i % 512 * 8); }

void gets(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) keep(in.table(near(i)));
}
void puts(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) in.table(near(i)) = near(i + 1);
  tri::fence().get();
}
void additions(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) keep(in.table(near(i)).fetch_add(0));
}
void dependent_gets(const arrays_of_pe& in, std::uint64_t count) {
  static std::uint64_t at = words;  // goes on where the last batch ended
  for (std::uint64_t i = 0; i < count; ++i) at = in.walk(at);
}
void random_gets(const arrays_of_pe& in, std::uint64_t count) {
  random_words random;
  const bool is_near = in.table.local(tri::position<1>(words)) != nullptr;
  std::vector<tri::future<std::uint64_t>> waiting;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (is_near) {
      keep(in.table(random.next()));
      continue;
    }
    waiting.push_back(in.table.get(random.next()));
    if (waiting.size() < in_flight && i + 1 < count) continue;
    for (auto& each : waiting) keep(each.get());
    waiting.clear();
  }
}
void random_puts(const arrays_of_pe& in, std::uint64_t count) {
  random_words random;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t at = random.next();
    in.table(at) = static_cast<std::uint64_t>(at);
  }
  tri::fence().get();
}
void updates(const arrays_of_pe& in, std::uint64_t count) {
  random_words random;
  for (std::uint64_t i = 0; i < count; ++i) in.table(random.next()) ^= i;
  tri::fence().get();
}
void updates_by_pointer(const arrays_of_pe& in, std::uint64_t count) {
  random_words random;
  std::uint64_t* const first = in.table.local(tri::position<1>(words));
  for (std::uint64_t i = 0; i < count; ++i) first[random.next() - words] ^= i;
}

constexpr std::int64_t words_of_mebibyte = (std::int64_t{1} << 20) / 8;
void large_gets(const arrays_of_pe& in, std::uint64_t count) {
  static std::vector<std::uint64_t> to(words_of_mebibyte);
  for (std::uint64_t i = 0; i < count; ++i) in.table.get({{words}, {words + words_of_mebibyte}}, to.data()).get();
}
void large_puts(const arrays_of_pe& in, std::uint64_t count) {
  static const std::vector<std::uint64_t> from(words_of_mebibyte, words);
  for (std::uint64_t i = 0; i < count; ++i) in.table.put({{words}, {words + words_of_mebibyte}}, from.data()).get();
}
void blocks(const arrays_of_pe& in, std::uint64_t count) {
  static std::vector<double> to(256 * 256);
  for (std::uint64_t i = 0; i < count; ++i)
    in.matrix.get({{512, rows_of_matrix + 512}, {768, rows_of_matrix + 768}}, to.data()).get();
}
void columns(const arrays_of_pe& in, std::uint64_t count) {
  static std::vector<double> to(rows_of_matrix);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto column = rows_of_matrix + static_cast<std::int64_t>(i % 1024);
    in.matrix.get({{0, column}, {rows_of_matrix, column + 1}}, to.data()).get();
  }
}

template <operation Run>
measurement run(context& tools) {
  const arrays_of_pe& in = here();
  return {.samples = tools.runner().time([&](std::uint64_t count) { Run(in, count); })};
}

struct shape {
  const char* name;
  launch how;
};

template <operation Run>
void add(std::vector<row_definition>& rows, const shape& where, const std::string& name, const std::string& unit,
         const std::string& description, std::optional<double> target) {
  const bool is_rate = unit == "M/s";
  rows.push_back({.name = std::string("arrays/") + where.name + "/" + name,
                  .unit = unit,
                  .direction = is_rate ? better::higher : better::lower,
                  .target = target,
                  .handoffs = 0,
                  .description = description,
                  .measure = run<Run>,
                  .launch = where.how});
}

}  // namespace

std::vector<row_definition> array_rows() {
  std::vector<row_definition> rows;
  const shape shapes[] = {{"same_host", two_processes},
                          {"hosts", {.processes = 2, .pes = 1, .options = {"--tri-hosts=2", "--tri-wire=tcp"}}},
                          {"hosts_ucx", {.processes = 2, .pes = 1, .options = {"--tri-hosts=2", "--tri-wire=ucx"}}}};
  for (const shape& where : shapes) {
    const bool is_near = where.name == std::string("same_host");
    const auto target = [&](double near, std::optional<double> far) { return is_near ? std::optional(near) : far; };
    add<gets>(rows, where, "get8", "us", "one element of another PE is read", target(0.05, {}));
    add<puts>(rows, where, "put8", "us", "one is written; a fence behind many", target(0.05, {}));
    add<additions>(rows, where, "fetch_add", "us", "one is added to, with its value before", target(0.05, {}));
    add<dependent_gets>(rows, where, "random_dependent", "us", "each element read, of 64 MiB, names the next", {});
    add<random_gets>(rows, where, "random_get", "M/s", "elements of 64 MiB, many under way", target(20, 2));
    add<random_puts>(rows, where, "random_put", "M/s", "elements of 64 MiB are written; a fence", {});
    add<updates>(rows, where, "xor", "M/s", "elements of 64 MiB are changed, atomically; a fence", {});
    if (is_near) add<updates_by_pointer>(rows, where, "xor_pointer", "M/s", "the same through a plain pointer", 60.0);
    add<large_gets>(rows, where, "get_1MiB", "us", "1 MiB is read", {});
    add<large_puts>(rows, where, "put_1MiB", "us", "1 MiB is written", {});
    add<blocks>(rows, where, "tile256", "us", "256 x 256 doubles of a larger tile are read", target(35, {}));
    add<columns>(rows, where, "column2048", "us", "a column of 2,048 doubles is read", target(15, 40));
  }
  return rows;
}

}  // namespace tri::bench
