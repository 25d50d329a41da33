// Pointer of the DIS Stressmarks (Atlantic Aerospace, 2000; Farreras 2008, 6.5): each PE follows pointers of its own
// through one field of random words. A hop reads a window of words; their median says where the next window is.
//   naive        word by word through the array
//   privatized   words of this host by plain pointers
//   tuned        each window by one get
#include <fmt/format.h>

#include "dis/hops.hpp"

namespace {

class pointer {
 public:
  explicit pointer(const dis::hop_settings& how)
      : how_(how), range_(how, tri::this_pe()), field_(tri::position<1>(how.words), tri::grid(tri::pe_count())) {
    tri::for_each_own(field_, [&](const tri::position<1>& at, dis::word& word) { word = how_.word_at(at[0]); });
  }

  void prepare() { result_ = {}; }
  void naive(pgas::access_counts& counts) { hop(dis::read_by_element(field_, counts)); }
  void privatized(pgas::access_counts& counts) { hop(dis::read_by_pointer(field_, counts)); }
  void tuned(pgas::access_counts& counts) { hop(dis::read_by_section(field_, counts)); }

  /// As many hops, to the same place, as on a field of one's own.
  dis::hop_result compute_sequentially() {
    std::vector<dis::word> field(static_cast<std::size_t>(how_.words));
    for (std::int64_t i = 0; i < how_.words; ++i) field[static_cast<std::size_t>(i)] = how_.word_at(i);
    seconds_ = pgas::seconds_here([&] {
      expected_ = dis::follow(
          how_, range_,
          [&](std::int64_t at, std::span<dis::word> to) { std::copy_n(field.begin() + at, to.size(), to.begin()); },
          [](std::int64_t, std::span<const dis::word>) {});
    });
    return expected_;
  }
  double sequential_seconds() const { return seconds_; }
  pgas::verdict check() const {
    const std::int64_t hops = tri::team::world().allreduce(result_.hops, tri::sum).get();
    return {result_ == expected_, fmt::format("{} hops", hops)};
  }

 private:
  template <class Read>
  void hop(Read&& read) {
    result_ = dis::follow(how_, range_, read, [](std::int64_t, std::span<const dis::word>) {});
  }

  dis::hop_settings how_;
  dis::hop_range range_;
  dis::field_array field_;
  dis::hop_result result_, expected_;
  double seconds_ = 0;
};

constexpr pgas::version<pointer> versions[] = {
    {"naive", &pointer::naive}, {"privatized", &pointer::privatized}, {"tuned", &pointer::tuned}};

int run(int argc, char** argv) {
  return dis::run_hops("dis_pointer", "Pointer of the DIS Stressmarks: each PE follows pointers through one field.",
                       versions, argc, argv);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
