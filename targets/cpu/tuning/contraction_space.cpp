#include "targets/cpu/tuning/contraction_space.hpp"

#include <algorithm>

#include "src/choice/cost/program_cost.hpp"
#include "src/choice/cpu/strategy_space.hpp"

namespace dyn::cpu {
namespace {

constexpr std::size_t most_seeds = 16;
constexpr std::int64_t most_tickets_per_thread = 4096;

class ContractionSpace final : public rkernel::ProgramSpace {
 public:
  ContractionSpace(const ContractionForms& forms, const GeneratedPrograms& programs,
                   std::vector<std::int64_t> ints, int threads)
      : context_(forms.context()),
        programs_(programs),
        ints_(std::move(ints)),
        space_(context_.machine(), context_.candidates(), forms.shapes_of(ints_), threads) {}

  const std::vector<Axis>& axes() const override { return space_.axes(); }
  bool allows(const Point& point) const override { return space_.allows(point); }

  /// Scratch of all threads stays in the last cache, and taking tickets is a small part of the
  /// time.
  bool fits(const Point& point) const override {
    if (!space_.promises(point)) return false;
    const choice::Choice choice = space_.choice_at(point);
    const rkernel::Launch launch = programs_.launch(ints_, choice);
    const std::vector<choice::MemoryLevel>& levels = context_.machine().levels;
    const std::int64_t room = levels.size() > 1 ? levels[levels.size() - 2].bytes : 0;
    const auto scratch = static_cast<std::int64_t>(launch.scratch_bytes) * choice.threads;
    return launch.tickets <= most_tickets_per_thread * choice.threads &&
           (room == 0 || scratch <= room);
  }

  double unmet(const Point& point) const override { return space_.unmet(point); }
  std::vector<Point> seeds() const override { return space_.seeds(most_seeds); }

  rkernel::Candidate program(const Point& point) const override {
    choice::Choice choice = space_.choice_at(point);
    const choice::ContractionShape& shape = space_.shape_at(point);
    choice.seconds =
        choice::program_cost(context_.machine(), shape, choice.program, choice.threads);
    return programs_.candidate(ints_, shape, choice);
  }

 private:
  const ContractionContext& context_;
  const GeneratedPrograms& programs_;
  std::vector<std::int64_t> ints_;
  choice::StrategySpace space_;
};

}  // namespace

std::unique_ptr<const rkernel::ProgramSpace> make_program_space(
    const ContractionForms& forms, const GeneratedPrograms& programs,
    const rkernel::PlanRequest& request) {
  std::vector<std::int64_t> ints = forms.slots().evaluate(request.symbols);
  const choice::ContractionShape shape = forms.shape_of(forms.front().form, ints);
  if (shape.batch * shape.m * shape.n == 0) return nullptr;
  return std::make_unique<const ContractionSpace>(forms, programs, std::move(ints),
                                                  request.threads);
}

}  // namespace dyn::cpu
