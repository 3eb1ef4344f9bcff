#include "src/cli/tune/tuned_work.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/program_run.hpp"
#include "src/cli/select/selected_cases.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "src/runtime/plan/oracle.hpp"
#include "src/runtime/system/thread_count.hpp"

namespace dyn::cli {
namespace {

std::vector<int> thread_counts(const Arguments& arguments, bool measured) {
  if (!arguments.thread_counts.empty()) return arguments.thread_counts;
  return {measured ? runtime::default_threads() : 1};
}

/// True for a kernel of the device that is tuned for, whose programs differ at these sizes. What a
/// GPU leaves to the CPU is not tuned with it.
bool has_programs(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                  bool measured) {
  return (kernel.space() == rkernel::Space::Device) != measured &&
         kernel.program_space(request) != nullptr;
}

std::string dims_text(const runtime::Model& model, const std::vector<std::int64_t>& symbols) {
  std::string text;
  for (const auto& [name, value] : named_dims(model, symbols))
    text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

std::string sizes_of(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request) {
  const rkernel::Choices choices = kernel.choices(request, rkernel::Policy::Dyn);
  if (choices.candidates.empty() || !choices.candidates.front().model_input) return {};
  return choices.candidates.front().model_input().sizes;
}

bool names_model(const std::vector<std::string>& words) {
  return words.size() == 1 && (words[0].ends_with(".dyn") || words[0].ends_with(".onnx"));
}

void for_each_op(const Arguments& arguments, bool measured, const VisitWork& visit) {
  const std::vector<OpCase> cases = selected_cases(arguments).cases;
  OpModels models(arguments.options);
  for (const int threads : thread_counts(arguments, measured)) {
    for (const OpCase& test : cases) {
      const std::shared_ptr<const runtime::Model> model = models.get(test.problem, 1, threads);
      const std::vector<std::int64_t> symbols = model->bind_dims(open_dims_of(test));
      const rkernel::PlanRequest request{symbols, model->threads()};
      for (std::size_t group = 0; group < model->problems().size(); ++group) {
        if (!has_programs(model->kernel(group), request, measured)) continue;
        TunedWork work{describe(test), &model->kernel(group), request, {}};
        if (measured)
          work.make_timer = [&] {
            return make_op_timer(model, test, group, arguments.options.seed);
          };
        if (!visit(work)) return;
        break;  // an operator's model has one contraction
      }
    }
  }
}

void for_each_group(const Arguments& given, bool measured,
                    const std::function<void(const std::string&)>& named, const VisitWork& visit) {
  Arguments arguments = given;
  for (const int threads : thread_counts(arguments, measured)) {
    arguments.options.threads = threads;
    const std::shared_ptr<const runtime::Model> loaded = load_model(arguments);
    named(loaded->module().name);
    if (measured) runtime::require_measurable(loaded->executable());
    for (const std::vector<std::int64_t>& asked : requested_shapes(*loaded, arguments, {})) {
      const auto [model, symbols] = model_at(loaded, asked);
      std::set<std::string> seen;
      for (std::size_t group = 0; group < model->problems().size(); ++group) {
        const rkernel::Kernel& kernel = model->kernel(group);
        const rkernel::PlanRequest request{symbols, model->threads()};
        if (!has_programs(kernel, request, measured) ||
            !seen.insert(sizes_of(kernel, request)).second)
          continue;
        TunedWork work{
            model->fusion().groups[group].name + dims_text(*model, symbols), &kernel, request, {}};
        if (measured)
          work.make_timer = [model = model, symbols = symbols, group, &arguments] {
            return make_group_timer(model, symbols, group, arguments.options.seed);
          };
        if (!visit(work)) return;
      }
    }
  }
}

}  // namespace dyn::cli
