#pragma once
// dyn::Reader: the files of a model that the host reads itself.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dyn/export.hpp"

namespace dyn {

/// The files of a model where no file system has them as they are: packed in a container,
/// encrypted, downloaded, or in memory already. Graph::from_reader reads a model through it, and
/// nothing of that model beside it.
///
/// A name is what the model calls the file, below the folder of the model's own name: the model
/// "m/encoder.onnx" with data in "data/w.bin" asks for "m/data/w.bin". A model that names a file
/// outside of that folder, by an absolute name or by "..", is refused, and the reader is not asked.
///
/// A graph calls its reader from one thread at a time, but from any thread, and loads keep the
/// reader until they end; where the model may be imported again (docs/onnx.md), the graph keeps it
/// as long as it lives, and runs call it. Graphs that share a reader may call it at the same time.
/// The files must stay as they are while a graph has the reader.
///
/// All functions may throw, and should where there is no file of that name: a dyn::Error keeps its
/// kind, any other exception becomes Error(device), and both name the file, the bytes asked for and
/// what the reader said. The load, or the run that imports again, fails then and leaves nothing.
class DYN_API Reader {
 public:
  Reader() = default;
  virtual ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Bytes of the file.
  virtual std::uint64_t size(const std::string& name) = 0;

  /// Puts the bytes from `offset` on into `into`, and returns how many. All of `into` lies below
  /// size(), and has at most 16 MiB. Any other number than all of them is an error of the load.
  virtual std::size_t read(const std::string& name, std::uint64_t offset,
                           std::span<std::byte> into) = 0;

  /// The whole file where it lies in memory, which must stay as long as the reader: it is read
  /// there, and not copied. Nothing: size() and read() have it.
  virtual std::optional<std::span<const std::byte>> in_place(const std::string& name);

  /// A text that tells this state of a weights file from every other, such as a digest that the
  /// container holds; as secret as the name of a file. With it prepacked weights are kept in the
  /// cache directory, IN THE CLEAR, and later loads with the same identity read no more of the file
  /// than its header (Options::weight_cache_bytes). Empty: nothing of the file is ever written. Not
  /// asked for the files of an ONNX model, whose weights are never kept.
  virtual std::string identity(const std::string& name);
};

}  // namespace dyn
