#include "src/runtime/tuning/tuning_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"
#include "targets/llvm/jit/code_stamp.hpp"

namespace dyn::runtime {
namespace {

// An ordered one keeps what people look for first at the top.
using nlohmann::ordered_json;
using Program = TunedProblem::Program;
using Trial = TunedProblem::Trial;

constexpr const char* format_key = "dyn_tuning";
constexpr int format_number = 1;

ordered_json json_of(const Program& program) {
  return {{"words", program.words}, {"seconds", program.seconds}};
}

ordered_json json_of(const TunedProblem& problem) {
  ordered_json json{{"name", problem.name}, {"threads", problem.threads}};
  if (problem.own) json["dyn"] = json_of(*problem.own);
  if (problem.best) json["best"] = json_of(*problem.best);
  if (problem.program) json["program"] = ordered_json::parse(problem.program->program);
  json["sizes"] = ordered_json::parse(problem.sizes);
  if (problem.program) json["program_sizes"] = ordered_json::parse(problem.program->sizes);
  json["spent_seconds"] = problem.spent_seconds;
  json["scored"] = problem.scored;
  json["axes"] = problem.axes;
  ordered_json& trials = json["trials"] = ordered_json::array();
  for (const Trial& trial : problem.trials) trials.push_back({trial.ratio, trial.point});
  return json;
}

double positive(const ordered_json& json) {
  const auto number = json.get<double>();
  if (!std::isfinite(number) || number <= 0)
    throw std::invalid_argument(fmt::format("{} is no time", json.dump()));
  return number;
}

std::optional<Program> program_from(const ordered_json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return Program{json[key].at("words").get<std::string>(), positive(json[key].at("seconds"))};
}

TunedProblem problem_from(const ordered_json& json) {
  TunedProblem problem{json.at("name").get<std::string>(), json.at("threads").get<int>(),
                       json.at("sizes").dump(), json.at("axes").get<std::vector<std::string>>()};
  problem.own = program_from(json, "dyn");
  problem.best = program_from(json, "best");
  if (json.contains("program")) {
    if (!problem.best) throw std::invalid_argument("it has a program, and no \"best\"");
    problem.program = {json.at("program_sizes").dump(), json["program"].dump()};
  }
  problem.spent_seconds = json.at("spent_seconds").get<double>();
  problem.scored = json.at("scored").get<bool>();
  for (const ordered_json& each : json.at("trials")) {
    Trial trial{each.at(1).get<std::vector<std::int64_t>>(), positive(each.at(0))};
    if (trial.point.size() != problem.axes.size())
      throw std::invalid_argument(
          fmt::format("{} is no point of {} axes", each.dump(), problem.axes.size()));
    problem.trials.push_back(std::move(trial));
  }
  return problem;
}

ordered_json json_of(const TunedKernelPool& pool) {
  const nlohmann::json shapes = pool.shapes, measured = pool.measured;
  ordered_json json = {{"policy", name_of(pool.policy)}, {"threads", pool.threads}};
  if (pool.threads != 0) json["operands"] = nlohmann::json(pool.operands);
  json.update({{"seed", pool.seed},
               {"of_limit", pool.of_limit},
               {"spent_seconds", pool.spent_seconds},
               {"kept", pool.kept},
               {"shapes", shapes},
               {"measured", measured}});
  return json;
}

TunedKernelPool pool_from(const nlohmann::json& json) {
  const auto name = json.at("policy").get<std::string>();
  const std::optional<rkernel::Policy> policy = rkernel::policy_named(name);
  if (!policy) throw std::invalid_argument(fmt::format("there is no policy '{}'", name));
  TunedKernelPool pool{*policy,
                       json.at("threads").get<int>(),
                       json.at("seed").get<std::uint64_t>(),
                       json.at("shapes").get<std::vector<choice::ProductShape>>(),
                       json.at("measured").get<std::vector<choice::PoolSpeed>>(),
                       json.at("kept").get<std::vector<std::size_t>>()};
  json.at("of_limit").get_to(pool.of_limit);
  json.at("spent_seconds").get_to(pool.spent_seconds);
  if (pool.threads != 0) json.at("operands").get_to(pool.operands);
  for (const std::size_t kept : pool.kept) {
    if (kept >= pool.measured.size())
      throw std::invalid_argument(fmt::format("micro-kernel {} is not among {} that were measured",
                                              kept, pool.measured.size()));
  }
  return pool;
}

TuningFile file_from(const ordered_json& json) {
  if (!json.is_object() || !json.contains(format_key))
    throw std::invalid_argument(fmt::format("it has no \"{}\"", format_key));
  if (json[format_key] != format_number)
    throw std::invalid_argument(
        fmt::format("its format is {}, not {}", json[format_key].dump(), format_number));
  TuningFile file{json.at("version").get<std::string>(),
                  json.at("target").get<std::string>(),
                  json.at("machine").get<std::string>(),
                  json.at("times").get<std::string>(),
                  std::nullopt,
                  json.at("method").get<std::string>(),
                  json.at("seed").get<std::uint64_t>()};
  if (!json.at("model").is_null()) file.model = json["model"].get<std::string>();
  for (const ordered_json& problem : json.at("problems"))
    file.problems.push_back(problem_from(problem));
  if (!json.contains("pools")) return file;
  for (const ordered_json& pool : json["pools"])
    file.pools.push_back(pool_from(nlohmann::json(pool)));
  return file;
}

/// A line for each: the lists of trials are long.
template <class Of>
std::string lines_of(const char* key, const std::vector<Of>& all) {
  std::string text = fmt::format(",\n \"{}\": [", key);
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",", json_of(all[i]).dump());
  return text + "\n ]";
}

}  // namespace

