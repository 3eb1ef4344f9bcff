#include "src/choice/calibration/json.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

template <>
struct nlohmann::adl_serializer<dyn::DType> {
  static void to_json(json& json, dyn::DType dtype) { json = dyn::name_of(dtype); }
  static void from_json(const json& json, dyn::DType& dtype) {
    const auto name = json.get<std::string>();
    const auto known = dyn::parse_dtype(name);
    if (!known) throw std::invalid_argument(fmt::format("there is no dtype '{}'", name));
    dtype = *known;
  }
};

template <>
struct nlohmann::adl_serializer<dyn::rkernel::Factors> {
  static void to_json(json& json, const dyn::rkernel::Factors& factors) { json = factors.name(); }
  static void from_json(const json& json, dyn::rkernel::Factors& factors) {
    using dyn::rkernel::Factors;
    for (int kind = 0; kind < dyn::rkernel::group_count; ++kind) {
      const auto group = static_cast<dyn::rkernel::Group>(kind);
      factors = Factors(group);
      if (factors.grouped() && json == factors.name()) return;
      for (const int block : dyn::rkernel::coding_blocks) {
        for (const dyn::DType scale : {dyn::DType::f16, dyn::DType::f32}) {
          for (const bool zeros : {false, true}) {
            for (const int bits : dyn::rkernel::coding_bits) {
              factors = Factors(dyn::rkernel::Coding{block, scale, zeros, bits}, group);
              if (json == factors.name()) return;
            }
          }
        }
      }
    }
    factors = json.get<dyn::DType>();
  }
};

namespace dyn::choice {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryLevel, name, bytes, bandwidth)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WindowStrips, row_elements, windows, step, taps)

namespace {

using nlohmann::json;

constexpr const char *in_panels = "in panels", *as_it_lies = "as it lies";

/// Calls `visit(name, member)` for every member of a machine that was measured. `Of`: Machine,
/// const or not.
template <class Of, class Visit>
void for_each_member(Of& machine, const Visit& visit) {
  visit("name", machine.name);
  visit("threads", machine.threads);
  visit("vector_width", machine.vector_width);
  visit("panel", machine.panel);
  visit("seconds_per_vector_operation", machine.seconds_per_vector_operation);
  visit("seconds_per_call", machine.seconds_per_call);
  visit("seconds_per_ticket", machine.seconds_per_ticket);
  visit("seconds_per_wakeup", machine.seconds_per_wakeup);
  visit("levels", machine.levels);
  visit("tiles", machine.tiles);
  visit("narrow_tiles", machine.narrow_tiles);
  visit("dot_rows", machine.dot_rows);
}

template <class Of, class Visit>
void for_each_size(Of& shape, const Visit& visit) {
  visit("lanes", shape.lanes);
  visit("batch", shape.batch);
  visit("m", shape.m);
  visit("n", shape.n);
  visit("k", shape.k);
  visit("a_dtype", shape.a_dtype);
  visit("b_dtype", shape.b_dtype);
  visit("b_packed", shape.b_packed);
  visit("must_pack_b", shape.must_pack_b);
  visit("b_row_bytes", shape.b_row_bytes);
  visit("must_copy_a", shape.must_copy_a);
  visit("a_row_bytes", shape.a_row_bytes);
  visit("a_slides", shape.a_slides);
  visit("a_distinct", shape.a_distinct);
  visit("a_runs", shape.a_runs);
  visit("a_strips", shape.a_strips);
  visit("epilogue_operations", shape.epilogue_operations);
  visit("inlined_rows", shape.inlined_rows);
  visit("epilogue_bytes", shape.epilogue_bytes);
  visit("fixed_slices", shape.fixed_slices);
  visit("may_dot_rest", shape.may_dot_rest);
  visit("rest_as_rows", shape.rest_as_rows);
  visit("a_level", shape.a_level);
  visit("b_level", shape.b_level);
}

/// Those that JSON may lack, as most shapes have what they usually are.
template <class Of, class Visit>
void for_each_rare_size(Of& shape, const Visit& visit) {
  visit("right_sides", shape.right_sides);
  visit("a_operations", shape.a_operations);
  visit("b_operations", shape.b_operations);
}

template <class Of, class Visit>
void for_each_number(Of& region, const Visit& visit) {
  auto& strategy = region.strategy;
  for (auto* number : {&region.m0, &region.m, &region.n0, &region.n}) visit(*number);
  for (auto* number : {&strategy.tile_rows, &strategy.tile_columns}) visit(*number);
  for (auto* number : {&strategy.block_m, &strategy.block_n, &strategy.block_k, &strategy.split_k})
    visit(*number);
  visit(strategy.copy_a);
  visit(strategy.lanes);
  visit(strategy.direct_b);
  visit(strategy.dot_rest);
}

}  // namespace

