#pragma once
// The files of an ONNX model: its messages, and the data that it keeps elsewhere.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "src/base/readable_file.hpp"

namespace dyn::onnx {

class ModelProto;

/// The model's own file stays open, and so do the others once hold() was called, so that a model
/// can be imported again when its files have been renamed, replaced or removed, or the process is
/// in another folder. For one thread at a time.
class ModelFiles {
 public:
  /// Throws Error(device) where the file cannot be read.
  explicit ModelFiles(const std::string& path);

  const std::string& path() const noexcept { return model_.path(); }

  /// The whole file. Throws Error(device) where it cannot be read, Error(model) where it is cut, is
  /// no ONNX model, nests deeper than 100 messages, or has changed since it was opened.
  ModelProto read() const;

  /// Bytes of a file that is named by its path from the model's folder. Throws Error(model) where
  /// it is not below that folder, cannot be read, is shorter, or has changed since it was opened.
  std::string bytes_of(const std::string& location, std::uint64_t offset,
                       std::uint64_t bytes) const;

  /// Opens these of the model's other files. One that cannot be opened is an error when it is
  /// needed.
  void hold(const std::set<std::string>& locations);

 private:
  std::unique_ptr<ReadableFile> opened(const std::string& location) const;

  ReadableFile model_;
  std::string folder_;  ///< absolute
  std::map<std::string, std::unique_ptr<ReadableFile>> external_;
};

/// The names of all files in which the model keeps data.
std::set<std::string> external_locations(const ModelProto& model);

}  // namespace dyn::onnx
