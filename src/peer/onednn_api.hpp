#pragma once
// oneDNN's C API, versions 2 and 3, redeclared as far as it is used here. Descriptors of memory are structs in version 2 and handles in
// version 3; both are passed as a pointer, so only their making differs.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/peer/buffer.hpp"
#include "src/peer/library.hpp"
#include "src/peer/problem.hpp"

namespace dyn::peer {

/// Values of dnnl_types.h that both versions share.
enum DnnlConstant : int {
  dnnl_cpu = 1,
  dnnl_f32 = 3,
  dnnl_tag_any = 1,
  dnnl_in_order = 1,
  dnnl_forward_inference = 96,
  dnnl_query_weights_md = 131,
  dnnl_arg_src = 1,
  dnnl_arg_dst = 17,
  dnnl_arg_weights = 33,
};

using Dims = std::array<std::int64_t, 12>;

/// Something that the library made and destroys.
using Handle = std::shared_ptr<void>;

struct DnnlArgument {
  int argument;
  void* memory;
};

/// The description of a tensor's type and layout. Version 2's struct of some 700 bytes is kept whole here.
struct MemoryDesc {
  std::shared_ptr<void> owned;    ///< the struct, or the handle
  const void* pointer = nullptr;  ///< as functions take it
};

struct Memory {
  Buffer buffer;
  Handle handle;
};

class Dnnl {
 public:
  /// Threads of a runtime that is not OpenMP's are bounded by the CPUs of this process.
  Dnnl(Library library, int threads);

  int major() const noexcept { return major_; }
  const std::string& version() const noexcept { return version_; }
  const Library& library() const noexcept { return library_; }
  void* engine() const noexcept { return engine_.get(); }

  /// f32 with these strides, in elements.
  MemoryDesc strided(const Shape& shape, const Shape& strides) const;
  /// f32, dense and row-major.
  MemoryDesc dense(const Shape& shape) const;
  /// f32 in whatever layout the primitive likes best.
  MemoryDesc any(const Shape& shape) const;

  /// A primitive from its descriptor, which `make` writes through the pointer; throws Unsupported with oneDNN's status.
  Handle primitive_desc(const std::function<int(void**)>& make) const;
  Handle primitive(const Handle& desc) const;
  /// The layout that the primitive chose; valid as long as `desc` lives.
  MemoryDesc chosen(const Handle& desc, int query) const;

  std::size_t bytes(const MemoryDesc& desc) const;
  Memory memory(const MemoryDesc& desc, Buffer buffer) const;
  Memory memory(const MemoryDesc& desc) const { return memory(desc, Buffer(bytes(desc))); }

  Handle reorder(const MemoryDesc& from, const MemoryDesc& to) const;
  /// Waits for the end. Throws Unsupported where the library reports an error.
  void execute(const Handle& primitive, const std::vector<DnnlArgument>& arguments) const;

 private:
  void check(int status, const char* what) const;
  Handle owned(void* pointer, const char* destroy) const;

  Library library_;
  int major_ = 0;
  std::string version_;
  Handle engine_, stream_;
  int (*execute_)(const void*, void*, int, const DnnlArgument*) = nullptr;
  int (*wait_)(void*) = nullptr;
};

Shape dense_strides(const Shape& shape);

}  // namespace dyn::peer
