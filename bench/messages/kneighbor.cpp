#include "messages/kneighbor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "config/suggestion.hpp"
#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

// With acknowledgements the message comes back with them and is used again; without, a new one is made each time.
struct neighbor : tri::array_element<neighbor, tri::index<1>> {
  neighbor(int k, std::uint64_t bytes, int acks) : k_(k), bytes_(bytes), acks_(acks != 0) {}

  void start(std::uint64_t iterations) {
    left_ = iterations;
    if (left_ == 0) return;
    send_all();
    advance();  // a neighbour notified earlier may have sent already
  }
  void data(std::uint32_t iteration, std::uint32_t from, tri::buffer<std::byte> message) {
    std::uint64_t sum = 0;
    for (const std::byte each : message) sum += std::to_integer<std::uint64_t>(each);
    checksum_ += sum;
    if (acks_) this_array()(static_cast<int>(from)).send<&neighbor::acknowledge>(iteration, std::move(message));
    arrived(iteration);
  }
  void acknowledge(std::uint32_t iteration, tri::buffer<std::byte> message) {
    unused_.push_back(std::move(message));
    arrived(iteration);
  }
  std::uint64_t checksum() { return checksum_; }

 private:
  void send_all() {
    const int elements = static_cast<int>(this_array().shape().extent[0]);
    const int own = this_index()[0];
    const auto from = static_cast<std::uint32_t>(own);
    for (int distance = 1; distance <= k_; ++distance) {
      for (const int to : {own + distance, own - distance}) {
        const int wrapped = ((to % elements) + elements) % elements;
        this_array()(wrapped).send<&neighbor::data>(iteration_, from, new_message());
      }
    }
  }
  tri::buffer<std::byte> new_message() {
    if (unused_.empty()) {
      // Every byte is 1: the receiver's sum shows whether it saw them all.
      return tri::buffer<std::byte>(bytes_, std::byte{1});
    }
    tri::buffer<std::byte> message = std::move(unused_.back());
    unused_.pop_back();
    return message;
  }
  // A neighbour may be one iteration ahead, and no more, because it needs our message to get further.
  void arrived(std::uint32_t iteration) {
    ++arrived_[iteration % 2];
    advance();
  }
  void advance() {
    const int expected = acks_ ? 4 * k_ : 2 * k_;
    while (left_ != 0 && arrived_[iteration_ % 2] == expected) {
      arrived_[iteration_ % 2] = 0;
      ++iteration_;
      if (--left_ != 0) send_all();
    }
  }

  int k_;
  std::uint64_t bytes_;
  bool acks_;
  std::uint64_t left_ = 0;
  std::uint32_t iteration_ = 0;
  std::array<int, 2> arrived_{};
  std::uint64_t checksum_ = 0;
  std::vector<tri::buffer<std::byte>> unused_;
};

// Returns how many messages it took.
std::uint64_t iterate(const tri::array<neighbor>& ring, std::uint64_t iterations) {
  const std::uint64_t before = count_of_all_pes(&sched::counter_block::sent);
  ring.broadcast<&neighbor::start>(iterations);
  tri::quiescence().get();
  return count_of_all_pes(&sched::counter_block::sent) - before;
}

measurement run_kneighbor(context& tools, const kneighbor_shape& shape) {
  const auto ring =
      tri::make_array<neighbor>({shape.elements}, shape.k, static_cast<std::uint64_t>(shape.bytes), shape.acks ? 1 : 0);
  iterate(ring, 0);
  const std::uint64_t frame = iterate(ring, 0);  // messages of the broadcast and of quiescence themselves
  std::uint64_t iterations = 0;
  std::uint64_t messages = 0;
  measurement made{.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t batch) {
                     messages += iterate(ring, batch) - frame;
                     iterations += batch;
                   })};
  const auto elements = static_cast<std::uint64_t>(shape.elements);
  const std::uint64_t sum = ring.reduce<&neighbor::checksum>(tri::sum).get();
  if (sum != iterations * elements * 2 * static_cast<std::uint64_t>(shape.k) * shape.bytes) {
    throw std::logic_error("kneighbor: some bytes were not received");
  }
  made.counts["messages per object"] = static_cast<double>(messages) / static_cast<double>(iterations * elements);
  return made;
}

row_definition row_of(const kneighbor_shape& shape, std::optional<double> target_us = std::nullopt) {
  const std::string acks = shape.acks ? "with acknowledgements" : "without acknowledgements";
  return {.name = shape.name(),
          .unit = "us",
          .target = target_us,
          .handoffs = shape.acks ? 2.0 : 1.0,
          .description =
              fmt::format("an iteration: {} objects on two {} send {} B to their {} neighbours on both sides, {}",
                          shape.elements, shape.processes ? "processes" : "threads", shape.bytes, shape.k, acks),
          .measure = [shape](context& tools) { return run_kneighbor(tools, shape); },
          .launch = shape.processes ? two_processes : two_threads};
}

template <class T>
T parse_number(const std::string& key, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(
        fmt::format("--kneighbor {}={}: a number from {} to {} is needed", key, text, least, most));
  }
  return value;
}

bool parse_switch(const std::string& key, const std::string& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw std::invalid_argument(fmt::format("--kneighbor {}={}: on or off is needed", key, text));
}

}  // namespace

std::string kneighbor_shape::name() const {
  std::string text = bytes % 1024 == 0 ? fmt::format("kneighbor/{}KiB/{}", bytes / 1024, elements)
                                       : fmt::format("kneighbor/{}B/{}", bytes, elements);
  if (k != 3) text += fmt::format("/k{}", k);
  if (!acks) text += "/no_acks";
  if (processes) text += "/processes";
  return text;
}

kneighbor_shape parse_kneighbor(const std::string& text) {
  kneighbor_shape shape;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    start = end + 1;
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw std::invalid_argument(fmt::format("--kneighbor: '{}' is not a setting such as k=1", part));
    }
    const std::string key = part.substr(0, equals);
    const std::string value = part.substr(equals + 1);
    if (key == "k")
      shape.k = parse_number(key, value, 1, 1000);
    else if (key == "bytes")
      shape.bytes = parse_number<std::size_t>(key, value, 1, std::size_t{1} << 30);
    else if (key == "elements")
      shape.elements = parse_number(key, value, 1, 1'000'000);
    else if (key == "acks")
      shape.acks = parse_switch(key, value);
    else if (key == "processes")
      shape.processes = parse_switch(key, value);
    else
      throw std::invalid_argument(
          fmt::format("--kneighbor: there is no setting '{}'; there are k, bytes, elements, acks and processes{}", key,
                      config::did_you_mean(key, {"k", "bytes", "elements", "acks", "processes"})));
  }
  return shape;
}

std::vector<row_definition> kneighbor_rows(const std::vector<kneighbor_shape>& further) {
  std::vector<kneighbor_shape> shapes = {
      {}, {.elements = 20}, {.k = 1}, {.k = 1, .acks = false}, {.bytes = 4096}, {.bytes = 65536}, {.processes = true},
  };
  for (const kneighbor_shape& each : further) {
    if (std::find(shapes.begin(), shapes.end(), each) == shapes.end()) shapes.push_back(each);
  }
  std::vector<row_definition> rows;
  for (const kneighbor_shape& each : shapes) {
    rows.push_back(row_of(each, each.name() == "kneighbor/64B/2" ? std::optional<double>(3) : std::nullopt));
  }
  return rows;
}

}  // namespace tri::bench
