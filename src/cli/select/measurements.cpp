#include "src/cli/select/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

using nlohmann::json;

/// The place of `text` in a list that it joins where it is new.
std::size_t place_in(std::vector<std::string>& list, const std::string& text) {
  const auto known = std::ranges::find(list, text);
  const auto place = static_cast<std::size_t>(known - list.begin());
  if (known == list.end()) list.push_back(text);
  return place;
}

json parsed(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(json::parse(text));
  return list;
}

}  // namespace

MeasurementFile::MeasurementFile(std::string path)
    : path_(std::move(path)), file_(path_, std::ios::trunc) {
  write("");
}

void MeasurementFile::add(const OpCase& test, const std::string& shape, int threads,
                          const std::string& machine, const runtime::CandidateUnion& candidates,
                          const std::vector<double>& seconds) {
  std::vector<std::string> sizes;
  json programs = json::array();
  for (std::size_t i = 0; i < candidates.programs.size(); ++i) {
    const rkernel::Candidate& program = candidates.programs[i];
    if (!program.model_input) continue;
    const rkernel::ModelInput input = program.model_input();
    programs.push_back({place_in(sizes, input.sizes), json::parse(input.program), seconds[i]});
  }
  if (programs.empty()) return;
  if (machine != machine_) write(json{{"machine", json::parse(machine)}}.dump() + "\n");
  machine_ = machine;
  write(json{{"suite", test.suite},
             {"shape", shape},
             {"threads", threads},
             {"sizes", parsed(sizes)},
             {"programs", std::move(programs)}}
            .dump() +
        "\n");
}

void MeasurementFile::write(const std::string& line) {
  file_ << line << std::flush;
  if (!file_)
    throw Error(ErrorKind::device, fmt::format("--measurements {}: cannot be written: {}", path_,
                                               std::strerror(errno)));
}

}  // namespace dyn::cli
