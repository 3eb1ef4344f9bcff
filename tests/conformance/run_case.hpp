#pragma once
// One case, run by dyn.

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tests/conformance/suite.hpp"

namespace dyn::conformance {

enum class Result {
  Pass,
  Fail,  ///< wrong numbers, an error that is none of `unsupported`, a crash, or no end within the
         ///< limit
  Refused,     ///< dyn says that it does not support it
  OutOfScope,  ///< not run
};

const char* name_of(Result result);

struct Outcome {
  Result result = Result::Fail;
  std::string reason;                  ///< in one line; empty where it passes
  std::map<std::string, int> targets;  ///< how many groups of the model ran where: {"cpu/avx2", 3}
  double seconds = 0;
};

struct RunSettings {
  std::string device = "cpu";
  int threads = 1;
};

Outcome run_case(const Case& test, const RunSettings& settings);

void to_json(nlohmann::json& json, const Outcome& outcome);
void from_json(const nlohmann::json& json, Outcome& outcome);

}  // namespace dyn::conformance
