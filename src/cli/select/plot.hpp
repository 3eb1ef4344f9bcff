#pragma once
// The distribution of ratios as an SVG file.

#include <string>
#include <vector>

namespace dyn::cli {

struct PlotLine {
  std::string name;
  std::vector<double> values;  ///< in any order
};

/// One diagram. Each line plots its values in ascending order over their share, so that the left
/// end is the worst and the middle the median.
struct PlotPanel {
  std::string title;
  std::vector<PlotLine> lines;
};

/// Panels beside each other, with one scale of values from 0 to at least 1, one colour for each
/// name, and a legend. Text is escaped.
std::string ratio_plot(const std::string& title, const std::string& value_label,
                       const std::vector<PlotPanel>& panels);

/// Throws Error(device) that names the flag and the file where it cannot be written.
void write_plot(const std::string& path, const std::string& text);

}  // namespace dyn::cli
