// The triad of STREAM on global arrays, embarrassingly parallel: a = b + s c, where every PE computes the elements that
// it owns (HPC Challenge; Farreras 2008, 5.2.5). What it shows is what an access to an own element costs:
//   naive        every PE goes through all elements and computes those it owns, through the array (upc_forall)
//   owned        every PE goes through its own elements only, through the array
//   privatized   plain pointers into its own tile
#include <fmt/format.h>

#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

constexpr double s = 3.0;

class triad {
 public:
  explicit triad(std::int64_t elements_of_pe)
      : size_(elements_of_pe * tri::pe_count()), a_(blocks()), b_(blocks()), c_(blocks()) {
    tri::for_each_own(b_, [](const tri::position<1>& at, double& value) { value = b_at(at[0]); });
    tri::for_each_own(c_, [](const tri::position<1>& at, double& value) { value = c_at(at[0]); });
  }
  std::int64_t size() const { return size_; }

  void prepare() {
    tri::for_each_own(a_, [](const tri::position<1>&, double& value) { value = 0; });
  }

  void naive(pgas::access_counts& counts) {
    const int own = tri::this_pe();
    for (std::int64_t i = 0; i < size_; ++i)
      if (a_.owner(i) == own) a_(i) = b_(i) + s * c_(i);
    counts.near(3 * pgas::own_block(a_).volume());
  }
  void owned(pgas::access_counts& counts) {
    const tri::region<1> block = pgas::own_block(a_);
    for (std::int64_t i = block.first[0]; i < block.last[0]; ++i) a_(i) = b_(i) + s * c_(i);
    counts.near(3 * block.volume());
  }
  void privatized(pgas::access_counts& counts) {
    const std::int64_t length = pgas::own_block(a_).volume();
    double* const a = pgas::own_data(a_);
    const double* const b = pgas::own_data(b_);
    const double* const c = pgas::own_data(c_);
    for (std::int64_t i = 0; i < length; ++i) a[i] = b[i] + s * c[i];
    counts.near(3 * length);
  }

  /// Samples as many random elements as there are PEs: most of them are on others.
  pgas::verdict check() const {
    std::uint64_t random = static_cast<std::uint64_t>(tri::this_pe()) + 1;
    for (int sample = 0; sample < tri::pe_count(); ++sample) {
      random = random * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
      const auto i = static_cast<std::int64_t>((random >> 16) % static_cast<std::uint64_t>(size_));
      if (a_(i) != b_at(i) + s * c_at(i)) return false;
    }
    return true;
  }

 private:
  static double b_at(std::int64_t i) { return static_cast<double>(i % 1000); }
  static double c_at(std::int64_t i) { return static_cast<double>(i % 77) + 0.5; }
  tri::global_array<double, 1> blocks() const {
    return tri::global_array<double, 1>(tri::position<1>(size_), tri::grid(tri::pe_count()));
  }

  std::int64_t size_;
  tri::global_array<double, 1> a_, b_, c_;
};

constexpr pgas::version<triad> versions[] = {
    {"naive", &triad::naive}, {"owned", &triad::owned}, {"privatized", &triad::privatized}};

int run(int argc, char** argv) {
  std::int64_t elements = std::int64_t{1} << 21;
  pgas::version_choice chosen;
  chosen.repeats = 5;
  pgas::command_line line("triad", "STREAM's triad on global arrays: what an access to an own element costs.");
  line.number("--elements", elements, 1, std::int64_t{1} << 34, "elements of each PE in each of three arrays")
      .versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;

  triad kernel(elements);
  pgas::version_table table(fmt::format("triad of 3 x {} doubles", kernel.size()), "GB/s of a PE",
                            static_cast<double>(elements) * 3 * sizeof(double) * 1e-9);
  return pgas::run_versions(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
