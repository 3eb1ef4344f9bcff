#include "src/cli/flags.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "src/runtime/load/option_values.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cli {
namespace {

constexpr int most_threads = 1024;  // as Options::threads

std::string device_help() {
  std::string help;
  for (const runtime::DeviceInfo& device : runtime::devices())
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", device.name, device.help);
  return help;
}

}  // namespace

CLI::Validator number_in(double least, double most) {
  const auto check = [=](const std::string& text) {
    double value = 0;
    const bool inside = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return inside ? std::string()
                  : fmt::format("'{}' is not a number from {:g} to {:g}", text, least, most);
  };
  return {check, fmt::format("{:g} to {:g}", least, most)};
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end
               ? std::string()
               : fmt::format("'{}' is not a whole number from 0 to {}", text,
                             std::numeric_limits<std::uint64_t>::max());
  };
  return {check, "whole number"};
}

void Flags::add_threads(CLI::App* sub) {
  sub->add_option(
         "--threads", arguments.options.threads,
         "Threads for one run, the caller's included; default: all that this process may use")
      ->check(CLI::Range(1, most_threads));
}

void Flags::add_thread_counts(CLI::App* sub, const std::string& help) {
  sub->add_option("--threads", arguments.thread_counts, help)
      ->delimiter(',')
      ->check(CLI::Range(1, most_threads))
      ->expected(1, 64)
      ->allow_extra_args(false);
}

void Flags::add_cache_dir(CLI::App* sub) {
  sub->add_option("--cache-dir", arguments.options.cache_dir,
                  "Where generated code, measurements and prepacked weights are kept; \"none\": "
                  "nowhere. Default: $DYN_CACHE_DIR, "
                  "$XDG_CACHE_HOME/dyn or ~/.cache/dyn");
}

void Flags::add_format(CLI::App* sub) {
  static const std::map<std::string, Format> names{
      {"md", Format::md}, {"csv", Format::csv}, {"json", Format::json}};
  sub->add_option("--format", arguments.format, "md (default), csv or json")
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""))
      ->default_str("md")
      ->type_name("md|csv|json");
}

void Flags::add_weights(CLI::App* sub) {
  sub->add_option("--weights", arguments.options.weights,
                  "On the CPU how weights of matmuls are kept: f32, bf16, f16, i8 with a scale "
                  "for each column, or i4 with a scale for each group. Default: as "
                  "--precision says. Limits count these bytes")
      ->check(CLI::IsMember(names(runtime::weight_forms(), any)));
  sub->add_option("--weight-group", arguments.options.weight_group,
                  "With --weights i4: how many weights share a scale: 16, 32 (default), 64, 128 or "
                  "256");
}

void Flags::add_vendor(CLI::App* sub) {
  sub->add_flag("--vendor", arguments.options.vendor,
                "With policy dyn oneDNN computes matmuls on the CPU too, where it is installed and "
                "predicted to be faster");
}

void Flags::add_tuning(CLI::App* sub) {
  sub->add_option("--tuning", arguments.options.tuning,
                  "A file of dynrun tune: policy dyn takes its programs at exactly the problems "
                  "that they were tuned for, policies tscompiler and dietcode its micro-kernels")
      ->type_name("FILE");
}

