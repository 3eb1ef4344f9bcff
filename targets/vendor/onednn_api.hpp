#pragma once
// oneDNN's C API, versions 2 and 3: the part that is used here, redeclared. Descriptors of memory
// are structs in version 2 and handles in version 3; both are passed as a pointer, so only their
// creation differs.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "targets/vendor/library.hpp"

namespace dyn::vendor {

/// Values of dnnl_types.h that both versions share.
enum DnnlConstant : int {
  dnnl_cpu = 1,
  dnnl_f16 = 1,
  dnnl_bf16 = 2,
  dnnl_f32 = 3,
  dnnl_s32 = 4,
  dnnl_s8 = 5,
  dnnl_u8 = 6,
  dnnl_tag_any = 1,
  dnnl_in_order = 1,
  dnnl_forward_inference = 96,
  dnnl_query_impl_info = 8,
  dnnl_query_weights_md = 131,
  dnnl_query_scratchpad_md = 136,
  dnnl_scratchpad_user = 1,
  dnnl_arg_src = 1,
  dnnl_arg_dst = 17,
  dnnl_arg_weights = 33,
  dnnl_arg_scratchpad = 80,
};

/// The runtime that runs the loops of a build of the library.
enum class Runtime : unsigned { Sequential = 1, OpenMP = 2 };

using Shape = std::vector<std::int64_t>;
using Dims = std::array<std::int64_t, 12>;

/// An object that the library made and destroys.
using Handle = std::shared_ptr<void>;

struct DnnlArgument {
  int argument;
  void* memory;
};

/// The description of a tensor's type and layout. Version 2's struct of some 700 bytes is kept
/// whole here.
struct MemoryDesc {
  std::shared_ptr<void> owned;    ///< the struct, or the handle
  const void* pointer = nullptr;  ///< as functions take it
};

/// Throws Unsupported where it is no oneDNN.
Runtime runtime_of(const Library& library);

/// The functions of one library with an engine. Thread-safe; objects made here follow oneDNN's
/// rules: a stream is for one thread at a time.
class Dnnl {
 public:
  /// Throws Unsupported where the version is neither 2 nor 3.
  explicit Dnnl(Library library);

  int major() const noexcept { return major_; }
  const std::string& version() const noexcept { return version_; }
  Runtime runtime() const noexcept { return runtime_; }
  const Library& library() const noexcept { return library_; }
  void* engine() const noexcept { return engine_.get(); }
  Handle stream() const;

  /// Elements of `dtype` with these strides, in elements.
  MemoryDesc strided(const Shape& shape, const Shape& strides, int dtype = dnnl_f32) const;
  /// Dense and row-major.
  MemoryDesc dense(const Shape& shape, int dtype = dnnl_f32) const;
  /// In the layout of this tag's number; dnnl_tag_any: whichever the primitive prefers.
  MemoryDesc tagged(const Shape& shape, int tag, int dtype = dnnl_f32) const;
  MemoryDesc any(const Shape& shape, int dtype = dnnl_f32) const {
    return tagged(shape, dnnl_tag_any, dtype);
  }
  /// The number of a layout's tag, which differs between versions; 0: this one has no such name.
  int tag_named(const char* name) const;

  /// A primitive from its descriptor, which `make` writes through the pointer; throws Unsupported
  /// with oneDNN's status.
  Handle primitive_desc(const std::function<int(void**)>& make) const;
  /// The same for operators. Version 2 makes it from a descriptor of the operation, which
  /// `describe` writes to memory that is large enough for any, and from the attributes (nullptr:
  /// none); version 3 makes it at once, by `create`.
  Handle primitive_desc(const std::function<int(void*)>& describe,
                        const std::function<int(void**)>& create,
                        const void* attributes = nullptr) const;
  Handle matmul_desc(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc& c,
                     const void* attributes = nullptr) const;
  Handle primitive(const Handle& desc) const;
  /// The layout that the primitive chose; valid as long as `desc` lives.
  MemoryDesc chosen(const Handle& desc, int query) const;
  /// The name of the code that was chosen; "ref..." is slow.
  const char* implementation(const Handle& desc) const;
  /// Attributes of a primitive whose scratchpad is an argument.
  Handle own_scratchpad() const;

  std::size_t bytes(const MemoryDesc& desc) const;
  /// A tensor at an address, which must outlive it; nullptr: set later.
  Handle memory(const MemoryDesc& desc, void* data) const;
  void set_data(const Handle& memory, void* data) const;

  Handle reorder(const MemoryDesc& from, const MemoryDesc& to) const;
  /// Returns when it is done. Throws Unsupported where the library reports an error.
  void execute(const Handle& primitive, std::span<const DnnlArgument> arguments,
               const Handle& stream) const;

 private:
  void check(int status, const char* what) const;
  Handle owned(void* pointer, const char* destroy) const;

  Library library_;
  int major_ = 0;
  Runtime runtime_ = Runtime::Sequential;
  std::string version_;
  Handle engine_;
  int (*execute_)(const void*, void*, int, const DnnlArgument*) = nullptr;
  int (*wait_)(void*) = nullptr;
  int (*set_data_)(void*, void*) = nullptr;
};

Shape dense_strides(const Shape& shape);

}  // namespace dyn::vendor
