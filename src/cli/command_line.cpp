// The commands, each with its flags.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/version.hpp"
#include "graph/passes/pipeline.hpp"
#include "src/cli/flags.hpp"
#include "src/cli/help/definition.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/tune/pool_search.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/tune/search.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cli {
namespace {

constexpr int usage_error = 2;
using Command = void (*)(const Arguments&);

struct Parser : Flags {
  CLI::App app{
      "dynrun: loads a neural-network graph whose dims are symbols, and runs it at any shape.\n"
      "Start with:  dynrun inspect MODEL.dyn   (what is in it)\n"
      "             dynrun run MODEL.dyn --random-weights --dims B=1 --dims S=37\n"
      "             dynrun bench MODEL.dyn --random-weights --dims B=1,8 --dims S=1..512*2"};
  Command command = nullptr;

  Parser() {
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string("dynrun ") + version());
    add_run();
    add_bench();
    add_report();
    add_import();
    add_quantize();
    add_inspect();
    add_explain();
    add_op();
    add_select();
    add_tune();
    add_devices();
    add_cache();
    add_help();
  }

  CLI::App* add_command(const std::string& name, const std::string& help, Command action) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([this, action] { command = action; });
    return sub;
  }

  void add_run() {
    CLI::App* sub = add_command("run", "Run a model once and summarise its outputs", run_model);
    add_model_flags(sub);
    add_threads(sub);
    add_shape_flags(sub);
    add_input_flags(sub);
    sub->add_option(
           "--save-outputs", arguments.save_outputs,
           "Write each output to DIR/<name>.npy (with _ for what the name of a file cannot have)")
        ->type_name("DIR");
    add_format(sub);
  }

  void add_bench() {
    CLI::App* sub = add_command("bench", "Time a model: load, first call, new shapes, steady state",
                                bench_model);
    add_model_flags(sub);
    add_thread_counts(sub,
                      "Threads for one run, the caller's included; several, such as 1,2, are "
                      "measured in turn at each shape, the load with the "
                      "first. Default: all that this process may use");
    add_shape_flags(sub);
    add_input_flags(sub);
    add_timing(sub);
    sub->add_flag("--profile", arguments.profile, "Time each group of the model as well");
    sub->add_option("--trace", arguments.trace,
                    "Write one run of each shape, with a track for each thread, for Perfetto "
                    "(https://ui.perfetto.dev) or chrome://tracing")
        ->type_name("FILE");
    sub->add_flag("--load-only", arguments.load_only,
                  "Load the model, print the load's times, and run nothing");
    add_skip_load(sub);
    add_format(sub);
  }

  void add_report() {
    CLI::App* sub = add_command(
        "report",
        "Write a page about a model at some shapes: latency, timeline, memory, choices, the load",
        report_model);
    sub->footer(
        "dynrun report MODEL.dyn --random-weights --dims B=1 --dims S=1..512*2 -o report.html\n"
        "dynrun report --from report.html -o report.json\n"
        "dynrun report --compare before.html after.html -o difference.html");
    add_model_flags(sub);
    sub->get_option("model")->required(false);
    sub->add_option("-o,--output", arguments.output,
                    "The page, one file that loads nothing; with the ending .json its data alone")
        ->required()
        ->type_name("FILE");
    sub->add_option("--from", arguments.report.from,
                    "Write this report again, a page or data, instead of measuring a model")
        ->type_name("REPORT");
    sub->add_option("--compare", arguments.report.compare,
                    "Write a page about two reports, pages or data, instead")
        ->expected(2)
        ->type_name("REPORT");
    sub->add_option("--peers", arguments.op.peers,
                    "Programs that run the same model, in alternating slices: "
                    "NAME=exec:PROGRAM ARGUMENTS, as docs/peers.md says; several with commas")
        ->type_name("LIST");
    add_thread_counts(sub,
                      "Threads for one run, the caller's included; several, such as 1,2, are "
                      "measured in turn. Default: all that this process may use");
    add_shape_flags(sub);
    add_input_flags(sub);
    add_timing(sub);
    add_skip_load(sub);
  }

  void add_import() {
    CLI::App* sub = add_command(
        "import", "Write an ONNX model as readable text and a safetensors file", import_model);
    sub->add_option("model", arguments.model, "The model, an .onnx file")
        ->required()
        ->type_name("MODEL");
    add_free_dims(sub);
    add_plugins(sub);
    sub->add_option("-o,--output", arguments.output,
                    "The text; weights go beside it, with the ending .safetensors. Default: the "
                    "model's name with the ending .dyn")
        ->type_name("FILE");
    add_structure_inputs(sub);
  }

  void add_quantize() {
    CLI::App* sub = add_command(
        "quantize", "Write a model whose products have weights of fewer bits, and show the errors",
        quantize_model);
    QuantizeArguments& quantize = arguments.quantize;
    sub->add_option("model", arguments.model, "The model, a .dyn or .onnx file")
        ->required()
        ->type_name("MODEL");
    add_free_dims(sub);
    sub->add_option("-o,--output", arguments.output,
                    "The text; weights go beside it, with the ending .safetensors")
        ->required()
        ->type_name("FILE");
    sub->add_option("--weights", quantize.weights,
                    "What weights of matmuls and convolutions become: i4 (default), codes of 4 "
                    "bits in groups that share a scale, or i8 with a scale for each column")
        ->check(CLI::IsMember({"i4", "i8"}));
    sub->add_option("--weight-group,--group", quantize.group,
                    "How many weights of 4 bits share a scale; default 32")
        ->check(CLI::IsMember(std::vector<int>(std::begin(rkernel::coding_blocks),
                                               std::end(rkernel::coding_blocks))));
    sub->add_option("--compute", quantize.compute,
                    "What they are multiplied in: f32 (default), bf16, or i8, which quantises the "
                    "other side when it runs, each row or image by its greatest magnitude; by "
                    "codes of 4 bits only in matmuls, convolutions then have weights of i8")
        ->check(CLI::IsMember({"f32", "bf16", "i8"}));
    sub->add_option("--calibrate", quantize.calibrate,
                    "A folder of inputs NAME.npy, or of such folders, a sample each: errors are "
                    "those on them, and with --compute i8 the other sides' greatest magnitudes are "
                    "theirs, once and for all")
        ->type_name("DIR");
    add_repeated(sub, "--exclude", quantize.exclude,
                 "Layers that stay f32, by the name of the result or of the weight; * stands for "
                 "anything");
    add_threads(sub);
    add_shape_flags(sub);
    add_input_flags(sub);
    sub->add_option("--seed", arguments.options.seed, "Seed of random inputs; default 0")
        ->check(whole_number());
    add_format(sub);
  }

  void add_inspect() {
    CLI::App* sub = add_command(
        "inspect", "Show what a model became: kernels, memory, shape classes", inspect_model);
    add_model_flags(sub);
    add_threads(sub);
    add_shape_flags(sub);
    add_structure_inputs(sub);
    sub->add_option("--group", arguments.group, "Only this group");
    CLI::Option* after = sub->add_option("--after", arguments.after,
                                         "Show the model's text after this pass instead: parse, " +
                                             graph::pass_names())
                             ->type_name("PASS");
    sub->add_flag(
           "--fusion", arguments.fusion,
           "Show for each group the nodes that joined it and those that were refused instead, "
           "and by which rule")
        ->excludes(after);
  }

  void add_explain() {
    CLI::App* sub = add_command(
        "explain", "Show for a shape which kernels were considered, their cost, and the choice",
        explain_model);
    add_model_flags(sub);
    add_threads(sub);
    add_shape_flags(sub);
    add_structure_inputs(sub);
    sub->add_option("--group", arguments.group, "Only this group");
    CLI::Option* measure =
        sub->add_flag("--measure", arguments.measure,
                      "Rank all programs of every policy instead, by time measured in runs of the "
                      "whole model, beside what was predicted");
    sub->add_flag("--asm", arguments.assembly,
                  "Print the code of the chosen kernels instead: assembly, or PTX on a GPU")
        ->excludes(measure);
    sub->add_option(
           "--dump-ptx", arguments.dump_ptx,
           "Also write the PTX of all groups on the GPU, a file for each shape class, to DIR")
        ->type_name("DIR");
    CLI::Option* counters = sub->add_flag(
        "--counters", arguments.counters,
        "Run the model once on the emulator instead, and print what each kernel did: instructions, "
        "passes over shared memory, sectors of memory, and the time that these take at least");
    for (const char* other : {"--measure", "--asm", "--dump-ptx"})
      counters->excludes(sub->get_option(other));
    add_format(sub);
  }

  void add_op() {
    CLI::App* sub = add_command(
        "op", "Time one operator beside other libraries and the machine's limit", bench_op);
    OpArguments& op = arguments.op;
    sub->footer(
        "dynrun op matmul \"f32[M,768] x f32[768,2304]\" --dims M=1..512*2 --peers "
        "onednn,openblas\n"
        "dynrun op matmul --suite tests/bench/suites/gemm-transformer.txt --threads 1,2 --format "
        "csv\n"
        "dynrun op softmax \"f32[B,S]\" --dims B=8 --dims S=128 --attr axis=-1 --cold");
    sub->add_option("operator", op.op,
                    "An operator of docs/ir.md; with --suite the suite's, if none is given")
        ->type_name("OP");
    sub->add_option(
           "types", op.types,
           "Its operands, separated by \" x \"; dims are numbers or names. An operand whose "
           "dims are all numbers is a constant weight where another one has names. "
           "`const f32[...]` and `input f32[...]` say which it is")
        ->type_name("TYPES");
    add_repeated(sub, "--suite", op.suites,
                 "A file of shapes (tests/bench/suites), instead of TYPES");
    sub->add_option("--dtypes", op.dtypes,
                    "With --suite, of its operands: u8,i8 or bf16,bf16. Default: f32,f32");
    add_repeated(sub, "--dims", arguments.dims,
                 "Values of the named dims, as for bench; several multiply. With --suite N, where "
                 "its convolutions have none (default 1)");
    add_repeated(sub, "--attr", op.attributes,
                 "An attribute of the operator: axis=-1, transpose_b=true, perm=[1,0]");
    add_thread_counts(
        sub, "Threads of dyn and of each peer; several are measured one after the other: 1,2");
    sub->add_flag("--cold", op.cold,
                  "Operands from memory: the model holds as many copies of the operator, each with "
                  "operands of its own, as exceed four times the "
                  "last cache. Default: the same operands again and again");
    sub->add_option("--peers", op.peers,
                    "Libraries to compare with, each in a process of its own, in alternating "
                    "slices: onednn, openblas, blis, mkl (found at "
                    "run time), NAME=LIBRARY.so, or NAME=exec:PROGRAM ARGUMENTS for a program that "
                    "speaks the protocol of docs/peers.md");
    sub->add_option("--rounds", op.rounds, "Slices of each side for each shape (default 5)")
        ->check(CLI::Range(1, 1000));
    sub->add_option(
           "--slice-ms", op.slice_ms,
           "Milliseconds of one slice, or one iteration where that takes longer (default 20)")
        ->check(number_in(0.01, 60000));
    add_weights(sub);
    sub->add_option("--precision", arguments.options.precision,
                    "What dyn multiplies in: f32 (default), bf16, f16 or i8. Peers do not change")
        ->check(CLI::IsMember(names(runtime::precisions(), [](const runtime::PrecisionInfo& each) {
          return each.on_cpu;
        })));
    add_vendor(sub);
    add_tuning(sub);
    sub->add_option("--isa", arguments.options.isa,
                    "Instruction set that dyn generates for; default: the best that the CPU has")
        ->check(CLI::IsMember(names(codegen::all_isas(), any)));
    sub->add_option("--cache-dir", arguments.options.cache_dir, "As for bench");
    sub->add_option("--seed", arguments.options.seed, "Seed of random operands; default 0")
        ->check(whole_number());
    add_format(sub);
  }

  void add_select() {
    CLI::App* sub = add_command("select",
                                "Compare who chooses best among the programs of a product: every "
                                "policy at many shapes, beside the best of all programs",
                                select_programs);
    SelectArguments& select = arguments.select;
    sub->footer(
        "dynrun select tests/bench/suites/gemm-transformer.txt --threads 1,2 --format csv --plot "
        "select.svg\n"
        "dynrun select matmul \"f32[M,768] x const f32[768,2304]\" --dims M=1..64*2 --policies "
        "dyn,mikpoly,oracle");
    sub->add_option("problems", select.words,
                    "Files of shapes (tests/bench/suites), or an operator and the types of its "
                    "operands, as for op")
        ->required()
        ->type_name("SUITE... | OP TYPES");
    sub->add_option("--policies", select.policies,
                    "Names separated by commas: dyn, vortex, mikpoly, ftuner, tscompiler, "
                    "dietcode, vendor, oracle (the best measured of all programs of the "
                    "others). Default: all of these. Also vortex-static1 and the like, as --policy "
                    "of run has them")
        ->type_name("LIST");
    add_repeated(
        sub, "--dims", arguments.dims,
        "Values of the named dims of TYPES, as for bench; several multiply. With a suite N, "
        "where its convolutions have none (default 1)");
    add_repeated(sub, "--attr", arguments.op.attributes,
                 "An attribute of the operator: transpose_b=true");
    sub->add_option(
           "--random", select.random,
           "Add this many problems like those of the suites, their sizes drawn log-uniformly in "
           "the suites' ranges")
        ->check(CLI::Range(0, 1000000));
    sub->add_flag("--random-only", select.random_only, "Leave out the suites' own shapes");
    sub->add_option("--most-gflop", select.most_gflop,
                    "Leave out problems of more than this many billion operations")
        ->check(number_in(1e-15, 1e15));
    add_thread_counts(sub, "Threads of one run; several are measured one after the other: 1,2");
    sub->add_option("--peers", arguments.op.peers,
                    "Libraries to compare the oracle with, as for op");
    sub->add_option("--rounds", select.rounds,
                    "Rounds in which programs that are near the best are measured, alternately to "
                    "choose and to score; each in another random order (default 10)")
        ->check(CLI::Range(2, 1000));
    sub->add_option("--slice-ms", select.slice_ms,
                    "Milliseconds of one program in one round, or one iteration where that takes "
                    "longer (default 1)")
        ->check(number_in(0.01, 60000));
    sub->add_option("--measurements", select.measurements,
                    "Write every program with its time, for fitting the cost model")
        ->type_name("FILE");
    sub->add_option("--plot", select.plot,
                    "Write the distribution of oracle's time over policy's time as SVG")
        ->type_name("FILE");
    sub->add_option("--device", arguments.options.device,
                    "cpu (default); with cuda and emulator nothing is run, and times are predicted")
        ->check(CLI::IsMember(names(runtime::devices(), [](const runtime::DeviceInfo& each) {
          return each.is_gpu || each.name == Options().device;
        })));
    sub->add_option("--gpu", arguments.options.gpu,
                    "A described GPU, such as a100, or a file that describes one, for cuda and "
                    "emulator")
        ->type_name("NAME|FILE.json|INDEX");
    add_weights(sub);
    sub->add_option("--precision", arguments.options.precision, "As for op and bench")
        ->check(CLI::IsMember(names(runtime::precisions(), any)));
    add_vendor(sub);
    add_tuning(sub);
    sub->add_option("--isa", arguments.options.isa,
                    "Instruction set to generate for; default: the best that the CPU has")
        ->check(CLI::IsMember(names(codegen::all_isas(), any)));
    add_cache_dir(sub);
    sub->add_option("--seed", arguments.options.seed,
                    "Seed of random shapes, operands and orders; default 0")
        ->check(whole_number());
    add_format(sub);
  }

  void add_tune() {
    CLI::App* sub = add_command(
        "tune",
        "Search for programs of matmuls that dyn's rules do not consider, or for the micro-kernels "
        "of a paper's policy, and write the better ones to a file for --tuning",
        tune_programs);
    TuneArguments& tune = arguments.tune;
    Options& options = arguments.options;
    sub->footer(
        "dynrun tune tests/bench/suites/gemm-gnn.txt --threads 1 --budget 200 -o gnn.json\n"
        "dynrun tune MODEL.dyn --random-weights --dims B=1 --dims S=53 --budget 60s -o bert.json\n"
        "dynrun run MODEL.dyn --random-weights --dims B=1 --dims S=53 --tuning bert.json\n"
        "dynrun tune tests/bench/suites/gemm-gnn.txt --policy tscompiler --threads 1 -o ts.json");
    sub->add_option("problems", arguments.select.words,
                    "Files of shapes (tests/bench/suites), or an operator and the types of its "
                    "operands, as for op; or a model")
        ->required()
        ->type_name("SUITE... | OP TYPES | MODEL");
    sub->add_option("-o,--output", arguments.output,
                    "The file. Where it exists, the search goes on from what is in it")
        ->required()
        ->type_name("FILE");
    std::string methods;
    for (const tune::MethodInfo& method : tune::all_methods())
      methods += fmt::format("{}{}: {}", methods.empty() ? "" : "; ", method.name, method.help);
    sub->add_option("--policy", tune.policy,
                    "Whose choice is tuned: dyn (default), by programs of each problem; or " +
                        pool_policies() +
                        ", by micro-kernels of the machine for all problems together, as their "
                        "papers search them")
        ->type_name("POLICY");
    sub->add_option("--method", tune.method, "With policy dyn: " + methods + ". Default: bayes")
        ->check(CLI::IsMember(names(tune::all_methods(), any)));
    sub->add_option(
           "--budget", tune.budget,
           "How many programs are tried for each problem, or micro-kernels for all of them, "
           "such as 200 (default), or for how long, such as 30s or 5m, with what the file has "
           "already")
        ->type_name("N|TIME");
    add_repeated(sub, "--dims", arguments.dims,
                 "Values of the named dims of TYPES, or of the model's, as for bench; several "
                 "multiply");
    add_repeated(sub, "--attr", arguments.op.attributes, "As for op");
    add_free_dims(sub);
    sub->add_flag("--random-weights", options.random_weights, "As for bench");
    sub->add_option("--most-gflop", arguments.select.most_gflop,
                    "Leave out problems of suites with more than this many billion operations")
        ->check(number_in(1e-15, 1e15));
    add_thread_counts(sub, "Threads of one run; several are tuned one after the other: 1,2");
    sub->add_option("--rounds", tune.rounds,
                    "Rounds in which dyn's own choice and the best programs are compared in the "
                    "end, alternately to choose and to score (default 8)")
        ->check(CLI::Range(2, 1000));
    sub->add_option("--slice-ms", tune.slice_ms,
                    "Milliseconds of one program in one round, or of a micro-kernel, or one run "
                    "where that takes longer (default 1)")
        ->check(number_in(0.01, 60000));
    sub->add_option("--device", options.device,
                    "cpu (default); with cuda and emulator nothing is run, and times are predicted")
        ->check(CLI::IsMember(names(runtime::devices(), [](const runtime::DeviceInfo& each) {
          return each.is_gpu || each.name == Options().device;
        })));
    sub->add_option("--gpu", options.gpu,
                    "A described GPU, such as a100, or a file that describes one, for cuda and "
                    "emulator")
        ->type_name("NAME|FILE.json|INDEX");
    add_weights(sub);
    sub->add_option("--precision", options.precision, "As for op and bench")
        ->check(CLI::IsMember(names(runtime::precisions(), any)));
    sub->add_option("--isa", options.isa,
                    "Instruction set to generate for; default: the best that the CPU has")
        ->check(CLI::IsMember(names(codegen::all_isas(), any)));
    add_cache_dir(sub);
    sub->add_option("--seed", options.seed,
                    "Seed of the search, of random weights and inputs; default 0")
        ->check(whole_number());
    add_format(sub);
  }

  void add_devices() {
    CLI::App* sub = add_command(
        "devices",
        "Show this machine's CPU and what was measured of it, its GPUs, and the described GPUs",
        show_devices);
    add_threads(sub);
    add_cache_dir(sub);
    add_format(sub);
  }

  void add_cache() {
    CLI::App* sub = app.add_subcommand(
        "cache",
        "Show or clear the directory of generated code, measurements and prepacked weights");
    add_threads(sub);
    add_cache_dir(sub);
    sub->add_subcommand("show", "Path, files and size (the default)")->fallthrough();
    CLI::App* clear = sub->add_subcommand("clear", "Remove dyn's files from it")->fallthrough();
    sub->callback([this, clear] { command = clear->parsed() ? clear_cache : show_cache; });
  }

  /// Not in the help: for those who build and document dynrun.
  void add_help() {
    CLI::App* sub =
        add_command("help", "Print all of the command line in the form of a file", print_help);
    sub->group("");
    HelpArguments& help = arguments.help;
    CLI::Option* man = sub->add_flag("--man", help.man, "A page for man");
    CLI::Option* page = sub->add_flag("--markdown", help.markdown, "docs/command_line.md");
    sub->add_option("--completion", help.completion, "What this shell completes words by")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->excludes(man)
        ->excludes(page);
    man->excludes(page);
  }
};

