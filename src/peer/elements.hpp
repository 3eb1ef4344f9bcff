#pragma once
// Elements of the types that peers multiply.

#include <cstdint>
#include <string>

#include "src/peer/buffer.hpp"
#include "src/peer/problem.hpp"

namespace dyn::peer {

enum class Element : std::uint8_t { F32, F16, Bf16, I32, I8, U8 };

/// Throws Unsupported for other types.
Element element_named(const std::string& dtype);

/// Floats in [-1, 1), u8 in [0, 255] and others in [-127, 127], not symmetric, different for each
/// seed.
Buffer random_elements(Element element, std::int64_t count, std::uint32_t seed);
double read_element(Element element, const void* data, std::int64_t index);

}  // namespace dyn::peer