std::string tuning_version() { return codegen::code_stamp(); }

std::string to_json(const TuningFile& file) {
  ordered_json json{
      {format_key, format_number},
      {"version", file.version},
      {"target", file.target},
      {"machine", file.machine},
      {"times", file.times},
      {"model", file.model ? ordered_json(*file.model) : ordered_json()},
      {"method", file.method},
      {"seed", file.seed},
  };
  std::string text = json.dump(1);
  text.resize(text.rfind("\n}"));
  text += lines_of("problems", file.problems);
  if (!file.pools.empty()) text += lines_of("pools", file.pools);
  return text + "\n}\n";
}

TuningFile tuning_file_from(const std::string& text, const std::string& name) {
  try {
    return file_from(ordered_json::parse(text));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::user, fmt::format("'{}' is no tuning file: {}; dynrun tune makes one",
                                             name, error.what()));
  }
}

TuningFile read_tuning_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.good() && !stream.eof())
    throw Error(ErrorKind::device, fmt::format("the tuning file '{}' cannot be read", path));
  return tuning_file_from(text, path);
}

std::shared_ptr<const rkernel::Tuning> load_tuning(const std::string& path) {
  if (path.empty()) return nullptr;
  TuningFile file = read_tuning_file(path);
  if (file.version != tuning_version()) {
    throw Error(ErrorKind::user,
                fmt::format("the tuning file '{}' was made by {}, but this is {}: programs and "
                            "their times may differ; tune anew, or load without the file",
                            path, file.version, tuning_version()));
  }
  auto tuning = std::make_shared<rkernel::Tuning>();
  tuning->file = path;
  tuning->target = std::move(file.target);
  tuning->machine = std::move(file.machine);
  tuning->has_problems = !file.problems.empty();
  for (TunedProblem& problem : file.problems) {
    if (problem.program)
      tuning->programs.push_back(
          {*std::move(problem.program), problem.threads, problem.best->seconds});
  }
  for (const TunedKernelPool& pool : file.pools) {
    nlohmann::json kernels = nlohmann::json::array();
    for (const std::size_t kept : pool.kept) kernels.push_back(pool.measured[kept]);
    tuning->pools.push_back({pool.policy, pool.threads, kernels.dump(),
                             nlohmann::json(pool.shapes).dump(),
                             pool.threads == 0 ? "" : nlohmann::json(pool.operands).dump()});
  }
  return tuning;
}

std::optional<rkernel::Policy> tuned_as(rkernel::Policy policy) {
  switch (policy) {
    case rkernel::Policy::TSCompiler: return policy;
    case rkernel::Policy::DietCode:
    case rkernel::Policy::DietCodePadding:
    case rkernel::Policy::DietCodePartition: return rkernel::Policy::DietCode;
    default: return std::nullopt;
  }
}

void require_content(const rkernel::Tuning& tuning, rkernel::Policy policy, int threads) {
  if (policy == rkernel::Policy::Oracle) return;
  const std::optional<rkernel::Policy> taken = tuned_as(policy);
  const auto on = [](int count) {
    return count == 0 ? std::string() : fmt::format(" on {} threads", count);
  };
  const bool has_pool = std::ranges::any_of(tuning.pools, [&](const rkernel::TunedPool& pool) {
    return pool.policy == taken && pool.threads == threads;
  });
  if (has_pool || (!taken && (tuning.has_problems || tuning.pools.empty()))) return;
  std::string others;
  for (const rkernel::TunedPool& pool : tuning.pools) {
    const std::string other = fmt::format("'{}'{}", name_of(pool.policy), on(pool.threads));
    if (others.find(other) == std::string::npos) others += (others.empty() ? "" : ", ") + other;
  }
  throw Error(
      ErrorKind::user,
      fmt::format("the tuning file '{}' has nothing for policy '{}'{}{}; dynrun tune --policy {}{} "
                  "makes it",
                  tuning.file, name_of(policy), on(threads),
                  others.empty() ? "" : ", but micro-kernels for " + others,
                  name_of(taken.value_or(policy)),
                  threads == 0 ? "" : fmt::format(" --threads {}", threads)));
}

void require_same_model(const std::string& path, const std::string& model) {
  const TuningFile file = read_tuning_file(path);
  if (!file.model || *file.model == model) return;
  throw Error(ErrorKind::user,
              fmt::format("the tuning file '{}' was made for the model '{}', not for '{}'; tune "
                          "this model, or load it without the file",
                          path, *file.model, model));
}

}  // namespace dyn::runtime
