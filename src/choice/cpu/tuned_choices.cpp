#include "src/choice/cpu/tuned_choices.hpp"

#include <exception>
#include <string>

#include "src/choice/calibration/json.hpp"
#include "src/choice/cpu/legality.hpp"

namespace dyn::choice {
namespace {

struct Parsed {
  ContractionShape shape;
  Choice choice;
};

Parsed parse_program(const rkernel::TunedProgram& program) {
  Parsed parsed;
  nlohmann::json::parse(program.input.sizes).get_to(parsed.shape);
  nlohmann::json::parse(program.input.program).get_to(parsed.choice);
  parsed.choice.seconds = program.seconds;
  parsed.choice.tuned = true;
  return parsed;
}

}  // namespace

TunedChoices::TunedChoices(const Machine& machine, const rkernel::Tuning& tuning) {
  for (std::size_t i = 0; i < tuning.programs.size(); ++i) {
    const rkernel::TunedProgram& program = tuning.programs[i];
    Parsed parsed;
    try {
      parsed = parse_program(program);
    } catch (const std::exception& error) {
      throw rkernel::broken_program(tuning, i + 1, error.what());
    }
    if (const std::string wrong = illegality(machine, parsed.shape, parsed.choice, program.threads);
        !wrong.empty())
      throw rkernel::broken_program(tuning, i + 1, wrong);
    choices_.insert_or_assign(ChoiceKey(parsed.shape, program.threads), std::move(parsed.choice));
  }
}

const Choice* TunedChoices::find(const ChoiceKey& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

}  // namespace dyn::choice
