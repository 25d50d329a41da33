// Neighborhood of the DIS Stressmarks (Atlantic Aerospace, 2000; Farreras 2008, 6.5): the texture of an image, from
// pairs of pixels in four directions at two distances. Each PE has a block of rows, and takes the pairs whose upper
// pixel is its own.
//   naive        every pixel through the array
//   privatized   pixels of this host by plain pointers
//   tuned        the rows below the own block by one get before
#include <fmt/format.h>

#include <utility>

#include "dis/image.hpp"
#include "dis/texture.hpp"
#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

using pixels = tri::global_array<dis::pixel, 2>;

/// A row of pixels: by pointer where it lies on this host, else through the array.
class row {
 public:
  row(const pixels& image, std::int64_t number, const dis::pixel* near, pgas::access_counts& counts)
      : image_(image), number_(number), near_(near), counts_(counts) {}
  int operator[](std::int64_t j) const {
    return near_ != nullptr ? near_[j] : dis::pixel{counts_.note(image_(number_, j))};
  }

 private:
  const pixels& image_;
  std::int64_t number_;
  const dis::pixel* near_;
  pgas::access_counts& counts_;
};

class neighbourhood {
 public:
  neighbourhood(const dis::image_settings& how, std::int64_t near, std::int64_t far)
      : how_(how),
        displacements_(dis::displacements(near, far)),
        most_rows_below_(std::max(near, far)),
        pixels_({how.size, how.size}, tri::grid(tri::pe_count(), 1)),
        result_(displacements_.size(), how.brightest()),
        expected_(result_) {
    const dis::image painted(how);
    tri::for_each_own(pixels_,
                      [&](const tri::position<2>& at, dis::pixel& value) { value = painted.at(at[0], at[1]); });
    for (const auto tile : pixels_.own_tiles()) own_ = tile.elements();
  }

  void prepare() { result_ = dis::histograms(displacements_.size(), how_.brightest()); }

  void naive(pgas::access_counts& counts) {
    const auto rows = [&](std::int64_t i) { return row(pixels_, i, nullptr, counts); };
    count(own_, rows, result_);
    add_up();
  }

  void privatized(pgas::access_counts& counts) {
    const auto rows = [&](std::int64_t i) { return row(pixels_, i, pixels_.local({i, 0}), counts); };
    const std::int64_t accesses = 2 * count(own_, rows, result_);
    counts.near(accesses - counts.all);  // those of `row` were remote
    add_up();
  }

  void tuned(pgas::access_counts& counts) {
    const tri::region<2> rows_below = {{own_.last[0], 0}, {own_.last[0] + most_rows_below_, how_.size}};
    const tri::region<2> below = rows_below.intersection({{0, 0}, pixels_.extents()});
    std::vector<dis::pixel> copy(static_cast<std::size_t>(below.volume()));
    pixels_.get(below, copy.data()).get();
    for (std::int64_t i = below.first[0]; i < below.last[0]; ++i)
      pixels_.local({i, 0}) != nullptr ? counts.near(how_.size) : counts.far(how_.size);
    const dis::pixel* const first = own_.volume() == 0 ? nullptr : pixels_.local(own_.first);
    const auto rows = [&](std::int64_t i) -> const dis::pixel* {
      return i < own_.last[0] ? first + (i - own_.first[0]) * how_.size : copy.data() + (i - own_.last[0]) * how_.size;
    };
    counts.near(2 * count(own_, rows, result_));
    add_up();
  }

  void compute_sequentially() {
    const dis::image painted(how_);
    std::vector<dis::pixel> values;
    for (std::int64_t i = 0; i < how_.size; ++i)
      for (std::int64_t j = 0; j < how_.size; ++j) values.push_back(painted.at(i, j));
    const auto rows = [&](std::int64_t i) -> const dis::pixel* { return values.data() + i * how_.size; };
    seconds_ = pgas::seconds_here([&] { count({{0, 0}, pixels_.extents()}, rows, expected_); });
  }
  double sequential_seconds() const { return seconds_; }
  /// The same histograms, so the same measures to the bit. PE 0 has those of the sequential program.
  pgas::verdict check() const {
    const dis::histograms::measures first = result_.of(0);
    return {tri::this_pe() != 0 || result_ == expected_,
            fmt::format("entropy {:.6f}, energy {:.6f}", first.entropy, first.energy)};
  }
  std::int64_t pairs() const {
    std::int64_t all = 0;
    for (const dis::displacement& to : displacements_)
      all += std::max<std::int64_t>(how_.size - to.i, 0) * std::max<std::int64_t>(how_.size - std::abs(to.j), 0);
    return all;
  }

 private:
  /// Counts the pairs whose upper pixel is in `own`; rows(i)[j] is a pixel. Returns their number.
  template <class Rows>
  std::int64_t count(const tri::region<2>& own, Rows&& rows, dis::histograms& to) const {
    std::int64_t pairs = 0;
    for (std::size_t k = 0; k < displacements_.size(); ++k) {
      const auto [down, right] = displacements_[k];
      const std::int64_t last_row = std::min(own.last[0], how_.size - down);
      const std::int64_t first = std::max<std::int64_t>(-right, 0), last = how_.size - std::max<std::int64_t>(right, 0);
      for (std::int64_t i = own.first[0]; i < last_row; ++i) {
        const auto a = rows(i);
        const auto b = rows(i + down);
        for (std::int64_t j = first; j < last; ++j) to.add(k, a[j], b[j + right]);
        pairs += last - first;
      }
    }
    return pairs;
  }
  void add_up() {
    result_.counts() = tri::team::world().allreduce(std::move(result_.counts()), tri::elementwise(tri::sum)).get();
  }

  dis::image_settings how_;
  std::vector<dis::displacement> displacements_;
  std::int64_t most_rows_below_;
  pixels pixels_;
  tri::region<2> own_;
  dis::histograms result_, expected_;
  double seconds_ = 0;
};

constexpr pgas::version<neighbourhood> versions[] = {
    {"naive", &neighbourhood::naive}, {"privatized", &neighbourhood::privatized}, {"tuned", &neighbourhood::tuned}};

int run(int argc, char** argv) {
  dis::image_settings how;
  std::int64_t near = 2, far = 10;
  pgas::version_choice chosen;
  pgas::command_line line("dis_neighbourhood", "Neighborhood of the DIS Stressmarks: the texture of an image.");
  line.number("--size", how.size, 2, 32768, "rows and columns of the image")
      .number("--bits", how.bits, 7, 15, "bits of a pixel")
      .number("--lines", how.lines, 1, 65535, "lines in the image")
      .number("--thinnest", how.thinnest, 1, 32767, "pixels across a line, at least")
      .number("--thickest", how.thickest, 1, 32767, "pixels across a line, at most")
      .number("--short", near, 1, 32767, "shorter distance of two pixels")
      .number("--long", far, 1, 32767, "longer distance of two pixels")
      .number("--seed", how.seed, 0, 1 << 30, "of the random numbers")
      .versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;
  if (how.thickest < how.thinnest)
    return line.refuse(fmt::format("--thickest is {}; it must be at least --thinnest, {}", how.thickest, how.thinnest));
  if (std::max(near, far) >= how.size)
    return line.refuse(fmt::format("a distance is {}; it must be less than --size, {}", std::max(near, far), how.size));

  neighbourhood kernel(how, near, far);
  pgas::version_table table(
      fmt::format("image of {0} x {0} pixels of {1} bits, {2} pairs", how.size, how.bits, kernel.pairs()), "Mpairs/s",
      static_cast<double>(kernel.pairs()) * 1e-6);
  return pgas::run_beside_sequential(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
