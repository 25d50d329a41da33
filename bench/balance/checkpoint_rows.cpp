// What checkpoints cost: on the disk beside raw writing into the same folder, in memory beside copying, in turn; and
// the time from the death of a process to the main program that goes on. Objects of 1 MiB each.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "balance/rows.hpp"
#include "framework/process_rows.hpp"
#include "messages/pes.hpp"
#include "os/clock.hpp"
#include "os/unique_fd.hpp"
#include "trireme/checkpoint.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr double mebibyte = 1048576.0;

bool in_a_hurry(const context& tools) { return tools.runner().options().max_time_s <= 2; }

struct state_block : tri::array_element<state_block, tri::index<1>> {
  std::vector<char> bytes = std::vector<char>(block_bytes, 'x');
  std::vector<char> copied_to;  // not part of the state

  void copy() {
    if (copied_to.empty()) copied_to.resize(bytes.size());
    std::memcpy(copied_to.data(), bytes.data(), bytes.size());
  }
  std::uint64_t size() { return bytes.size(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(bytes);
  }
};

// Writes as much as the PE's part of the state, as plainly as it can be done: from one block that stays in the caches.
struct raw_writer : tri::group_member<raw_writer> {
  std::int64_t write(const std::string& folder, int blocks) {
    const std::string path = fmt::format("{}/raw-{}", folder, tri::this_pe());
    const os::unique_fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const std::vector<char> block(block_bytes, 'x');
    const int first = blocks * tri::this_pe() / tri::pe_count(), end = blocks * (tri::this_pe() + 1) / tri::pe_count();
    for (int i = first; i < end; ++i)
      for (std::size_t done = 0; done < block.size();) {
        const ssize_t written = ::write(file.get(), block.data() + done, block.size() - done);
        if (written < 0 && errno != EINTR) return errno;
        if (written > 0) done += static_cast<std::size_t>(written);
      }
    if (fsync(file.get()) != 0) return errno;
    unlink(path.c_str());
    return 0;
  }
  template <class Archive>
  void serialize(Archive&) {}
};

class scratch_folder {
 public:
  scratch_folder() {
    // Not /tmp, which is memory on many machines.
    const char* const chosen = std::getenv("TMPDIR");
    path_ = fmt::format("{}/trireme-bench-XXXXXX", chosen != nullptr && *chosen != 0 ? chosen : "/var/tmp");
    if (mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error(fmt::format("{}: cannot be made: {}", path_, std::strerror(errno)));
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double time_of(const std::function<void()>& work) {
  const std::int64_t before = os::now_ns();
  work();
  return static_cast<double>(os::now_ns() - before);
}

// The two in turn, which of them first in turn as well; the first pair is not counted.
measurement compare(int pairs, double bytes, const char* name, const std::function<void()>& own,
                    const std::function<void()>& other) {
  measurement made;
  comparison beside{.name = name, .ratios = {}};
  std::vector<double> of_other;
  for (int pair = -1; pair < pairs; ++pair) {
    double own_ns = 0, other_ns = 0;
    for (const bool own_turn : {pair % 2 == 0, pair % 2 != 0})
      (own_turn ? own_ns : other_ns) = time_of(own_turn ? own : other);
    if (pair < 0) continue;
    made.samples.operation_ns.push_back(own_ns);
    of_other.push_back(other_ns);
    beside.ratios.push_back(own_ns / other_ns);
  }
  const double other_ns = summarize(of_other).median;
  made.limit = nanoseconds_in_unit(other_ns, "ms");
  made.counts["MiB/s"] = bytes / mebibyte / (summarize(made.samples.operation_ns).median * 1e-9);
  made.counts[fmt::format("MiB/s of {}", name)] = bytes / mebibyte / (other_ns * 1e-9);
  made.reference = std::move(beside);
  return made;
}

measurement write_to_disk(context& tools) {
  const int blocks = in_a_hurry(tools) ? 8 : 200;
  const scratch_folder folder;
  const auto all = tri::make_array<state_block>({blocks}, tri::block());
  const auto writers = tri::make_group<raw_writer>();
  return compare(
      in_a_hurry(tools) ? 2 : 9, blocks * mebibyte, "raw writing",
      [&] { tri::checkpoint(folder.path() + "/ckpt", all).get(); },
      [&] {
        if (const std::int64_t error = writers.reduce<&raw_writer::write>(tri::maximum, folder.path(), blocks).get())
          throw std::runtime_error(
              fmt::format("{}: cannot be written: {}", folder.path(), std::strerror(static_cast<int>(error))));
      });
}

measurement write_to_memory(context& tools) {
  const int blocks = in_a_hurry(tools) ? 8 : 100;
  const auto all = tri::make_array<state_block>({blocks}, tri::block());
  all.broadcast<&state_block::copy>();
  tri::quiescence().get();
  return compare(
      in_a_hurry(tools) ? 2 : 25, blocks * mebibyte, "copying", [&] { tri::checkpoint(tri::in_memory, all).get(); },
      [&] {
        all.broadcast<&state_block::copy>();
        tri::quiescence().get();
      });
}

// ---- the loss of a process

// Without what launcher and processes report of the loss on standard error.
std::vector<std::string> quietly(std::vector<std::string> command) {
  command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2> /dev/null"});
  return command;
}

double start_of_a_job_ns(const std::string& program) {
  std::int64_t running_ns = 0;
  const std::int64_t begin_ns = os::now_ns();
  process_lines(
      {program, "run", "-n", "2", "--pes", "1", "--", program, "bench", "--started-job"},
      [&](const std::string& line) { running_ns = std::strtoll(line.c_str(), nullptr, 10); }, 60);
  return static_cast<double>(running_ns - begin_ns);
}

measurement recover(context& tools, const std::string& program, int blocks) {
  measurement made;
  std::vector<double> starts;
  if (in_a_hurry(tools)) blocks = std::min(blocks, 8);
  for (int loss = in_a_hurry(tools) ? 2 : 9; loss > 0; --loss) {
    std::int64_t killed_ns = 0, goes_on_ns = 0;
    process_lines(
        quietly({program, "run", "--survive", "-n", "2", "--pes", "1", "--", program, "bench", "--surviving-job",
                 std::to_string(blocks)}),
        [&](const std::string& line) {
          (line.starts_with("killed ") ? killed_ns : goes_on_ns) =
              std::strtoll(line.c_str() + line.find(' '), nullptr, 10);
        },
        60);
    if (killed_ns == 0 || goes_on_ns < killed_ns)
      throw std::runtime_error("the job of this row has not said when it was killed and when it went on");
    made.samples.operation_ns.push_back(static_cast<double>(goes_on_ns - killed_ns));
    starts.push_back(start_of_a_job_ns(program));
  }
  made.limit = nanoseconds_in_unit(summarize(starts).median, "ms");  // that of a job without anything to restore
  return made;
}

void die() {
  fmt::print("killed {}\n", os::now_ns());
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
}

}  // namespace

std::vector<row_definition> checkpoint_rows(const std::string& program) {
  constexpr double most_of_raw_time = 1 / 0.8, most_of_a_copy = 1.5, recovery_ms = 1000;
  const auto row = [](const char* name, const char* text, auto measure) {
    row_definition made{.name = name, .unit = "ms", .handoffs = 0, .description = text};
    made.measure = measure;
    return made;
  };
  std::vector<row_definition> rows{
      row("checkpoint/disk/200MiB", "tri::checkpoint of two PEs, beside raw writing and fsync of as much by both",
          write_to_disk),
      row("checkpoint/memory/100MiB", "tri::checkpoint(tri::in_memory) of two PEs, beside a memcpy of as much by both",
          write_to_memory),
      row("recovery/1MiB",
          "from the death of one of two processes to the main program that goes on; limit: the start of such a job",
          [program](context& tools) { return recover(tools, program, 1); }),
      row("recovery/100MiB", "the same with a larger state",
          [program](context& tools) { return recover(tools, program, 100); }),
  };
  // A job of its own: a checkpoint contains the objects that other rows have left.
  rows[0].launch = launch{.processes = 1, .pes = 2, .options = {"--tri-balance=off"}};
  rows[0].target_ratio = most_of_raw_time;
  rows[1].launch = launch{.processes = 1, .pes = 2, .options = {"--survive"}};
  rows[1].target_ratio = most_of_a_copy;
  rows[2].target = rows[3].target = recovery_ms;
  return rows;
}

int serve_as_surviving_job(int blocks) {
  char name[] = "trireme";
  char* arguments[] = {name, nullptr};
  return tri::run(1, arguments, [blocks] {
    if (tri::is_restarted()) {
      fmt::print("on {}\n", os::now_ns());
      const auto all = tri::restored_state<tri::array<state_block>>();
      const std::uint64_t expected = static_cast<std::uint64_t>(blocks) * block_bytes;
      if (all.reduce<&state_block::size>(tri::sum).get() != expected) tri::fail("the state is not complete");
      return;
    }
    const auto all = tri::make_array<state_block>({blocks}, tri::block());
    tri::checkpoint(tri::in_memory, all).get();
    tri::send<&die>(tri::pe_count() - 1);
    for (;;) usleep(1000);  // computes
  });
}

}  // namespace tri::bench
