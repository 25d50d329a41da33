// See version_table.hpp.
#include "pgas/version_table.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace pgas {

version_table::version_table(std::string problem, std::string unit, double amount) : amount_(amount) {
  if (tri::this_pe() != 0) return;
  fmt::print("{}; {} PEs on {} hosts\n{:<12} {:>11} {:>11} {:>9} {:>25}  {}\n", problem, tri::pe_count(),
             tri::sched::this_pe().job().hosts(), "version", unit, "seconds", "gain", "remote / all accesses",
             "result");
}

void version_table::print(const std::string& version, double seconds, double gain, const std::string& rest) const {
  fmt::print("{:<12} {:>11.5g} {:>11.4g} {:>9} {}\n", version, amount_ / seconds, seconds,
             gain == 0 ? "" : fmt::format("{:.3g}", gain), rest);
  std::fflush(stdout);
}

void version_table::sequential(double seconds) const {
  if (tri::this_pe() == 0) print("sequential", seconds, 0, "");
}

void version_table::row(const std::string& version, double seconds, const access_counts& own, const verdict& found) {
  const tri::team world = tri::team::world();
  const std::int64_t all = world.allreduce(own.all, tri::sum).get();
  const std::int64_t remote = world.allreduce(own.remote, tri::sum).get();
  const bool is_right_everywhere = world.allreduce(found.is_right ? 1 : 0, tri::minimum).get() == 1;
  is_right_ = is_right_ && is_right_everywhere;
  if (first_seconds_ == 0) first_seconds_ = seconds;
  if (tri::this_pe() != 0) return;
  const double share = all == 0 ? 0 : static_cast<double>(remote) / static_cast<double>(all);
  print(version, seconds, first_seconds_ / seconds,
        fmt::format("{:>25}  {}{}", fmt::format("{} / {} = {:.4f}", remote, all, share),
                    is_right_everywhere ? "right" : "WRONG", found.remark.empty() ? "" : ", " + found.remark));
}

int version_table::finish() const {
  if (tri::this_pe() == 0) std::puts(is_right_ ? "verified" : "FAILED: a version has a wrong result");
  return is_right_ ? 0 : 1;
}

}  // namespace pgas
