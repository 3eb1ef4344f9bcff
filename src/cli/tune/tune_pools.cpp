#include "src/cli/tune/tune_pools.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/choice/calibration/json.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/table.hpp"
#include "src/cli/report/units.hpp"
#include "src/cli/tune/pool_search.hpp"
#include "src/cli/tune/stop_signals.hpp"
#include "src/cli/tune/tuned_file.hpp"
#include "src/cli/tune/tuned_work.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "src/runtime/system/cache_dir.hpp"
#include "src/tune/search.hpp"
#include "targets/cpu/policies/micro_kernels.hpp"
#include "targets/cpu/tuning/block_bench.hpp"

namespace dyn::cli {
namespace {

using runtime::TunedKernelPool;
using runtime::TuningFile;
using Shapes = std::vector<choice::ProductShape>;

constexpr double seconds_between_pool_writes = 5;

bool are_equal(const choice::ProductShape& a, const choice::ProductShape& b) {
  return a.batch == b.batch && a.m == b.m && a.n == b.n && a.k == b.k;
}

bool names_gpu(const Arguments& arguments) { return arguments.options.device != Options().device; }

/// Problems that are tuned together: on as many threads, with operands that are timed alike. On a
/// GPU neither counts: 0 threads, and no operands.
using Together = std::pair<int, choice::BlockOperands>;

/// Where micro-kernels are searched, as a file has it.
struct PoolPlace {
  std::string target, machine;
  std::shared_ptr<const tune::PoolMachine> figures;
  PoolMeasure measure;
};

/// A block of B that is read as it lies is part of a matrix as wide as the widest.
cpu::TimedOperands timed_with(const choice::BlockOperands& operands, const Shapes& shapes) {
  constexpr std::int64_t most_columns = 4096;
  cpu::TimedOperands timed{operands.factors};
  if (operands.direct_b)
    timed.b_row = std::min(most_columns, std::ranges::max(shapes, {}, &choice::ProductShape::n).n);
  return timed;
}

PoolPlace cpu_place(const Arguments& arguments, const Together& together, const Shapes& shapes) {
  const auto bench = std::make_shared<const cpu::BlockBench>(
      arguments.options.isa, together.first,
      runtime::resolve_cache_dir(arguments.options.cache_dir), timed_with(together.second, shapes));
  const double slice = arguments.tune.slice_ms / ms;
  return {bench->target_name(), bench->machine().name, tune::pool_machine(bench->machine()),
          [bench, slice](const choice::PoolPlan& plan) {
            const choice::BlockSpeed speed =
                bench->measure({choice::block_of(plan.block), plan.depths, plan.together}, slice);
            return choice::PoolSpeed{plan, speed.alone, speed.together};
          }};
}

/// Nothing runs.
PoolPlace gpu_place(const Arguments& arguments) {
  const Options& options = arguments.options;
  const runtime::DescribedContractions gpu = runtime::described_contractions(options);
  const std::shared_ptr<const tune::GpuPoolMachine> machine =
      tune::pool_machine(gpu.machine, gpu.kinds);
  return {fmt::format("{}/{}", options.device, gpu.machine.name), gpu.machine.product, machine,
          [machine](const choice::PoolPlan& plan) { return machine->predicted(plan); }};
}

/// The threads and operands that a problem of these sizes is tuned with.
Together together_with(const nlohmann::json& sizes, int threads) {
  return {threads, cpu::operands_of(sizes.get<choice::ContractionShape>()).timed()};
}

/// The sizes of all problems asked for, each once, by what they are tuned with.
std::map<Together, Shapes> shapes_of(const Arguments& arguments) {
  const bool on_gpu = names_gpu(arguments);
  std::map<Together, Shapes> all;
  const auto visit = [&](const TunedWork& work) {
    const std::string sizes = sizes_of(*work.kernel, work.request);
    if (sizes.empty()) return true;
    const auto json = nlohmann::json::parse(sizes);
    const choice::ProductShape product{json.at("batch"), json.at("m"), json.at("n"), json.at("k")};
    Shapes& known = all[on_gpu ? Together() : together_with(json, work.request.threads)];
    const bool is_known = std::ranges::any_of(
        known, [&](const choice::ProductShape& other) { return are_equal(other, product); });
    if (!is_known) known.push_back(product);
    return StopSignals::caught() == 0;
  };
  if (arguments.model.empty())
    for_each_op(arguments, !on_gpu, visit);
  else
    for_each_group(arguments, !on_gpu, [](const std::string&) {}, visit);
  return all;
}

/// The file of one command.
class PoolTuner {
 public:
  explicit PoolTuner(const Arguments& arguments)
      : arguments_(arguments),
        path_(arguments.output),
        policy_(pool_policy(arguments.tune.policy)),
        former_(former_tuning(path_)) {
    settings_.budget = parse_budget(arguments.tune.budget);
    settings_.stops = [] { return StopSignals::caught() != 0; };
    if (former_) file_ = *former_;
    if (!former_ || former_->problems.empty()) {
      file_.method = tune::all_methods().front().name;
      file_.seed = arguments.options.seed;
      file_.times = names_gpu(arguments) ? "predicted" : "measured";
    }
    file_.version = runtime::tuning_version();
  }