void to_json(json& json, const TileSpeed& tile) {
  json = {tile.rows, tile.columns, tile.seconds_per_k};
}

void from_json(const json& json, TileSpeed& tile) {
  tile = {json.at(0).get<int>(), json.at(1).get<int>(), json.at(2).get<double>()};
}

void to_json(json& json, const Machine& machine) {
  for_each_member(machine, [&](const char* name, const auto& member) { json[name] = member; });
}

void from_json(const json& json, Machine& machine) {
  for_each_member(machine, [&](const char* name, auto& member) { json.at(name).get_to(member); });
}

void to_json(json& json, const PoolSpeed& speed) {
  json = {{"block", speed.plan.block},
          {"depths", speed.plan.depths},
          {"alone", speed.alone},
          {"together", speed.together}};
}

void from_json(const json& json, PoolSpeed& speed) {
  json.at("block").get_to(speed.plan.block);
  json.at("depths").get_to(speed.plan.depths);
  json.at("alone").get_to(speed.alone);
  json.at("together").get_to(speed.together);
  speed.plan.together = !speed.together.empty();
}

void to_json(json& json, const BlockSpeed& speed) {
  json = PoolSpeed{{numbers_of(speed.plan.block), speed.plan.depths, speed.plan.together},
                   speed.alone,
                   speed.together};
}

void from_json(const json& json, BlockSpeed& speed) {
  const auto& block = json.at("block");
  auto pool = json.get<PoolSpeed>();
  speed = {{{block.at(0), block.at(1), block.at(2), block.at(3), block.at(4)},
            std::move(pool.plan.depths),
            pool.plan.together},
           std::move(pool.alone),
           std::move(pool.together)};
}

void to_json(json& json, const BlockOperands& operands) {
  json = {{"factors", operands.factors}, {"b", operands.direct_b ? as_it_lies : in_panels}};
}

void from_json(const json& json, BlockOperands& operands) {
  operands = {json.at("factors").get<rkernel::Factors>()};
  const auto b = json.at("b").get<std::string>();
  if (b != as_it_lies && b != in_panels)
    throw std::invalid_argument(
        fmt::format("B is '{}', not '{}' or '{}'", b, in_panels, as_it_lies));
  operands.direct_b = b == as_it_lies;
}

void to_json(json& json, const ProductShape& shape) {
  json = {shape.batch, shape.m, shape.n, shape.k};
}

void from_json(const json& json, ProductShape& shape) {
  shape = {json.at(0), json.at(1), json.at(2), json.at(3)};
}

void to_json(json& json, const ContractionShape& shape) {
  for_each_size(shape, [&](const char* name, const auto& size) { json[name] = size; });
  for_each_rare_size(shape, [&](const char* name, const auto& size) { json[name] = size; });
  if (shape.group != rkernel::Group::None || shape.coding) json["factors"] = shape.factors();
}

void from_json(const json& json, ContractionShape& shape) {
  for_each_size(shape, [&](const char* name, auto& size) { json.at(name).get_to(size); });
  for_each_rare_size(shape, [&](const char* name, auto& size) {
    if (json.contains(name)) json.at(name).get_to(size);
  });
  const auto factors =
      json.contains("factors") ? json["factors"].get<rkernel::Factors>() : rkernel::Factors();
  shape.group = factors.group;
  shape.coding = factors.coding;
}

void to_json(json& json, const Choice& choice) {
  auto regions = nlohmann::json::array();
  for (const rkernel::Region& region : choice.program.regions) {
    auto& numbers = regions.emplace_back(nlohmann::json::array());
    for_each_number(region, [&](const auto& number) { numbers.push_back(number); });
  }
  json = {choice.threads, std::move(regions)};
}

void from_json(const json& json, Choice& choice) {
  json.at(0).get_to(choice.threads);
  choice.program.regions.clear();
  for (const auto& numbers : json.at(1)) {
    rkernel::Region& region = choice.program.regions.emplace_back();
    std::size_t place = 0;
    for_each_number(region, [&](auto& number) { numbers.at(place++).get_to(number); });
  }
}

}  // namespace dyn::choice
