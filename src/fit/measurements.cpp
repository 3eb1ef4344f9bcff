#include "src/fit/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"

namespace dyn::fit {
namespace {

using nlohmann::json;

MeasuredShape shape_from(const json& line, std::shared_ptr<const choice::Machine> machine) {
  MeasuredShape shape{line.at("suite").get<std::string>(),
                      line.at("shape").get<std::string>(),
                      line.at("threads").get<int>(),
                      std::move(machine),
                      line.at("sizes").get<std::vector<choice::ContractionShape>>(),
                      {}};
  for (const json& program : line.at("programs")) {
    MeasuredProgram measured{program.at(0).get<std::size_t>(), program.at(1).get<choice::Choice>(),
                             program.at(2).get<double>()};
    if (measured.sizes >= shape.sizes.size() || !(measured.seconds > 0) ||
        measured.program.program.regions.empty())
      throw std::invalid_argument("a program has no sizes, no time or no regions");
    shape.programs.push_back(std::move(measured));
  }
  if (shape.machine == nullptr || shape.programs.empty())
    throw std::invalid_argument("a shape comes before its machine, or has no programs");
  return shape;
}

void read(const std::string& path, std::vector<MeasuredShape>& shapes) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::user, fmt::format("{}: cannot be read", path));
  std::shared_ptr<const choice::Machine> machine;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    try {
      const json line = json::parse(text);
      if (line.contains("machine"))
        machine = std::make_shared<const choice::Machine>(line["machine"].get<choice::Machine>());
      else
        shapes.push_back(shape_from(line, machine));
    } catch (const std::exception& error) {  // of json, or one of the above
      throw Error(ErrorKind::user, fmt::format("{}:{}: {}; dynrun select --measurements writes "
                                               "such files",
                                               path, number, error.what()));
    }
  }
}

}  // namespace

double MeasuredShape::best_seconds() const {
  return std::ranges::min_element(programs, {}, &MeasuredProgram::seconds)->seconds;
}

std::vector<MeasuredShape> read_measurements(std::span<const std::string> paths) {
  std::vector<MeasuredShape> shapes;
  for (const std::string& path : paths) read(path, shapes);
  return shapes;
}

}  // namespace dyn::fit
