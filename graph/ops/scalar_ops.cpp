#include "graph/ops/scalar_ops.hpp"

#include <cmath>

#include "graph/ops/scalar_values.hpp"

namespace dyn::graph {
namespace scalar {
namespace {

constexpr int none() { return 0; }

constexpr ScalarOpInfo table[] = {
#define DYN_SCALAR_OP(name, text, operands, takes, traits, instructions, onnx, libm, value, \
                      integer, code, integer_code, summary)                                 \
  {ScalarOp::name,                                                                          \
   text,                                                                                    \
   operands,                                                                                \
   ScalarOperands::takes,                                                                   \
   traits,                                                                                  \
   instructions,                                                                            \
   onnx,                                                                                    \
   libm,                                                                                    \
   []([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { return value; },    \
   []([[maybe_unused]] DType dtype, [[maybe_unused]] std::int64_t x,                        \
      [[maybe_unused]] std::int64_t y) -> std::int64_t { return integer; },                 \
   summary},
#include "graph/ops/scalar_ops.def"
};

}  // namespace
}  // namespace scalar

std::span<const ScalarOpInfo> scalar_ops() { return scalar::table; }

}  // namespace dyn::graph
