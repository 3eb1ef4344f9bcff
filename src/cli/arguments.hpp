#pragma once
// The command line, before a model is looked at.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dyn/options.hpp"
#include "src/cli/report/table.hpp"
#include "src/rkernel/problem/factors.hpp"

namespace dyn::cli {

/// Further arguments of `dynrun op`.
struct OpArguments {
  std::string op, types, peers;
  std::string dtypes;  ///< of a suite's operands, separated by commas; empty: as it has them
  std::vector<std::string> suites, attributes;
  bool cold = false;
  int rounds = 5;
  double slice_ms = 20;
};

/// Arguments of `dynrun select` beyond those in OpArguments.
struct SelectArguments {
  std::vector<std::string> words;            ///< SUITE..., or OPERATOR TYPES
  std::string policies, plot, measurements;  ///< empty: all; none; none
  int random = 0;                            ///< how many random shapes
  bool random_only = false;                  ///< leaves out the suites' own shapes
  double most_gflop = 0;                     ///< limit for one problem; 0: any
  int rounds = 10;
  double slice_ms = 1;
};

/// Arguments of `dynrun tune` beyond those in SelectArguments.
struct TuneArguments {
  std::string policy = "dyn", method, budget = "200";  ///< empty method: the policy's
  int rounds = 8;
  double slice_ms = 1;
};

/// Arguments of `dynrun quantize`.
struct QuantizeArguments {
  std::string weights = "i4", compute = "f32";
  int group = rkernel::usual_coding_block;
  std::string calibrate;             ///< a folder of samples; empty: none
  std::vector<std::string> exclude;  ///< patterns of names
};

/// Arguments of `dynrun help`.
struct HelpArguments {
  bool man = false, markdown = false;
  std::string completion;  ///< for this shell; empty: none
};

/// Arguments of `dynrun report` beyond those of `dynrun bench` and its peers.
struct ReportArguments {
  std::string from;                  ///< a report to write again; empty: none
  std::vector<std::string> compare;  ///< two reports, or none
};

struct Arguments {
  std::string program;  ///< dynrun's own file, for child processes
  std::string model;
  Options options;
  std::vector<int> thread_counts;  ///< for bench and op: each number of threads is measured for
                                   ///< itself; empty: the default number
  std::vector<std::string> dims, shapes, load_inputs,
      free_dims;  ///< as written; one entry for each flag
  std::string save_outputs, trace, group, dump_ptx, after;
  std::string output;           ///< for import, quantize, report and tune: the file to write;
                                ///< empty: beside the model
  std::int64_t iterations = 0;  ///< 0: by duration
  std::optional<double> duration_seconds, warmup_seconds;  ///< none: the device's default
  std::vector<double> percentiles = {95};
  bool profile = false, load_only = false, skip_load = false;
  Format format = Format::md;
  OpArguments op;
  SelectArguments select;
  TuneArguments tune;
  QuantizeArguments quantize;
  HelpArguments help;
  ReportArguments report;
  bool measure = false;   ///< for explain
  bool assembly = false;  ///< for explain
  bool counters = false;  ///< for explain
  bool fusion = false;    ///< for inspect
};

/// Options::free_dims of the flags --free INPUT=DIM,DIM,... Throws Error(user).
std::map<std::string, std::vector<std::string>> parse_free_dims(
    const std::vector<std::string>& flags);

// The commands. Each prints to stdout and throws dyn::Error.
void run_model(const Arguments& arguments);
void bench_model(const Arguments& arguments);
void report_model(const Arguments& arguments);
void import_model(const Arguments& arguments);
void quantize_model(const Arguments& arguments);
void inspect_model(const Arguments& arguments);
void explain_model(const Arguments& arguments);
void bench_op(const Arguments& arguments);
void select_programs(const Arguments& arguments);
void tune_programs(const Arguments& arguments);
void show_devices(const Arguments& arguments);
void show_cache(const Arguments& arguments);
void clear_cache(const Arguments& arguments);
void print_help(const Arguments& arguments);

/// Parses, runs a command, reports errors on stderr. Returns the exit code: 0, 1 for an error, 2
/// for wrong usage.
int run_command_line(int argc, char** argv);

}  // namespace dyn::cli
