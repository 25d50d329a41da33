// A picture of a few curves over x from 0 to 1, with level lines beside them, as SVG. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace tri::pictures {

struct line_chart {
  struct point {
    double x = 0.0;
    double y = 0.0;
    double low = 0.0;  ///< of the bar through the point
    double high = 0.0;
  };
  struct curve {
    std::string name;
    std::vector<point> points;  ///< by x
  };
  struct level {
    std::string name;
    double y = 0.0;
  };
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<curve> curves;
  std::vector<level> levels;
};

/// y begins near the smallest value, not at 0, as the axis shows.
std::string to_svg(const line_chart& chart);

/// Round numbers, about `count`, that cover low to high.
std::vector<double> axis_ticks(double low, double high, int count);

}  // namespace tri::pictures
