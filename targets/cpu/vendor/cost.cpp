#include "targets/cpu/vendor/cost.hpp"

#include <algorithm>

#include "targets/cpu/vendor/blocks.hpp"

namespace dyn::cpu {

double vendor_seconds(const choice::Machine& machine, const VendorFigures& figures,
                      const choice::ContractionShape& shape, int threads, std::int64_t tickets,
                      bool epilogue) {
  const VendorRate& rate = shape.b_packed ? figures.packed : figures.fresh;
  const auto active = static_cast<int>(std::clamp<std::int64_t>(tickets, 1, threads));
  const auto units = static_cast<double>(active);
  const std::int64_t rounds = (tickets + active - 1) / active;
  const double waiting =
      static_cast<double>(rounds) * units /
      static_cast<double>(std::max<std::int64_t>(tickets, 1));  // of the last round's idle threads
  const auto batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m),
             n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const auto moved = [&](double elements, std::size_t level) {
    return 4 * elements / machine.bandwidth_per_thread(level, active) / units;
  };
  const double products = 2 * batch * m * n * k / rate.flops_per_second / units;
  const double reads = moved(batch * m * k, shape.a_level) +
                       moved((shape.b_packed ? 1 : batch) * n * k, shape.b_level);
  const double sums =
      epilogue
          ? moved(2 * batch * m * n, machine.level_of(static_cast<std::int64_t>(4 * batch * m * n)))
          : 0;
  return std::max(products, reads) * waiting + sums +
         rate.seconds_per_execution * static_cast<double>(rounds) +
         (active > 1 ? machine.seconds_per_wakeup : 0);
}

VendorChoice choose_vendor_threads(const choice::Machine& machine, const VendorFigures& figures,
                                   const choice::ContractionShape& shape, int threads,
                                   bool epilogue) {
  const auto with = [&](int count) {
    const std::int64_t tickets =
        shape.batch *
        cut_blocks({shape.batch, shape.m, shape.n, shape.k}, machine.panel, count).count();
    return VendorChoice{count, tickets,
                        vendor_seconds(machine, figures, shape, count, tickets, epilogue)};
  };
  const VendorChoice alone = with(1);
  if (threads == 1) return alone;
  const VendorChoice together = with(threads);
  return together.seconds < alone.seconds ? together : alone;
}

}  // namespace dyn::cpu
