#include "src/cli/select/shape_bench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/statistics.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/choosing_time.hpp"
#include "src/cli/select/program_run.hpp"
#include "src/runtime/plan/candidates.hpp"

namespace dyn::cli {
namespace {

using runtime::CandidateUnion;
using runtime::PolicyView;

/// The programs of one shape, run in turn; the first result of each is compared.
class Programs {
 public:
  Programs(const std::shared_ptr<const runtime::Model>& model, const OpCase& test,
           std::size_t group, const CandidateUnion& candidates, std::uint64_t seed)
      : run_(model, test, group, seed),
        candidates_(candidates),
        checked_(candidates.programs.size()) {
    for (const rkernel::Candidate& program : candidates.programs)
      plans_.push_back(run_.plan_of(program));
  }

  double sample(std::size_t program, double slice_seconds) {
    const double seconds = run_.seconds(plans_[program], candidates_.programs[program].program,
                                        slice_seconds, !checked_[program]);
    checked_[program] = true;
    return seconds;
  }

 private:
  ProgramRun run_;
  const CandidateUnion& candidates_;
  std::vector<runtime::PlanPtr> plans_;
  std::vector<bool> checked_;
};

/// The measured seconds of each program, and the oracle's choice.
struct Times {
  std::vector<std::optional<double>> seconds;
  std::vector<double> all;  ///< of measured ones, samples for choosing included
  std::size_t best = 0;
};

Times predicted_times(const CandidateUnion& candidates) {
  Times times;
  for (const rkernel::Candidate& program : candidates.programs) {
    times.seconds.push_back(program.launch.predicted_seconds);
    if (*times.seconds.back() < *times.seconds[times.best]) times.best = times.seconds.size() - 1;
  }
  return times;
}

Times measured_times(const ShapeBench& bench, const CandidateUnion& candidates, Programs& programs,
                     const std::vector<PeerProcess*>& peers, std::optional<double>& peer_seconds) {
  std::vector<std::size_t> always;
  for (const PolicyView& view : candidates.policies) {
    if (view.chosen) always.push_back(*view.chosen);
  }
  std::vector<std::vector<double>> of_peers(peers.size());
  const auto time_peers = [&] {
    if (peers.empty()) return;
    wait_until_helpers_idle();
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i] == nullptr) continue;
      if (const std::optional<double> seconds = peers[i]->time(bench.sampling.slice_seconds))
        of_peers[i].push_back(*seconds);
      peers[i]->wait_until_idle();
    }
  };
  const auto take = [&](std::size_t program, double slice_seconds) {
    return programs.sample(program, slice_seconds);
  };
  const Sampled sampled =
      sample_programs(candidates.programs.size(), always, bench.sampling, take, time_peers);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] == nullptr || !peers[i]->alive() || of_peers[i].empty()) continue;
    const double seconds = percentile(of_peers[i], lower_quartile);
    peer_seconds = peer_seconds ? std::min(*peer_seconds, seconds) : seconds;
  }
  Times times{{}, {}, sampled.best};
  for (const ProgramSamples& samples : sampled.programs) {
    times.seconds.push_back(samples.scoring_seconds());
    times.all.push_back(samples.seconds());
  }
  return times;
}

PolicyRecord record_of(rkernel::Policy policy, const CandidateUnion& candidates,
                       const Times& times) {
  PolicyRecord record{policy, 0, {}, std::nullopt, std::nullopt, {}};
  std::optional<std::size_t> chosen;
  std::string reason;
  if (policy == rkernel::Policy::Oracle) {
    record.candidates = static_cast<std::int64_t>(candidates.programs.size());
    if (!candidates.programs.empty()) chosen = times.best;
  } else {
    const PolicyView& view =
        *std::find_if(candidates.policies.begin(), candidates.policies.end(),
                      [&](const PolicyView& one) { return one.policy == policy; });
    record.candidates = static_cast<std::int64_t>(view.considered.size());
    record.predicted_seconds = view.predicted_seconds;
    reason = view.none_reason;
    chosen = view.chosen;
  }
  record.program = chosen ? candidates.programs[*chosen].program
                          : "none: " + (reason.empty() ? "it considers no program" : reason);
  if (chosen) record.measured_seconds = times.seconds[*chosen];
  return record;
}

/// The group whose programs are compared: the contraction or the attention. None where the operator
/// has neither.
std::optional<std::size_t> compared_group(const runtime::Model& model) {
  const auto& problems = model.problems();
  const auto found = std::ranges::find_if(problems, [](const rkernel::Problem& problem) {
    return problem.contraction.has_value() || problem.attention.has_value();
  });
  if (found == problems.end()) return std::nullopt;
  return static_cast<std::size_t>(found - problems.begin());
}

bool is_empty(const OpCase& test) {
  return element_count(result_of(test.problem, test.values).shape) == 0;
}

}  // namespace

ShapeRecord bench_shape(const ShapeBench& bench, const std::shared_ptr<const runtime::Model>& model,
                        const OpCase& test, const std::vector<PeerProcess*>& peers) {
  ShapeRecord record;
  record.suite = test.suite;
  record.threads = model->threads();
  record.shape = fmt::format("{}{}threads={}", describe_dims(test), test.names.empty() ? "" : " ",
                             record.threads);
  const std::optional<std::size_t> group = compared_group(*model);
  if (is_empty(test) || !group) {
    const std::string none =
        is_empty(test) ? "none: there is nothing to compute" : "none: there is one way to run it";
    for (const rkernel::Policy policy : bench.policies)
      record.policies.push_back({policy, 0, none, std::nullopt, std::nullopt, {}});
    return record;
  }
  const std::vector<std::int64_t> symbols = model->bind_dims(open_dims_of(test));
  const rkernel::PlanRequest request{symbols, model->threads()};
  const rkernel::Kernel& kernel = model->kernel(*group);
  const CandidateUnion candidates = runtime::candidates_of(kernel, request, bench.policies);
  record.programs = static_cast<std::int64_t>(candidates.programs.size());
  Times times;
  if (!candidates.programs.empty()) {
    if (bench.measured) {
      Programs programs(model, test, *group, candidates, bench.seed);
      times = measured_times(bench, candidates, programs, peers, record.peer_seconds);
      if (bench.file != nullptr)
        bench.file->add(test, record.shape, record.threads, kernel.model_machine(), candidates,
                        times.all);
    } else {
      times = predicted_times(candidates);
    }
    record.oracle_seconds = times.seconds[times.best];
  }
  for (const rkernel::Policy policy : bench.policies) {
    PolicyRecord& one = record.policies.emplace_back(record_of(policy, candidates, times));
    if (one.candidates > 0) one.choosing = time_choosing(kernel, request, policy);
  }
  return record;
}

}  // namespace dyn::cli
