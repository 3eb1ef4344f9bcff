#include "src/runtime/plan.hpp"

namespace dyn::runtime {
namespace {

double sum(const Plan& plan, double rkernel::Launch::*field) {
  double total = 0;
  for (const rkernel::Launch& launch : plan.launches) total += launch.*field;
  return total;
}

}  // namespace

double Plan::flops() const { return sum(*this, &rkernel::Launch::flops); }
double Plan::bytes() const { return sum(*this, &rkernel::Launch::bytes); }
double Plan::predicted_seconds() const { return sum(*this, &rkernel::Launch::predicted_seconds); }

}  // namespace dyn::runtime