void Flags::add_model_flags(CLI::App* sub) {
  Options& options = arguments.options;
  sub->add_option("model", arguments.model,
                  "The model, a .dyn or .onnx file; -: one of either format on the standard input")
      ->required()
      ->type_name("MODEL");
  add_free_dims(sub);
  sub->add_option("--device", options.device, device_help())
      ->check(CLI::IsMember(names(runtime::devices(), any)));
  sub->add_option("--gpu", options.gpu,
                  "With cuda: the index of a GPU (default: the first), or the name of a "
                  "described one, for inspect and explain. With emulator: "
                  "the described GPU that it imitates (default a100). dynrun devices lists both")
      ->type_name("NAME|FILE.json|INDEX");
  sub->add_option("--memory-budget", options.memory_budget,
                  "The most bytes, such as 200MB, of the host's memory for weights, for what runs "
                  "work in, and for outputs. Default 0: no limit")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  sub->add_option("--device-memory", options.device_memory,
                  "With cuda and emulator: the most bytes, such as 500MB, that all runs together "
                  "hold on the device besides weights; runs wait for each other's. Default 0: "
                  "no limit")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  sub->add_option(
         "--precision", options.precision,
         "What matmuls and convolutions multiply in: f32 (default), bf16, f16 or i8; with cuda "
         "and emulator "
         "f32, tf32, f16 or bf16. Sums are f32, or exact")
      ->check(CLI::IsMember(names(runtime::precisions(), any)));
  add_weights(sub);
  sub->add_option("--isa", options.isa,
                  "Instruction set to generate for; default: the best that the CPU has")
      ->check(CLI::IsMember(names(codegen::all_isas(), any)));
  sub->add_option("--seed", options.seed, "Seed of random weights and inputs; default 0")
      ->check(whole_number());
  sub->add_flag("--random-weights", options.random_weights,
                "Random weights instead of the model's; needs no weights file");
  sub->add_option("--weight-cache", options.weight_cache_bytes,
                  "Most bytes of prepacked weights in the cache directory, such as 500MB; 0: "
                  "keep none. Default 8GiB")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  sub->add_option(
         "--policy", options.policy,
         "Who chooses how matmuls run: dyn (default); a published method: vortex, mikpoly, "
         "ftuner, tscompiler, dietcode; one without a part: vortex-static1, vortex-static2, "
         "vortex-analytical, vortex-empirical, mikpoly-wave, mikpoly-pipe, or with what a paper "
         "compares itself with: dietcode-padding, dietcode-partition; vendor: oneDNN where it "
         "can; oracle: the fastest program of all the others but those without a part, each of "
         "which is run at every new shape, which is slow")
      ->type_name("POLICY");
  add_vendor(sub);
  add_tuning(sub);
  sub->add_flag("--deterministic", options.deterministic,
                "Results on the CPU do not depend on the number of threads");
  add_strict(sub);
  sub->add_option("--max-loop-steps", options.max_loop_steps,
                  "Loops whose number of steps a run decides end with an error beyond so many")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  sub->add_flag("--perf-map", options.perf_map, "Write names of generated code for Linux perf");
  add_plugins(sub);
  add_cache_dir(sub);
}

void Flags::add_strict(CLI::App* sub) {
  sub->add_flag("--strict", arguments.options.strict,
                "A division of integers by 0, and a region of RoiAlign that is not finite, are "
                "errors of a run");
}

void Flags::add_plugins(CLI::App* sub) {
  sub->add_option(
         "--plugin", arguments.options.plugins,
         "A shared object with operators that the model uses (dyn/plugin.h); once for each")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void Flags::add_free_dims(CLI::App* sub) {
  add_repeated(sub, "--free", arguments.free_dims,
               "Frees dims of an input of an ONNX file: data=N,3,H,W. For each dim a name, the "
               "same for equal dims; _ for one without a name; or the file's number, "
               "which stays. Shapes that the file computes from them follow, or are refused");
}

void Flags::add_timing(CLI::App* sub) {
  sub->add_option("--iterations", arguments.iterations,
                  "Exactly this many timed runs for each shape")
      ->check(CLI::Range(1, 1000000000));
  sub->add_option("--duration", arguments.duration_seconds,
                  "Seconds of timed runs for each shape (default 1, emulator 0; at least 3 runs)")
      ->check(number_in(0, 1e6));
  sub->add_option("--warmup", arguments.warmup_seconds,
                  "Seconds of runs before the timed ones (default 0.2, emulator 0)")
      ->check(number_in(0, 1e6));
  sub->add_option("--percentile", arguments.percentiles,
                  "Percentiles of the run time beside the median; default 95")
      ->delimiter(',')
      ->check(number_in(0, 100))
      ->expected(1, 16)
      ->allow_extra_args(false);
}

void Flags::add_skip_load(CLI::App* sub) {
  sub->add_flag("--skip-load", arguments.skip_load,
                "Do not time the load, cold and cached, in processes of their own");
}

void Flags::add_shape_flags(CLI::App* sub) {
  add_repeated(sub, "--dims", arguments.dims,
               "Values of a dim: S=37, S=1,8,64, S=1..4 (each), S=16..128+16 (arithmetic), "
               "S=1..512*2 (geometric). "
               "Several --dims multiply. Dims without one take the model's hint. For a model with "
               "state they also say what a session is made for, and how many positions it has, "
               "filled with random numbers");
  add_repeated(sub, "--shapes", arguments.shapes,
               "Shapes of inputs instead: ids=1x37 or ids=1x37,mask=1x37. Several --shapes are "
               "several shapes");
}

void Flags::add_input_flags(CLI::App* sub) {
  add_repeated(sub, "--load-inputs", arguments.load_inputs,
               "An input from a NumPy file: name=file.npy; without --dims and --shapes it also "
               "decides the dims. "
               "Other inputs are random: normal floats, integers in the range that they index, "
               "masks all 1");
}

void Flags::add_structure_inputs(CLI::App* sub) {
  add_repeated(sub, "--load-inputs", arguments.load_inputs,
               "An input of an ONNX model whose values decide its structure, from a NumPy file: "
               "axes=file.npy");
}

}  // namespace dyn::cli
