// A box of cells with a layer of cells around it, which is heated on three faces, and the uneven work of its blocks.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace ported {

/// The faces of a box, in the directions of x, y and z: lower and upper in turn.
constexpr int faces = 6;
constexpr int opposite_face(int face) { return face ^ 1; }

class box {
 public:
  box() = default;
  /// Of side³ cells.
  explicit box(int side) : side_(side), now_(volume(), 0.0), next_(volume(), 0.0) { heat(); }

  int side() const { return side_; }

  /// Copies the outermost cells at a face to `values`, side² of them.
  void copy_face(int face, double* values) const {
    for_face(face, face % 2 == 0 ? 1 : side_, [&](std::size_t cell) { *values++ = now_[cell]; });
  }
  /// The layer beyond a face becomes `values`.
  void set_layer(int face, const double* values) {
    for_face(face, face % 2 == 0 ? 0 : side_ + 1, [&](std::size_t cell) { now_[cell] = *values++; });
  }
  /// Each cell becomes the mean of itself and its six neighbours. The same is computed `times` times, to take so long;
  /// then the heated faces are heated.
  void relax(int times) {
    for (int time = 0; time < times; ++time) relax_into(next_.data(), now_.data());
    std::swap(now_, next_);
    heat();
  }
  double sum() const {
    double total = 0.0;
    for (int z = 1; z <= side_; ++z)
      for (int y = 1; y <= side_; ++y)
        for (int x = 1; x <= side_; ++x) total += now_[place(x, y, z)];
    return total;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(side_, now_, next_);
  }

 private:
  std::size_t row() const { return static_cast<std::size_t>(side_ + 2); }
  std::size_t volume() const { return row() * row() * row(); }
  std::size_t place(int x, int y, int z) const {
    return static_cast<std::size_t>(x) + row() * (static_cast<std::size_t>(y) + row() * static_cast<std::size_t>(z));
  }
  // The cells of a plane across the direction of a face, in order.
  template <class Use>
  void for_face(int face, int plane, Use use) const {
    for (int b = 1; b <= side_; ++b)
      for (int a = 1; a <= side_; ++a) {
        if (face / 2 == 0) use(place(plane, a, b));
        if (face / 2 == 1) use(place(a, plane, b));
        if (face / 2 == 2) use(place(a, b, plane));
      }
  }
  void heat() {
    for (int face = 0; face < faces; face += 2) for_face(face, 1, [&](std::size_t cell) { now_[cell] = 255.0; });
  }
  // Not inlined: then the repetitions in relax cannot become one.
  [[gnu::noinline]] void relax_into(double* to, const double* from) const {
    const std::size_t plane = row() * row();
    for (int z = 1; z <= side_; ++z)
      for (int y = 1; y <= side_; ++y) {
        const std::size_t first = place(1, y, z);
        for (std::size_t cell = first; cell < first + static_cast<std::size_t>(side_); ++cell)
          to[cell] = (from[cell - 1] + from[cell + 1] + from[cell - row()] + from[cell + row()] + from[cell - plane] +
                      from[cell + plane] + from[cell]) *
                     (1.0 / 7.0);
      }
  }

  int side_ = 0;
  std::vector<double> now_, next_;
};

/// How often block `number` of `blocks` computes its cells in a step, 1 and later: blocks in the middle 20 to 80 per
/// cent do more than others, later ones more than earlier ones, and all of these more every 30 steps.
inline int times_of_block(int number, int blocks, int step) {
  if (number < blocks * 0.2 || number > blocks * 0.8) return 10;
  return static_cast<int>(std::ceil(100.0 * number / blocks + (step + 29) / 30 * 5));
}

}  // namespace ported
