#pragma once
// Finds the shape that a Reshape's constants mean when dims of its input are freed.

#include <cstdint>
#include <span>
#include <vector>

#include "src/import/onnx/sizes/file_sizes.hpp"

namespace dyn::onnx {

/// A dim that a Reshape asks for.
struct TargetDim {
  enum class Kind : std::uint8_t {
    Number,  ///< a constant of the file, which may stand for a dim of the input
    Known,   ///< computed from sizes, or copied from the input: stays
    Rest     ///< -1
  };
  Kind kind = Kind::Number;
  graph::Dim dim;
};

/// The input's dims and the target's are cut, from the front, into the shortest runs whose sizes in
/// the file have equal products. In a run of one target dim the input's are renamed or merged;
/// where dims are split, each factor that is freed goes to the one place where its size fits. Dims
/// of 1, such as a batch, which fit anywhere, go by order: as many to as many, and the first to the
/// first. -1 takes the dims that no other place takes. Throws Error(unsupported) with the reason
/// where several shapes fit, or none.
std::vector<graph::Dim> freed_shape(std::span<const graph::Dim> input,
                                    std::span<const TargetDim> target, const FileSizes& sizes);

}  // namespace dyn::onnx
