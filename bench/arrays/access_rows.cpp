// Single elements, random accesses and sections of what another PE has.
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays/peers.hpp"
#include "arrays/rows.hpp"
#include "arrays/two_pes.hpp"
#include "framework/statistics.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

constexpr int in_flight = 512;

const arrays_of_pe& here() { return arrays_of_two_pes().local(); }

class random_words {  // of PE 1
 public:
  std::int64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return table_words + static_cast<std::int64_t>(state_ % table_words);
  }

 private:
  std::uint64_t state_ = 88172645463325252U;
};

using operation = void (*)(const arrays_of_pe&, std::uint64_t count);

void gets(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) keep(in.table(near_word(i)));
}
void puts(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) in.table(near_word(i)) = near_word(i + 1);
  tri::fence().get();
}
void additions(const arrays_of_pe& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) keep(in.table(near_word(i)).fetch_add(0));
}
void dependent_gets(const arrays_of_pe& in, std::uint64_t count) {
  static std::uint64_t at = table_words;  // goes on where the last batch ended
  for (std::uint64_t i = 0; i < count; ++i) at = in.walk(at);
}
void random_gets(const arrays_of_pe& in, std::uint64_t count) {
  random_words random;
  const bool is_near = in.table.local(tri::position<1>(table_words)) != nullptr;
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
  std::uint64_t* const first = in.table.local(tri::position<1>(table_words));
  for (std::uint64_t i = 0; i < count; ++i) first[random.next() - table_words] ^= i;
}

constexpr std::int64_t words_of_mebibyte = (std::int64_t{1} << 20) / 8;
void large_gets(const arrays_of_pe& in, std::uint64_t count) {
  static auto* const to = page_aligned<std::uint64_t>(std::size_t{1} << 20);
  for (std::uint64_t i = 0; i < count; ++i) in.table.get({{table_words}, {table_words + words_of_mebibyte}}, to).get();
}
void large_puts(const arrays_of_pe& in, std::uint64_t count) {
  static const auto* const from = page_aligned<std::uint64_t>(std::size_t{1} << 20);
  for (std::uint64_t i = 0; i < count; ++i)
    in.table.put({{table_words}, {table_words + words_of_mebibyte}}, from).get();
}
void blocks(const arrays_of_pe& in, std::uint64_t count) {
  static auto* const to = page_aligned<double>(256 * 256 * sizeof(double));
  for (std::uint64_t i = 0; i < count; ++i)
    in.matrix.get({{512, matrix_rows + 512}, {768, matrix_rows + 768}}, to).get();
}
void columns(const arrays_of_pe& in, std::uint64_t count) {
  static auto* const to = page_aligned<double>(matrix_rows * sizeof(double));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto column = matrix_rows + static_cast<std::int64_t>(i % 1024);
    in.matrix.get({{0, column}, {matrix_rows, column + 1}}, to).get();
  }
}

template <operation Run>
measurement run(context& tools) {
  const arrays_of_pe& in = here();
  return {.samples = tools.runner().time([&](std::uint64_t count) { Run(in, count); })};
}

// Messages that ask PE 1 and that it answers, with a word and with as many values as a block has.
void take_word(std::uint64_t value, tri::promise<void> done) {
  keep(value);
  done.set();
}
void answer_with_word(std::uint64_t value, tri::promise<void> done) { tri::send<&take_word>(0, value, done); }
void take_values(const tri::buffer<double>& values, tri::promise<void> done) {
  keep(values.size());
  done.set();
}
void answer_with_values(std::uint64_t, tri::promise<void> done) {
  tri::send<&take_values>(0, tri::buffer<double>(256 * 256), done);
}