int report(const std::exception& error) {
  show_progress("");
  fmt::print(stderr, "dynrun: error: {}\n", error.what());
  return 1;
}

/// "--dims N=3 H=61": the second value stands behind no flag. Says how to give it.
void explain_extra_values(const CLI::App& app, std::span<char*> words) {
  const std::vector<std::string> extras = app.remaining(true);
  std::string flag, values;
  for (const std::string_view word : words) {
    if (word.starts_with("--")) {
      if (!values.empty()) break;
      flag = word;
    } else if (word.find('=') != std::string_view::npos &&
               std::ranges::find(extras, word) != extras.end()) {
      values += fmt::format(" {} {}", flag, word);
    }
  }
  const std::vector<const CLI::App*> commands = app.get_subcommands(nullptr);
  const bool repeats = std::ranges::any_of(commands, [&](const CLI::App* command) {
    const CLI::Option* option = command->parsed() ? command->get_option_no_throw(flag) : nullptr;
    return option != nullptr &&
           option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  });
  if (values.empty() || !repeats) return;
  fmt::print(stderr, "Each value needs a {} of its own:{}\n", flag, values);
}

/// "dynrun op ... --device cuda": says which command knows of other devices.
void explain_device(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const bool is_asked = std::ranges::any_of(
      extras, [](const std::string& word) { return word.starts_with("--device"); });
  if (!is_asked || !app.get_subcommand("op")->parsed()) return;
  fmt::print(stderr,
             "dynrun op times operators on the CPU. For a described GPU dynrun select predicts "
             "times: dynrun select OP TYPES --device cuda --gpu a100\n");
}

}  // namespace

ProgramHelp program_help() {
  ProgramHelp help = described(Parser().app);
  help.version = version();
  return help;
}

int run_command_line(int argc, char** argv) {
  Parser parser;
  parser.arguments.program = std::filesystem::read_symlink("/proc/self/exe").string();
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = parser.app.exit(error) == 0;
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
      explain_extra_values(parser.app, {argv, static_cast<std::size_t>(argc)});
      explain_device(parser.app);
    }
    return is_help ? 0 : usage_error;
  }
  try {
    parser.arguments.options.free_dims = parse_free_dims(parser.arguments.free_dims);
    parser.command(parser.arguments);
    if (std::fflush(stdout) != 0)
      throw Error(ErrorKind::device, "standard output cannot be written");
    return 0;
  } catch (const std::exception& error) { return report(error); }
}

}  // namespace dyn::cli
