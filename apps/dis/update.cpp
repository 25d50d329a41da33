// Update of the DIS Stressmarks (Atlantic Aerospace, 2000; Farreras 2008, 6.5): as Pointer, but each hop changes the
// field: the first word of a window becomes the sum of the window. PE 0 does it; all others are in a barrier, and
// serve.
//   naive        word by word through the array
//   privatized   words of this host by plain pointers
//   tuned        each window by one get, the write without waiting
#include <fmt/format.h>

#include <numeric>

#include "dis/hops.hpp"

namespace {

class update {
 public:
  explicit update(const dis::hop_settings& how)
      : how_(how), range_(how, 0), field_(tri::position<1>(how.words), tri::grid(tri::pe_count())) {}

  void prepare() {
    tri::for_each_own(field_, [&](const tri::position<1>& at, dis::word& word) { word = how_.word_at(at[0]); });
    result_ = {};
  }
  void naive(pgas::access_counts& counts) {
    hop(dis::read_by_element(field_, counts),
        [&](std::int64_t at, dis::word value) { counts.note(field_(at)) = value; });
  }
  void privatized(pgas::access_counts& counts) {
    hop(dis::read_by_pointer(field_, counts), [&](std::int64_t at, dis::word value) {
      if (dis::word* const near = field_.local(tri::position<1>(at)); near != nullptr) {
        *near = value;
        counts.near(1);
      } else {
        counts.note(field_(at)) = value;
      }
    });
  }
  void tuned(pgas::access_counts& counts) {
    hop(dis::read_by_section(field_, counts),
        [&](std::int64_t at, dis::word value) { counts.note(field_(at)) = value; });
  }

  /// On PE 0, which alone hops: as many hops, to the same place, and the same field behind them.
  dis::hop_result compute_sequentially() {
    if (tri::this_pe() != 0) return {};
    expected_field_.resize(static_cast<std::size_t>(how_.words));
    for (std::int64_t i = 0; i < how_.words; ++i) expected_field_[static_cast<std::size_t>(i)] = how_.word_at(i);
    seconds_ = pgas::seconds_here([&] {
      expected_ = dis::follow(
          how_, range_,
          [&](std::int64_t at, std::span<dis::word> to) {
            std::copy_n(expected_field_.begin() + at, to.size(), to.begin());
          },
          [&](std::int64_t at, std::span<const dis::word> window) {
            expected_field_[static_cast<std::size_t>(at)] = sum_of(window);
          });
    });
    return expected_;
  }
  double sequential_seconds() const { return seconds_; }
  pgas::verdict check() const {
    if (tri::this_pe() != 0) return true;
    std::vector<dis::word> field(expected_field_.size());
    field_.get({{0}, {how_.words}}, field.data()).get();
    return {result_ == expected_ && field == expected_field_, fmt::format("{} hops", result_.hops)};
  }

 private:
  dis::word sum_of(std::span<const dis::word> window) const {
    const std::uint64_t sum = std::accumulate(window.begin(), window.end(), std::uint64_t{0});
    return static_cast<dis::word>(sum % static_cast<std::uint64_t>(how_.starts()));
  }
  template <class Read, class Write>
  void hop(Read&& read, Write&& write) {
    if (tri::this_pe() != 0) return;
    result_ = dis::follow(how_, range_, read,
                          [&](std::int64_t at, std::span<const dis::word> window) { write(at, sum_of(window)); });
  }

  dis::hop_settings how_;
  dis::hop_range range_;
  dis::field_array field_;
  std::vector<dis::word> expected_field_;
  dis::hop_result result_, expected_;
  double seconds_ = 0;
};

constexpr pgas::version<update> versions[] = {
    {"naive", &update::naive}, {"privatized", &update::privatized}, {"tuned", &update::tuned}};

int run(int argc, char** argv) {
  return dis::run_hops("dis_update", "Update of the DIS Stressmarks: PE 0 follows pointers and changes them.", versions,
                       argc, argv);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
