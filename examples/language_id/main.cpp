// language_id: tells the language of each line. Every line is a shape of its own; nothing is
// padded.
//
//   language_id [--model DIR] [--threads N] [--device cpu|cuda|emulator] [--gpu NAME|INDEX] [FILE]
//
// For each line of FILE (or of stdin) one line on stdout: ISO 639-1 code, tab, probability. An
// empty line is "und" (undetermined), tab, 0.0000. Only the first 1024 bytes of a line count.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

constexpr std::size_t longest_line = 1024;

constexpr const char* usage =
    "usage: language_id [--model DIR] [--threads N] [--device cpu|cuda|emulator] [--gpu "
    "NAME|INDEX] [--precision TYPE] [--weights TYPE] [FILE]";

struct Arguments {
  std::string model_dir, file;
  dyn::Options options;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " needs a value");
      return argv[i];
    };
    if (word == "--model")
      arguments.model_dir = value();
    else if (word == "--threads")
      arguments.options.threads = std::max(1, std::atoi(value().c_str()));
    else if (word == "--device")
      arguments.options.device = value();
    else if (word == "--gpu")
      arguments.options.gpu = value();
    else if (word == "--precision")
      arguments.options.precision = value();
    else if (word == "--weights")
      arguments.options.weights = value();
    else if (word.size() > 1 && word[0] == '-')
      throw std::runtime_error(usage);
    else
      arguments.file = word;
  }
  return arguments;
}

/// The model's folder: beside the program, where it was built from, or where it was installed.
std::string find_model_dir() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const std::filesystem::path& candidate :
       {here, here / "language_id", here / "../share/dyn/language_id",
        std::filesystem::path(LANGUAGE_ID_MODEL_DIR)}) {
    if (std::filesystem::exists(candidate / "language_id.dyn")) return candidate.string();
  }
  throw std::runtime_error("language_id.dyn was not found; give its directory with --model DIR");
}

std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) labels.push_back(line);
  }
  if (labels.empty()) throw std::runtime_error(path + ": no labels");
  return labels;
}

class LanguageId {
 public:
  LanguageId(const std::string& model_dir, const dyn::Options& options)
      : labels_(read_labels(model_dir + "/labels.txt")),
        graph_(dyn::Graph::load(model_dir + "/language_id.dyn", options)),
        call_(graph_) {}

  struct Answer {
    std::string code;
    float probability;
  };

  Answer classify(const std::string& line) {
    if (line.empty()) return {"und", 0.0f};
    const std::size_t length = std::min(line.size(), longest_line);
    ids_.resize(length);
    for (std::size_t i = 0; i < length; ++i) ids_[i] = static_cast<unsigned char>(line[i]);
    call_.set_input("ids", dyn::Tensor::view(ids_, {1, static_cast<std::int64_t>(length)}));
    call_.run();
    const std::span<const float> probabilities = call_.output(0).data<float>();
    if (probabilities.size() != labels_.size())
      throw std::runtime_error("labels.txt does not fit the model");
    const auto best = std::max_element(probabilities.begin(), probabilities.end());
    return {labels_[static_cast<std::size_t>(best - probabilities.begin())], *best};
  }

  const dyn::Graph& graph() const { return graph_; }

 private:
  std::vector<std::string> labels_;
  dyn::Graph graph_;
  dyn::Call call_;
  std::vector<std::int64_t> ids_;
};

struct Totals {
  std::int64_t lines = 0;
  double seconds = 0;  ///< in classify
  std::set<std::size_t> lengths;
};

Totals classify_lines(std::istream& input, LanguageId& model) {
  using Clock = std::chrono::steady_clock;
  Totals totals;
  for (std::string line; std::getline(input, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const Clock::time_point start = Clock::now();
    const LanguageId::Answer answer = model.classify(line);
    totals.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    if (!line.empty()) totals.lengths.insert(std::min(line.size(), longest_line));
    ++totals.lines;
    std::printf("%s\t%.4f\n", answer.code.c_str(), static_cast<double>(answer.probability));
  }
  return totals;
}

void run(const Arguments& arguments) {
  LanguageId model(arguments.model_dir.empty() ? find_model_dir() : arguments.model_dir,
                   arguments.options);
  std::ifstream file;
  if (!arguments.file.empty()) {
    file.open(arguments.file);
    if (!file) throw std::runtime_error(arguments.file + ": cannot be opened");
  }
  const Totals totals = classify_lines(arguments.file.empty() ? std::cin : file, model);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
  std::fprintf(
      stderr,
      "%lld lines, %.0f lines/s, %zu distinct shapes, %lld kernels compiled after the load\n",
      static_cast<long long>(totals.lines),
      totals.seconds > 0 ? static_cast<double>(totals.lines) / totals.seconds : 0.0,
      totals.lengths.size(), static_cast<long long>(model.graph().kernels_compiled_since_load()));
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    run(parse_arguments(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "language_id: %s\n", error.what());
    return 1;
  }
}
