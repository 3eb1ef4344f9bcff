#include "src/cli/quantize/errors.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/unique_names.hpp"
#include "src/cli/input/session.hpp"

namespace dyn::cli {
namespace {

namespace fs = std::filesystem;

/// The entries of a folder in the order of their names. Throws Error(user) where it is none.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    entries.push_back(entry.path());
  if (error)
    throw Error(ErrorKind::user,
                fmt::format("--calibrate {}: {}", folder.string(), error.message()));
  std::ranges::sort(entries);
  return entries;
}

LoadedInputs sample_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& entry : entries_of(folder)) {
    if (entry.extension() == ".npy") files.push_back(entry.stem().string() + "=" + entry.string());
  }
  return load_inputs(files);
}

bool is_empty(const LoadedInputs& sample) { return sample.tensors.empty() && sample.texts.empty(); }

}  // namespace

std::vector<LoadedInputs> samples_of(const Arguments& arguments, const std::string& folder) {
  if (folder.empty()) return {load_inputs(arguments.load_inputs)};
  std::vector<LoadedInputs> samples{sample_in(folder)};
  if (!is_empty(samples.front())) return samples;
  samples.clear();
  for (const fs::path& entry : entries_of(folder)) {
    if (!fs::is_directory(entry)) continue;
    samples.push_back(sample_in(entry));
    if (is_empty(samples.back())) samples.pop_back();
  }
  if (samples.empty())
    throw Error(ErrorKind::user,
                fmt::format("--calibrate {}: there is no NAME.npy, neither there nor in a folder "
                            "of it",
                            folder));
  return samples;
}

graph::Module watching(graph::Module module, const std::vector<graph::ValueId>& values) {
  graph::UniqueNames names;
  for (const std::string& name : module.output_names) names.take(name);
  for (const graph::ValueId id : values) {
    module.outputs.push_back(id);
    module.output_names.push_back(names.unique(fmt::format("watched.{}", module.outputs.size())));
    if (!module.output_types.empty()) module.output_types.push_back(module.value(id).type);
    if (!module.output_texts.empty()) module.output_texts.emplace_back();
  }
  return module;
}

void run_samples(const std::shared_ptr<const runtime::Model>& model, const Arguments& arguments,
                 const std::vector<LoadedInputs>& samples,
                 const std::function<void(std::size_t sample, const std::vector<Tensor>&)>& visit) {
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    TextCoder texts(model->inputs(), model->outputs());
    const std::map<std::string, Tensor> given = as_declared(samples[sample], *model, texts);
    const std::vector<std::int64_t> symbols = requested_shape(*model, arguments, given);
    const std::vector<Tensor> inputs =
        make_inputs(*model, symbols, given, arguments.options.seed + sample);
    runtime::CallState call =
        make_call(model, make_session(model, symbols, arguments.options.seed));
    for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
    call.run();
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < model->outputs().size(); ++i) outputs.push_back(call.output(i));
    visit(sample, outputs);
  }
}

void RelativeError::add(const Tensor& expected, const Tensor& found) {
  const auto wanted = expected.data<float>(), given = found.data<float>();
  for (std::size_t i = 0; i < wanted.size() && i < given.size(); ++i) {
    const double error = double{given[i]} - double{wanted[i]};
    missing_ += error * error;
    all_ += double{wanted[i]} * double{wanted[i]};
  }
}

double RelativeError::value() const {
  if (missing_ == 0) return 0;
  return std::sqrt(missing_ / all_);
}

}  // namespace dyn::cli