// Between hosts: beside such messages, in the same batches.
template <operation Run, auto Answer>
measurement beside_messages(context& tools) {
  const arrays_of_pe& in = here();
  std::vector<double> messages_ns;
  comparison beside{.name = "a message there and its answer", .ratios = {}};
  measurement made;
  made.samples = tools.runner().collect([&](std::uint64_t count) {
    const std::int64_t start_ns = os::now_ns();
    for (std::uint64_t i = 0; i < count; ++i) {
      tri::future<void> answer;
      tri::send<Answer>(1, i, answer.get_promise());
      answer.get();
    }
    const std::int64_t between_ns = os::now_ns();
    Run(in, count);
    const auto own_ns = static_cast<double>(os::now_ns() - between_ns);
    const auto message_ns = static_cast<double>(between_ns - start_ns);
    messages_ns.push_back(message_ns / static_cast<double>(count));
    beside.ratios.push_back(own_ns / message_ns);
    return batch_result{.elapsed_ns = own_ns};
  });
  const double message_us = summarize(messages_ns).median / 1e3;
  const double added_us = summarize(made.samples.operation_ns).median / 1e3 - message_us;
  made.peers[beside.name] = message_us;
  made.note = fmt::format("{:+.2f} us to a message there and its answer", added_us);
  made.reference = std::move(beside);
  return made;
}

struct access {
  const char* name;
  const char* unit;
  const char* group;  // of the peers
  const char* description;
  std::function<measurement(context&)> measure;
  std::optional<double> on_one_host = {};  // targets
  std::optional<double> between_hosts = {};
  const char* series = name;  // of the peers
  // Between hosts, where messages are measured in the same batches; with the target for the ratio to them.
  std::function<measurement(context&)> measure_beside_messages = {};
  std::optional<double> to_messages = {};
};

std::vector<access> accesses() {
  return {
      {"get8",
       "us",
       "singles",
       "one element of another PE is read",
       run<gets>,
       0.05,
       {},
       "get8",
       beside_messages<gets, &answer_with_word>},
      {"put8", "us", "singles", "one is written; a fence behind many", run<puts>, 0.05},
      {"fetch_add", "us", "singles", "one is added to, with its value before", run<additions>, 0.05},
      {"random_dependent", "us", "random", "each element read, of 64 MiB, names the next", run<dependent_gets>},
      {"random_get", "M/s", "random", "elements of 64 MiB, many under way", run<random_gets>, 20, 2},
      {"random_put", "M/s", "random", "elements of 64 MiB are written; a fence", run<random_puts>},
      {"xor", "M/s", "random", "elements of 64 MiB are changed, atomically; a fence", run<updates>},
      {"xor_pointer", "M/s", "random", "the same through a plain pointer", run<updates_by_pointer>, 60, {}, "xor"},
      {"get_1MiB", "us", "sections", "1 MiB is read", run<large_gets>},
      {"put_1MiB", "us", "sections", "1 MiB is written", run<large_puts>},
      {"tile256",
       "us",
       "sections",
       "256 x 256 doubles of a larger tile are read",
       run<blocks>,
       35,
       {},
       "tile256",
       beside_messages<blocks, &answer_with_values>,
       1 / 0.9},
      {"column2048", "us", "sections", "a column of 2,048 doubles is read", run<columns>, 15, 40},
  };
}

}  // namespace

std::vector<row_definition> array_access_rows() {
  const auto peers = std::make_shared<array_peers>();
  std::vector<row_definition> rows;
  for (const array_place& place : array_places()) {
    for (const access& each : accesses()) {
      if (each.name == std::string("xor_pointer") && !is_one_host(place)) continue;
      const bool has_messages = each.measure_beside_messages && !is_one_host(place);
      const bool is_rate = each.unit == std::string("M/s");
      rows.push_back({.name = fmt::format("arrays/{}/{}", place.name, each.name),
                      .unit = each.unit,
                      .direction = is_rate ? better::higher : better::lower,
                      .target = is_one_host(place) ? each.on_one_host : each.between_hosts,
                      .target_ratio = has_messages ? each.to_messages : std::nullopt,
                      .handoffs = 0,
                      .description = each.description,
                      .measure = has_messages ? each.measure_beside_messages : each.measure,
                      .launch = place.how,
                      .peers = peers_at(peers, place.peers, each.group, each.series, each.unit)});
    }
  }
  return rows;
}

}  // namespace tri::bench
