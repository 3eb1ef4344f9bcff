#pragma once
// Weights files that the host reads.

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "src/base/host_file.hpp"
#include "src/runtime/system/memory_block.hpp"

namespace dyn::runtime {

/// A weights file: at first only its header is read.
class ReadFile {
 public:
  /// Throws what HostFile does, Error(device) for no memory.
  ReadFile(Reader& reader, std::string name);

  const std::string& name() const noexcept { return file_.name(); }
  /// All of the file: zeros behind the header until read_data() was called.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Is the memory the host's? Nobody writes there.
  bool is_host_memory() const noexcept { return file_.in_place().has_value(); }
  /// Which state of the file: Reader::identity. Empty: nobody knows.
  const std::string& identity() const noexcept { return identity_; }
  /// Does the host still say so?
  bool is_unchanged() const noexcept;

  /// Reads what is behind the header, once. Throws what HostFile does.
  void read_data();

 private:
  const HostFile file_;
  const std::string identity_;
  MemoryBlock block_;
  std::span<const std::byte> bytes_;
  std::size_t known_ = 0;  ///< bytes that have been read
};

/// The weights files of one load, whose parts may ask for the same. For one thread at a time.
class ReadFiles {
 public:
  /// `model`: its name. The reader must outlive the object.
  ReadFiles(Reader& reader, std::string model) : reader_(reader), model_(std::move(model)) {}

  /// By the name that the model uses. Throws Error(model) where it leads out of the model's folder,
  /// and what ReadFile does.
  std::shared_ptr<ReadFile> open(const std::string& name);

 private:
  Reader& reader_;
  const std::string model_;
  std::map<std::string, std::shared_ptr<ReadFile>> files_;
};

}  // namespace dyn::runtime
