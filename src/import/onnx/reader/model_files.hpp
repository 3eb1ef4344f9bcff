#pragma once
// The files of an ONNX model: its messages, and the data that it keeps elsewhere.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "src/base/readable_file.hpp"
#include "src/import/onnx/messages/model_stream.hpp"

namespace dyn::onnx {

/// Where a model's files are. A model can be imported again as long as its ModelFiles are there.
/// For one thread at a time.
class ModelFiles {
 public:
  virtual ~ModelFiles() = default;
  ModelFiles(const ModelFiles&) = delete;
  ModelFiles& operator=(const ModelFiles&) = delete;

  /// The model's own file, for errors.
  virtual const std::string& path() const noexcept = 0;

  /// The whole file. Throws Error(device) where it cannot be read, Error(model) where it is cut, is
  /// no ONNX model, nests deeper than 100 messages, or has changed since it was opened.
  virtual ModelProto read() const = 0;

  /// Bytes of a file that is named by its path from the model's folder. Throws Error(model) where
  /// it is not below that folder, cannot be read, is shorter, or has changed since it was opened.
  virtual std::string bytes_of(const std::string& location, std::uint64_t offset,
                               std::uint64_t bytes) const = 0;

  /// The model may be imported again, and need these files. One that is not there is an error when
  /// it is needed.
  virtual void hold(const std::set<std::string>& locations) = 0;

 protected:
  ModelFiles() = default;
};

/// The model's own file stays open, and so do the others once hold() was called, so that a model
/// can be imported again when its files have been renamed, replaced or removed, or the process is
/// in another folder.
class DiskModelFiles final : public ModelFiles {
 public:
  /// Throws Error(device) where the file cannot be read.
  explicit DiskModelFiles(const std::string& path);

  const std::string& path() const noexcept override { return model_.path(); }
  ModelProto read() const override;
  std::string bytes_of(const std::string& location, std::uint64_t offset,
                       std::uint64_t bytes) const override;
  void hold(const std::set<std::string>& locations) override;

 private:
  std::unique_ptr<ReadableFile> opened(const std::string& location) const;

  ReadableFile model_;
  std::string folder_;  ///< absolute
  std::map<std::string, std::unique_ptr<ReadableFile>> external_;
};

/// The names of all files in which the model keeps data.
std::set<std::string> external_locations(const ModelProto& model);

/// The model in a file of `size` bytes. Throws Error(model), naming `path`, where they are no whole
/// model, and what `read` throws.
ModelProto parsed_model(const std::string& path, std::uint64_t size, const ReadBytes& read);

}  // namespace dyn::onnx
