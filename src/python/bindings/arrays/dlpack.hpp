#pragma once
// DLPack's structures, as its version 1.0 lays them out in memory (github.com/dmlc/dlpack).

#include <cstdint>

#include "src/python/bindings/arrays/dtypes.hpp"

namespace dyn::python::dlpack {

inline constexpr std::int32_t cpu = 1, cuda_host = 3;  ///< devices whose memory the host reads
inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint64_t read_only = 1;  ///< a bit of ManagedVersioned::flags

struct Device {
  std::int32_t type, id;
};

/// The first element is at `data` + `byte_offset`.
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DlpackDType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; nullptr: row-major and dense
  std::uint64_t byte_offset;
};

/// Without a version: "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

/// "dltensor_versioned"
struct ManagedVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace dyn::python::dlpack
