// What the tests of `trireme top` watch: watched_program rest|traffic|begin FOLDER. It writes FOLDER/ready when there
// is something to see, and ends when FOLDER/go is there.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "arena/heap.hpp"
#include "sched/process_runtime.hpp"
#include "trireme/objects.hpp"

namespace {

namespace fs = std::filesystem;

struct Worker : tri::group_member<Worker> {
  auto next() { return this_array()[(tri::this_pe() + 1) % tri::pe_count()]; }
  void ping(int number) { sum_ += number; }
  void send_on(int count) {
    for (int i = 0; i < count; ++i) next().send<&Worker::ping>(i);
  }
  // Tokens go round, each with some messages before it, until the file is there; each PE sends to the next one only,
  // and never more than fit into its inbox. One of them reports the end to the main program.
  void pass(const std::string& go, bool reports, tri::promise<void> ended) {
    if (fs::exists(go)) {
      if (reports) ended.set();
      return;
    }
    send_on(10);
    next().send<&Worker::pass>(go, reports, ended);
  }

 private:
  long sum_ = 0;
};

struct Traveller : tri::array_element<Traveller, tri::index<1>> {
  void go_to(int pe) { migrate_to(pe); }
  template <class Archive>
  void serialize(Archive&) {}
};

void wait_for(const fs::path& file) {
  while (!fs::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// The file `ready`, which is complete when it is there: lines of a PE, a name and a value.
class ready_file {
 public:
  explicit ready_file(const fs::path& folder) : folder_(folder), out_(folder / "ready.part") {}
  ~ready_file() {
    out_.close();
    fs::rename(folder_ / "ready.part", folder_ / "ready");
  }
  ready_file(const ready_file&) = delete;
  ready_file& operator=(const ready_file&) = delete;
  void add(int pe, const std::string& name, std::uint64_t value) { out_ << pe << ' ' << name << ' ' << value << '\n'; }

 private:
  fs::path folder_;
  std::ofstream out_;
};

// All messages are processed, and the main program keeps its PE: nothing changes the counters of the host any more, but
// those of PEs that fall asleep.
void rest(tri::group<Worker>& group, const fs::path& folder) {
  auto travellers = tri::make_array<Traveller>({8});
  for (int i = 0; i < 8; ++i) travellers(i).send<&Traveller::go_to>(tri::pe_count() - 1);
  group.broadcast<&Worker::send_on>(3000);
  tri::quiescence().get();
  {
    const tri::sched::runtime& job = tri::sched::this_pe().job();
    ready_file ready(folder);
    for (int pe = 0; pe < tri::pe_count(); ++pe)
      if (const tri::sched::pe_record* const record = job.record_of(pe))
        tri::sched::for_each_counter(
            record->counters, [&](const char* name, const char*, std::uint64_t value) { ready.add(pe, name, value); });
  }
  wait_for(folder / "go");
}

// A PE of one host sends to the next one and to no other. The group has been made on all before the first token, and no
// other message is on its way until the file is there.
void traffic(tri::group<Worker>& group, const fs::path& folder) {
  tri::quiescence().get();
  tri::future<void> ended;
  for (int token = 0; token < tri::pe_count(); ++token)
    group[1 % tri::pe_count()].send<&Worker::pass>((folder / "go").string(), token == 0, ended.get_promise());
  { const ready_file ready(folder); }
  ended.get();
  tri::quiescence().get();
}

// When the first main program begins: which processes show a live page.
void begin(const fs::path& folder) {
  const tri::sched::runtime& job = tri::sched::this_pe().job();
  const auto window_bytes = static_cast<std::uintptr_t>(job.values().arena_window_bytes);
  {
    ready_file ready(folder);
    for (int process = 0; process < job.processes(); ++process) {
      const auto record = reinterpret_cast<std::uintptr_t>(job.process_record_of(process));
      const std::uintptr_t window = record - (record - tri::arena::base_address) % window_bytes;
      const auto* const header = reinterpret_cast<const tri::arena::window_header*>(window);
      ready.add(process * job.pes_per_process(), "is_shown", header->live_page != 0 ? 1 : 0);
    }
  }
  wait_for(folder / "go");
}

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [&] {
    const std::string what = argv[1];
    const fs::path folder = argv[2];
    if (what == "begin") return begin(folder);
    auto group = tri::make_group<Worker>();
    if (what == "rest")
      rest(group, folder);
    else
      traffic(group, folder);
  });
}