  void run() {
    const std::map<Together, Shapes> all = shapes_of(arguments_);
    if (all.empty())
      throw Error(ErrorKind::user,
                  fmt::format("there is nothing to tune: none of the problems is computed in "
                              "blocks that policy '{}' could choose",
                              name_of(policy_)));
    for (const auto& [together, shapes] : all) {
      if (StopSignals::caught() != 0) break;
      tune(together, shapes);
    }
  }

  void report() const {
    std::vector<Row> rows;
    for (const TunedKernelPool& pool : tuned_) rows.push_back(row_of(pool));
    fmt::print("{}", to_text(rows, arguments_.format));
    if (StopSignals::caught() != 0)
      fmt::print(stderr, "stopped by a signal; the same command goes on from '{}'\n", path_);
  }

 private:
  void tune(const Together& together, const Shapes& shapes) {
    const PoolPlace place =
        names_gpu(arguments_) ? gpu_place(arguments_) : cpu_place(arguments_, together, shapes);
    file_.target = place.target;
    file_.machine = place.machine;
    if (former_) require_same_place(path_, *former_, file_);
    written_ = Clock::now();
    settings_.progress = [&] { show(); };
    PoolSearch search(settings_, place.figures, begun(together, shapes), place.measure);
    search_ = &search;
    search.run();
    search_ = nullptr;
    show_progress("");
    tuned_.push_back(search.pool());
    put(file_, search.pool());
    write_tuning(path_, file_);
  }

  /// The pool that a former command left, or an empty one.
  TunedKernelPool begun(const Together& together, const Shapes& shapes) const {
    TunedKernelPool pool{policy_, together.first, arguments_.options.seed, shapes};
    pool.operands = together.second;
    const auto found = std::ranges::find_if(
        file_.pools, [&](const TunedKernelPool& other) { return is_same(other, pool); });
    if (found == file_.pools.end()) return pool;
    require_equal(path_, "seed", std::to_string(found->seed), std::to_string(pool.seed));
    if (!std::ranges::equal(found->shapes, shapes, are_equal))
      throw Error(
          ErrorKind::user,
          fmt::format("'{}' cannot be resumed: its micro-kernels of policy '{}'{} are for "
                      "other sizes; give another --output, or remove the file",
                      path_, name_of(policy_),
                      pool.threads == 0 ? "" : fmt::format(" on {} threads", pool.threads)));
    return *found;
  }

  static bool is_same(const TunedKernelPool& a, const TunedKernelPool& b) {
    return a.policy == b.policy && a.threads == b.threads && a.operands == b.operands;
  }

  static void put(TuningFile& file, const TunedKernelPool& pool) {
    const auto found = std::ranges::find_if(
        file.pools, [&](const TunedKernelPool& other) { return is_same(other, pool); });
    if (found != file.pools.end())
      *found = pool;
    else
      file.pools.push_back(pool);
  }

  void show() {
    const TunedKernelPool& pool = search_->pool();
    const std::string on = pool.threads == 0 ? "" : fmt::format(", threads {}", pool.threads);
    show_progress(fmt::format("{}{}: {} micro-kernels in {:.0f} s", name_of(policy_), on,
                              pool.measured.size(), pool.spent_seconds));
    if (seconds_since(written_) < seconds_between_pool_writes) return;
    search_->keep_best();
    TuningFile so_far = file_;
    put(so_far, pool);
    write_tuning(path_, so_far);
    written_ = Clock::now();
  }

  static Row row_of(const TunedKernelPool& pool) {
    return {{"policy", std::string(name_of(pool.policy))},
            {"threads", pool.threads == 0 ? Cell() : Cell(std::int64_t{pool.threads})},
            {"operands", pool.threads == 0 ? Cell() : Cell(pool.operands.name())},
            {"problems", static_cast<std::int64_t>(pool.shapes.size())},
            {"tried", static_cast<std::int64_t>(pool.measured.size())},
            {"seconds", pool.spent_seconds},
            {"kept", static_cast<std::int64_t>(pool.kept.size())},
            {"of_limit", pool.of_limit}};
  }

  const Arguments& arguments_;
  std::string path_;
  rkernel::Policy policy_;
  PoolSettings settings_;
  TuningFile file_;
  std::optional<TuningFile> former_;
  std::vector<TunedKernelPool> tuned_;
  PoolSearch* search_ = nullptr;
  Clock::time_point written_ = Clock::now();
};

}  // namespace

void tune_pools(const Arguments& arguments) {
  pool_policy(arguments.tune.policy);
  if (!arguments.tune.method.empty())
    throw Error(ErrorKind::user,
                fmt::format("--method is for policy dyn; policy '{}' is searched as its paper does",
                            arguments.tune.policy));
  PoolTuner tuner(arguments);
  tuner.run();
  tuner.report();
}

}  // namespace dyn::cli
