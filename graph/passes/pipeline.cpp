#include "graph/passes/pipeline.hpp"

#include <algorithm>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/products/fill_groups.hpp"
#include "graph/passes/products/find_attention.hpp"
#include "graph/passes/products/narrow_attention.hpp"
#include "graph/passes/products/narrow_products.hpp"
#include "graph/passes/products/narrow_windows.hpp"
#include "graph/passes/products/quantize_products.hpp"
#include "graph/passes/products/share_heads.hpp"
#include "graph/passes/widen_halves.hpp"

namespace dyn::graph {
namespace {

#ifdef NDEBUG
constexpr bool verifies = false;
#else
constexpr bool verifies = true;
#endif

constexpr Pass passes[] = {
    {"widen_halves", "f16 and bf16 become f32 before what computes in several steps",
     [](Module& module, Fusion&, const PipelineOptions& options) {
       widen_halves(module, options.decompose.multiplies_bfloats);
     }},
    {"decompose", "attention is found in its parts, other compound operators become primitives",
     [](Module& module, Fusion&, const PipelineOptions& options) {
       if (options.decompose.keep_attention) {
         find_attention(module);
         share_heads(module);
       }
       decompose(module, options.decompose);
     }},
    {"simplify", "constants fold, identities and duplicates go",
     [](Module& module, Fusion&, const PipelineOptions&) { simplify(module); }},
    {"sink_transposes", "transposes move behind what is computed element by element",
     [](Module& module, Fusion&, const PipelineOptions&) { sink_transposes(module); }},
    {"cancel_transposes", "what has met there goes: simplify once more",
     [](Module& module, Fusion&, const PipelineOptions&) { simplify(module); }},
    {"merge_siblings",
     "matmuls of one value by constant weights, and what follows all alike, become one",
     [](Module& module, Fusion&, const PipelineOptions& options) {
       merge_siblings(module, options.fuse.columns_apart);
     }},
    {"narrow_products",
     "factors of products with weights become bf16 or bytes, where that is asked for; attention "
     "reads keys and values in the bits that states hold; windows slide over bytes",
     [](Module& module, Fusion&, const PipelineOptions& options) {
       narrow_attention(module, options.decompose.key_dtypes);
       if (options.products == DType::bf16 || options.products == DType::i8) {
         const std::int64_t group = product_group_of(options.products);
         const ConstantProducts products(module, group);
         fill_groups(module, [&](const Node& node) { return products.has(node) ? group : 0; });
       }
       if (is_half(options.products)) narrow_products(module, options.products);
       if (options.products == DType::i8) quantize_products(module, options.decompose);
       narrow_windows(module);
     }},
    {"fuse", "nodes become groups, values get their places in memory",
     [](Module& module, Fusion& fusion, const PipelineOptions& options) {
       fusion = fuse(module, options.fuse);
     }},
};

}  // namespace

std::span<const Pass> pipeline() { return passes; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(passes, name, &Pass::name);
  return found == std::end(passes) ? nullptr : found;
}

std::string pass_names() {
  std::string names;
  for (const Pass& pass : passes) names += (names.empty() ? "" : ", ") + std::string(pass.name);
  return names;
}

Fusion run_pipeline(Module& module, const PipelineOptions& options, const PassObserver& after) {
  Fusion fusion;
  for (const Pass& pass : passes) {
    pass.run(module, fusion, options);
    if (verifies) verify(module);
    if (after) after(pass, module);
  }
  return fusion;
}

}  // namespace dyn::graph
