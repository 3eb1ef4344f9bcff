#pragma once
// A loaded graph described: ports, dims, states, where it comes from, its kernels.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"

namespace dyn {

/// One size of a shape, or a dim that the model names.
struct DimInfo {
  enum class Kind : std::uint8_t {
    constant,    ///< low and high are its value
    named,       ///< a dim of its own, which an input or a run gives its value
    expression,  ///< of named dims
    open         ///< nothing is known, as the structure of the model is not (docs/onnx.md)
  };
  Kind kind = Kind::open;
  /// As the text format writes it (docs/ir.md): "768", "S", "floordiv(S, 2) + 1"; "_" where open.
  std::string text;
  /// Bounds of its values, ends included; of an expression perhaps wider than need be. The greatest
  /// int64: there is no upper bound.
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
  /// All values are multiples of it; 0 where the dim is the constant 0.
  std::int64_t divisor = 1;
  /// The size that the model takes to be usual, where the dim is a named one.
  std::optional<std::int64_t> hint = std::nullopt;
  /// Operators compute this named dim when the model runs, such as the number of boxes found.
  bool computed = false;
};

/// A named input or output as the model declares it.
struct PortInfo {
  std::string name;
  DType dtype;
  /// "[B, S, 768]"; "_" where the rank is not known before a run.
  std::string shape;
  /// Where the port's elements are texts: those that the model knows, each once. `dtype` is i64
  /// then, and an element is the place of its text in this list (TextCoder, dyn/texts.hpp).
  /// nullptr: they are numbers.
  std::shared_ptr<const std::vector<std::string>> texts = nullptr;
  /// One for each size of `shape`; none where the rank is not known.
  std::vector<DimInfo> dims = {};
};

/// A state that a Session keeps from run to run.
struct StateInfo {
  std::string name;
  DType dtype;
  std::string shape;
  std::vector<DimInfo> dims = {};
  int axis = 0;  ///< along which runs append positions
};

/// A model's description of itself, in its file. Empty or 0: it does not say it, or the format has
/// no such thing.
struct ModelMetadata {
  std::string format;             ///< "dyn" or "onnx"
  std::string source;             ///< the path or name that it was loaded by
  std::string graph;              ///< name of the graph, as in the file
  std::string producer;           ///< ONNX's producer_name
  std::string producer_version;   ///< of the program that wrote it
  std::string domain;             ///< ONNX's domain of the model
  std::int64_t version = 0;       ///< ONNX's model_version
  std::int64_t ir_version = 0;    ///< ONNX's
  std::string description;        ///< ONNX's doc_string of the model
  std::string graph_description;  ///< ONNX's doc_string of the graph
  /// Versions of the operators by domain, as in the file: "" is ONNX's own.
  std::map<std::string, std::int64_t> opsets;
  std::map<std::string, std::string> properties;  ///< ONNX's metadata_props
};

/// Operators that run as one kernel, in the order of a run.
struct KernelInfo {
  std::string name;      ///< distinct within the model, or the part of it that is compiled together
  std::string backbone;  ///< "matmul", "attention", "recurrence", "reduction", "elementwise",
                         ///< "copy" or "host"
  std::vector<std::string> operators;  ///< as docs/ir.md calls them
  std::string device;                  ///< "cpu/avx512", "cuda/h200"
};

/// The program that a kernel runs at one shape.
struct KernelChoice {
  KernelInfo kernel;
  std::size_t candidates =
      0;                ///< programs that the policy considers; 0: there is one way to run it
  std::string program;  ///< the chosen one in words; empty where there is one way
  int threads = 1;      ///< for which there is work
  double predicted_seconds = 0;
  double flops = 0;  ///< of products; a multiply-add counts as two
  double bytes = 0;  ///< of operands, each read or written once
};

}  // namespace dyn
