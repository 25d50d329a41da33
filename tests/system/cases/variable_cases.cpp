// Variables of a parallel program: one per PE (M10), one per process, and read-only ones once per process or host
// (M11).
#include <cstdint>
#include <set>
#include <vector>

#include "system/cases/cases.hpp"
#include "trireme/variables.hpp"

namespace tri::testing {
namespace {

pe_local<std::vector<int>> notes(std::vector<int>{7});
read_only<std::vector<int>> table_of_process;
read_only<shared_buffer<int>> table_of_host;
int plain_global = 0;

constexpr int table_entries = 1 << 20;

// Where a PE finds each kind, as a number that can be compared between PEs.
struct addresses {
  std::uint64_t notes, process_table, host_table, global;
};

struct user : group_member<user> {
  int note(int value) {
    notes->push_back(value * this_pe());
    return static_cast<int>(notes->size());
  }
  long sum_of_notes() {
    long total = 0;
    for (const int each : *notes) total += each;
    return total;
  }
  addresses where(int) {
    const auto number = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place); };
    check_equal(table_of_process->at(table_entries - 1), table_entries);
    check_equal((*table_of_host)[table_entries - 1], -table_entries);
    return {number(&*notes), number(table_of_process->data()), number(table_of_host->data()), number(&plain_global)};
  }
};

void variables_of_a_pe() {
  auto users = make_group<user>();
  for (int value = 1; value <= 10; ++value) check_equal(users.reduce<&user::note>(maximum, value).get(), value + 1);
  check_equal(users.reduce<&user::note>(minimum, 0).get(), 12);
  for (int pe = 0; pe < pe_count(); ++pe) check_equal(users[pe].call<&user::sum_of_notes>().get(), 7L + 55L * pe);
}
const case_entry pe_case{"variables_of_a_pe", &variables_of_a_pe};

void variables_of_a_node() {
  std::vector<int> values(table_entries);
  buffer<int> shared_values(table_entries);
  for (int i = 0; i < table_entries; ++i) {
    values[static_cast<std::size_t>(i)] = i + 1;
    shared_values[static_cast<std::size_t>(i)] = -(i + 1);
  }
  check_throws<std::logic_error>([] { static_cast<void>(table_of_process->size()); }, "before it was published");
  table_of_process.publish(values).get();
  table_of_host.publish(shared_buffer<int>(std::move(shared_values))).get();
  check_throws<std::logic_error>([&] { static_cast<void>(table_of_process.publish(values)); }, "a second time");

  auto users = make_group<user>();
  const std::vector<addresses> found = users.reduce<&user::where>(gather, 0).get();
  std::set<std::uint64_t> host_tables;
  const int hosts = sched::this_pe().job().hosts();
  for (int process = 0; process < process_count(); ++process) {
    std::set<std::uint64_t> own, process_tables, globals;
    for (int pe = process * pes_per_process(); pe < (process + 1) * pes_per_process(); ++pe) {
      const addresses& of = found[static_cast<std::size_t>(pe)];
      own.insert(of.notes);
      process_tables.insert(of.process_table);
      globals.insert(of.global);
      host_tables.insert(of.host_table);
    }
    check_equal(static_cast<int>(own.size()), pes_per_process());
    check_equal(static_cast<int>(process_tables.size()), 1);
    check_equal(static_cast<int>(globals.size()), 1);
  }
  // The arena is at the same address everywhere; a host that has no share got an archive, for each of its processes.
  if (hosts == 1) check_equal(static_cast<int>(host_tables.size()), 1);
}
const case_entry node_case{"variables_of_a_node", &variables_of_a_node};

}  // namespace
}  // namespace tri::testing
