#include "src/cli/select/plot.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

constexpr std::array colors = {"#c8553d", "#1b6ca8", "#3a7d44", "#7b4b94",
                               "#b8860b", "#2a9d8f", "#555555", "#000000"};
constexpr double panel_width = 420, panel_height = 300, left = 64, top = 56, gap = 56, bottom = 52,
                 legend_width = 130;
constexpr double value_step = 0.2, value_margin = 1.05;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                    const std::string& more = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2, const char* color) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, color);
}

double highest_value(const std::vector<PlotPanel>& panels) {
  double highest = 1;
  for (const PlotPanel& panel : panels) {
    for (const PlotLine& line : panel.lines) {
      for (const double value : line.values) highest = std::max(highest, value);
    }
  }
  return std::ceil(highest * value_margin / value_step) * value_step;
}

std::vector<std::string> names_of(const std::vector<PlotPanel>& panels) {
  std::vector<std::string> names;
  for (const PlotPanel& panel : panels) {
    for (const PlotLine& line : panel.lines) {
      if (std::find(names.begin(), names.end(), line.name) == names.end())
        names.push_back(line.name);
    }
  }
  return names;
}

/// Maps values to coordinates in one panel.
struct Frame {
  double x0, highest;
  double x(double share) const { return x0 + share * panel_width; }
  double y(double value) const { return top + panel_height * (1 - value / highest); }
};

std::string axes(const Frame& frame, const PlotPanel& panel, const std::string& value_label) {
  std::string text;
  for (int tick = 0; tick * value_step <= frame.highest + value_step / 2; ++tick) {
    const double value = tick * value_step, y = frame.y(value);
    text += line_between(frame.x(0), y, frame.x(1), y, tick == 0 ? "#333333" : "#dddddd");
    text += text_at(frame.x(0) - 6, y + 4, "end", fmt::format("{:.1f}", value));
  }
  text += line_between(frame.x(0), frame.y(0), frame.x(0), frame.y(frame.highest), "#333333");
  for (const int percent : {0, 25, 50, 75, 100}) {
    const double x = frame.x(percent / 100.0);
    text += line_between(x, frame.y(0), x, frame.y(0) + 5, "#333333");
    text += text_at(x, frame.y(0) + 18, "middle", fmt::format("{} %", percent));
  }
  text += text_at(frame.x(0.5), frame.y(0) + 38, "middle", "shapes, worst first");
  const double y = frame.y(frame.highest / 2), x = frame.x(0) - 40;
  text += text_at(x, y, "middle", value_label,
                  fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y));
  return text + text_at(frame.x(0.5), top - 10, "middle", panel.title, " font-weight=\"bold\"");
}

std::string curve(const Frame& frame, std::vector<double> values, const char* color) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  if (values.size() == 1) values.push_back(values.front());
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(values.size() - 1);
    points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", frame.x(share), frame.y(values[i]));
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n",
                     points, color);
}

}  // namespace

std::string ratio_plot(const std::string& title, const std::string& value_label,
                       const std::vector<PlotPanel>& panels) {
  const std::vector<std::string> names = names_of(panels);
  const auto color_of = [&](const std::string& name) {
    return colors[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                           names.begin()) %
                  colors.size()];
  };
  const double count = static_cast<double>(panels.size());
  const double width = left + count * panel_width + std::max(0.0, count - 1) * gap + legend_width,
               height = top + panel_height + bottom;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  text += text_at(width / 2, 22, "middle", title, " font-size=\"15\"");
  const double highest = highest_value(panels);
  double x0 = left;
  for (const PlotPanel& panel : panels) {
    const Frame frame{x0, highest};
    text += axes(frame, panel, value_label);
    for (const PlotLine& line : panel.lines) text += curve(frame, line.values, color_of(line.name));
    x0 += panel_width + gap;
  }
  const double legend = width - legend_width + 16;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double y = top + 14 + 20 * static_cast<double>(i);
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-width=\"3\"/>\n",
        legend, legend + 22, y, color_of(names[i]));
    text += text_at(legend + 28, y + 4, "start", names[i]);
  }
  return text + "</svg>\n";
}

void write_plot(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorKind::device,
                fmt::format("--plot {}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace dyn::cli
