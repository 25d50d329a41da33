// What top_command_test.cpp watches: watched_program rest|traffic FOLDER. It writes FOLDER/ready when there is
// something to see, and ends when FOLDER/go is there.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sched/process_runtime.hpp"
#include "trireme/objects.hpp"

namespace {

namespace fs = std::filesystem;

struct Worker : tri::group_member<Worker> {
  void ping(int number) { sum_ += number; }
  void send_on(int count) {
    for (int i = 0; i < count; ++i) this_array()[(tri::this_pe() + 1) % tri::pe_count()].send<&Worker::ping>(i);
  }
  // Tokens go round, each with some messages before it, until the file is there; each PE sends to the next one only,
  // and never more than fit into its inbox.
  void pass(const std::string& go) {
    if (fs::exists(go)) return;
    send_on(10);
    this_array()[(tri::this_pe() + 1) % tri::pe_count()].send<&Worker::pass>(go);
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

// The counters of all PEs of the host, which nothing changes while the main program keeps its PE.
void write_counters(const fs::path& folder) {
  const tri::sched::runtime& job = tri::sched::this_pe().job();
  std::ofstream out(folder / "counters.part");
  for (int pe = 0; pe < tri::pe_count(); ++pe)
    if (const tri::sched::pe_record* const record = job.record_of(pe))
      tri::sched::for_each_counter(record->counters, [&](const char* name, const char*, std::uint64_t value) {
        out << pe << ' ' << name << ' ' << value << '\n';
      });
  out.close();
  fs::rename(folder / "counters.part", folder / "ready");
}

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [&] {
    const std::string what = argv[1];
    const fs::path folder = argv[2];
    auto group = tri::make_group<Worker>();
    if (what == "rest") {
      auto travellers = tri::make_array<Traveller>({8});
      for (int i = 0; i < 8; ++i) travellers(i).send<&Traveller::go_to>(tri::pe_count() - 1);
      group.broadcast<&Worker::send_on>(3000);
      tri::quiescence().get();
      write_counters(folder);
      wait_for(folder / "go");
    } else {
      group.broadcast<&Worker::pass>((folder / "go").string());
      const std::ofstream ready(folder / "ready");
      tri::quiescence().get();
    }
  });
}
