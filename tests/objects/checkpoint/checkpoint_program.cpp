// Heat in a ring of blocks, with checkpoints: the result depends on the last bit of every step, and must not depend on
// the numbers of PEs, nor on how often the job was killed and begun again.
//
//   checkpoint_program FOLDER STEPS EVERY [STOP]     ends without a result after STOP steps; FOLDER may be `memory`
//   checkpoint_program --no-shrink | --fixed-map FOLDER     writes one that fewer PEs cannot read
//   checkpoint_program --seeds FOLDER                writes one while PEs ask others for objects without a place
//   checkpoint_program --everywhere FOLDER           of a program that has no checkpoints
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "trireme/idle.hpp"
#include "trireme/objects.hpp"

namespace {

constexpr int blocks = 12;
constexpr int cells = 50;

#ifdef TRIREME_TEST_OTHER_PROGRAM
void a_function_of_another_program() {}
const auto use_it = [] { tri::send<&a_function_of_another_program>(0); };
#endif

struct block : tri::array_element<block, tri::index<1>> {
  std::vector<double> heat;
  std::vector<double> edges;  // left, right; of this step
  int arrived = 0;

  void begin() {
    heat.assign(cells, 0);
    for (int i = 0; i < cells; ++i) heat[static_cast<std::size_t>(i)] = (this_index()[0] * cells + i) % 17 / 3.0;
  }
  void step() {
    const int own = this_index()[0];
    this_array()((own + blocks - 1) % blocks).send<&block::edge>(1, heat.front());
    this_array()((own + 1) % blocks).send<&block::edge>(0, heat.back());
    one_more();
  }
  void edge(int side, double value) {
    edges.resize(2);
    edges[static_cast<std::size_t>(side)] = value;
    one_more();
  }
  std::vector<std::uint64_t> bits() {
    std::vector<std::uint64_t> all(heat.size());
    std::memcpy(all.data(), heat.data(), heat.size() * sizeof(double));
    return all;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(heat);
  }

 private:
  void one_more() {
    if (++arrived < 3) return;
    arrived = 0;
    std::vector<double> next(heat.size());
    for (std::size_t i = 0; i < heat.size(); ++i) {
      const double left = i == 0 ? edges[0] : heat[i - 1];
      const double right = i + 1 == heat.size() ? edges[1] : heat[i + 1];
      next[i] = heat[i] + 0.23 * (left - 2 * heat[i] + right);
    }
    heat = next;
    if (this_index()[0] % 5 == 0) migrate_to((this_index()[0] + static_cast<int>(heat[0] * 1000)) % tri::pe_count());
  }
};

/// One in each process; their sum stays.
struct of_process : tri::nodegroup_member<of_process> {
  int value = 0;
  of_process() = default;
  explicit of_process(int initial) : value(initial) {}
  int get() { return value; }
  void on_shrink(const of_process& leaving) { value += leaving.value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
tri::read_only<int> processes_at_first;

struct state {
  tri::array<block> all;
  tri::nodegroup<of_process> processes;
  int step = 0;
};

// Stands for a full disk. Not before the job has begun, for the arena is in files, too.
void limit_files() {
  if (std::getenv("CHECKPOINT_TEST_FILE_BYTES") == nullptr) return;
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{std::strtoul(std::getenv("CHECKPOINT_TEST_FILE_BYTES"), nullptr, 10), RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

int simulate(const std::string& folder, int steps, int every, int stop) {
  limit_files();
  state now;
  if (tri::is_restarted()) {
    now = tri::restored_state<state>();
    fmt::print("goes on from step {} with {} PEs\n", now.step, tri::pe_count());
    std::fflush(stdout);
  } else {
    now.all = tri::make_array<block>({blocks}, tri::round_robin());
    now.all.broadcast<&block::begin>();
    now.processes = tri::make_nodegroup<of_process>(5);
    processes_at_first.publish(tri::process_count()).get();
  }
  while (now.step < steps) {
    now.all.broadcast<&block::step>();
    tri::quiescence().get();
    if (++now.step == stop) return 0;
    if (every == 0 || now.step % every != 0) continue;
    if (folder == "memory")
      tri::checkpoint(tri::in_memory, now).get();
    else
      tri::checkpoint(folder, now).get();
  }
  std::uint64_t hash = 0;
  for (int i = 0; i < blocks; ++i)
    for (const std::uint64_t bits : now.all(i).call<&block::bits>().get())
      hash = (hash ^ bits) * 0x9e3779b97f4a7c15 + (hash >> 29);
  if (const int sum = now.processes.reduce<&of_process::get>(tri::sum).get(); sum != 5 * *processes_at_first)
    fmt::print("the sum of processes is {} instead of {}\n", sum, 5 * *processes_at_first);
  fmt::print("result {:016x}\n", hash);
  return 0;
}

struct counter : tri::group_member<counter> {
  int value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

int write_for_as_many(const std::string& what, const std::string& folder) {
  if (what == "--no-shrink")
    tri::make_group<counter>();
  else
    tri::make_array<block>({2}, tri::placed_by<tri::index<1>>([](const tri::index<1>& at, int) { return at[0]; }));
  if (!tri::is_restarted()) tri::checkpoint(folder).get();
  return 0;
}

/// Made without a place.
struct seed : tri::object<seed> {
  seed() { erase_this(); }
  template <class Archive>
  void serialize(Archive&) {}
};

tri::idle_callback slow_to_ask;

// What a program does when a PE is idle comes before the PE asks others for seeds.
void be_slow_to_ask() {
  slow_to_ask = tri::call_when_idle([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return false;
  });
}
void make_seed() { tri::make_object<seed>(tri::seed_strategy::stealing); }

// On hosts with the PEs 0 and 1, 2. No message comes to PE 2 before it asks PE 0 for seeds: quiescence is found before,
// and the request comes while the checkpoint is written.
int write_while_pes_ask_for_seeds(const std::string& folder) {
  tri::send<&be_slow_to_ask>(2);
  tri::quiescence().get();
  tri::send<&make_seed>(1);
  for (int i = 0; i < 2; ++i) tri::checkpoint(folder).get();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef TRIREME_TEST_OTHER_PROGRAM
  static_cast<void>(use_it);
#endif
  if (std::find(argv, argv + argc, std::string("--everywhere")) != argv + argc)
    return tri::run_everywhere(argc, argv, [&](int, char** words) {
      if (tri::this_pe() == 0) tri::checkpoint(words[2]).get();
    });
  return tri::run(argc, argv, [](int count, char** words) {
    const std::string first = words[1];
    if (first == "--seeds") return write_while_pes_ask_for_seeds(words[2]);
    if (first.starts_with("--")) return write_for_as_many(first, words[2]);
    return simulate(first, std::atoi(words[2]), std::atoi(words[3]), count > 4 ? std::atoi(words[4]) : -1);
  });
}
