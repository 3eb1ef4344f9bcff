#pragma once
// The inputs of the cost model as JSON: a machine, the sizes of a contraction, a program. What one
// process measured, another one reads back exactly.

#include <nlohmann/json.hpp>

#include "src/choice/cpu/select.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// Throws nlohmann::json::exception where a field is missing or of another type.
void to_json(nlohmann::json& json, const Machine& machine);
void from_json(const nlohmann::json& json, Machine& machine);

void to_json(nlohmann::json& json, const TileSpeed& tile);
void from_json(const nlohmann::json& json, TileSpeed& tile);

/// The times of a block: `{"block": [tile_rows, tile_columns, rows, columns, depth], "depths":
/// [...], "alone": [...], "together": [...]}`.
void to_json(nlohmann::json& json, const PoolSpeed& speed);
void from_json(const nlohmann::json& json, PoolSpeed& speed);
void to_json(nlohmann::json& json, const BlockSpeed& speed);
void from_json(const nlohmann::json& json, BlockSpeed& speed);

/// `{"factors": name, "b": "in panels" or "as it lies"}`: BlockOperands::timed().
void to_json(nlohmann::json& json, const BlockOperands& operands);
void from_json(const nlohmann::json& json, BlockOperands& operands);

/// `[batch, m, n, k]`
void to_json(nlohmann::json& json, const ProductShape& shape);
void from_json(const nlohmann::json& json, ProductShape& shape);

void to_json(nlohmann::json& json, const ContractionShape& shape);
void from_json(const nlohmann::json& json, ContractionShape& shape);

/// `[threads, [region, ...]]`, each region `[m0, m, n0, n, tile_rows, tile_columns, block_m,
/// block_n, block_k, split_k, copy_a, lanes, direct_b, dot_rest]`; Choice::seconds is left out.
void to_json(nlohmann::json& json, const Choice& choice);
void from_json(const nlohmann::json& json, Choice& choice);

}  // namespace dyn::choice
