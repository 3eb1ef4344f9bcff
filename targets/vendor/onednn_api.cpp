#include "targets/vendor/onednn_api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace dyn::vendor {
namespace {

constexpr std::size_t desc_bytes = 4096;  // larger than version 2's dnnl_memory_desc_t
constexpr std::size_t op_desc_bytes =
    16384;  // larger than any of version 2's descriptors of operations
constexpr int status_unimplemented = 3;

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

Dims dims_of(const Shape& shape) {
  Dims dims = {};
  if (shape.empty() || shape.size() > dims.size())
    throw Unsupported("tensors of rank 0 or above 12");
  std::copy(shape.begin(), shape.end(), dims.begin());
  return dims;
}

MemoryDesc blank_desc() {
  std::shared_ptr<void> bytes(
      new std::max_align_t[desc_bytes / sizeof(std::max_align_t)](),
      [](void* pointer) { delete[] static_cast<std::max_align_t*>(pointer); });
  return {bytes, bytes.get()};
}

}  // namespace

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  return strides;
}

Runtime runtime_of(const Library& library) {
  return Runtime{library.function<const Version*()>("dnnl_version")()->cpu_runtime};
}

Dnnl::Dnnl(Library library) : library_(std::move(library)) {
  const auto* version = library_.function<const Version*()>("dnnl_version")();
  major_ = version->major;
  version_ = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
  if (major_ != 2 && major_ != 3)
    throw Unsupported(fmt::format("{}: only versions 2 and 3 are known", version_));
  runtime_ = runtime_of(library_);
  void* made = nullptr;
  check(library_.function<int(void**, int, std::size_t)>("dnnl_engine_create")(&made, dnnl_cpu, 0),
        "an engine");
  engine_ = owned(made, "dnnl_engine_destroy");
  execute_ = library_.function<int(const void*, void*, int, const DnnlArgument*)>(
      "dnnl_primitive_execute");
  wait_ = library_.function<int(void*)>("dnnl_stream_wait");
  set_data_ = library_.function<int(void*, void*)>("dnnl_memory_set_data_handle");
}

Handle Dnnl::stream() const {
  void* made = nullptr;
  check(library_.function<int(void**, void*, unsigned)>("dnnl_stream_create")(&made, engine(),
                                                                              dnnl_in_order),
        "a stream");
  return owned(made, "dnnl_stream_destroy");
}

void Dnnl::check(int status, const char* what) const {
  if (status == 0) return;
  if (status == status_unimplemented)
    throw Unsupported(fmt::format("{} has no implementation of {}", version_, what));
  throw Unsupported(fmt::format("{} reports status {} for {}", version_, status, what));
}

Handle Dnnl::owned(void* pointer, const char* destroy) const {
  return {pointer, library_.function<int(void*)>(destroy)};
}

MemoryDesc Dnnl::strided(const Shape& shape, const Shape& strides, int dtype) const {
  const Dims dims = dims_of(shape), steps = dims_of(strides);
  const int rank = static_cast<int>(shape.size());
  using Init = int(void*, int, const std::int64_t*, int, const std::int64_t*);
  if (major_ == 2) {
    MemoryDesc desc = blank_desc();
    check(library_.function<Init>("dnnl_memory_desc_init_by_strides")(
              desc.owned.get(), rank, dims.data(), dtype, steps.data()),
          "a tensor");
    return desc;
  }
  void* made = nullptr;
  check(library_.function<Init>("dnnl_memory_desc_create_with_strides")(&made, rank, dims.data(),
                                                                        dtype, steps.data()),
        "a tensor");
  return {owned(made, "dnnl_memory_desc_destroy"), made};
}

MemoryDesc Dnnl::dense(const Shape& shape, int dtype) const {
  return strided(shape, dense_strides(shape), dtype);
}

MemoryDesc Dnnl::tagged(const Shape& shape, int tag, int dtype) const {
  const Dims dims = dims_of(shape);
  const int rank = static_cast<int>(shape.size());
  using Init = int(void*, int, const std::int64_t*, int, int);
  if (major_ == 2) {
    MemoryDesc desc = blank_desc();
    check(library_.function<Init>("dnnl_memory_desc_init_by_tag")(desc.owned.get(), rank,
                                                                  dims.data(), dtype, tag),
          "a tensor");
    return desc;
  }
  void* made = nullptr;
  check(library_.function<Init>("dnnl_memory_desc_create_with_tag")(&made, rank, dims.data(), dtype,
                                                                    tag),
        "a tensor");
  return {owned(made, "dnnl_memory_desc_destroy"), made};
}

int Dnnl::tag_named(const char* name) const {
  constexpr int more_than_there_are = 4096;
  auto* name_of = library_.function<const char*(int)>("dnnl_fmt_tag2str");
  for (int tag = dnnl_tag_any + 1; tag < more_than_there_are; ++tag) {
    if (std::strcmp(name_of(tag), name) == 0) return tag;
  }
  return 0;
}

Handle Dnnl::primitive_desc(const std::function<int(void**)>& make) const {
  void* made = nullptr;
  check(make(&made), "this problem");
  return owned(made, "dnnl_primitive_desc_destroy");
}

Handle Dnnl::primitive_desc(const std::function<int(void*)>& describe,
                            const std::function<int(void**)>& create,
                            const void* attributes) const {
  if (major_ == 3) return primitive_desc(create);
  std::vector<std::max_align_t> op(op_desc_bytes / sizeof(std::max_align_t));
  using Create = int(void**, const void*, const void*, void*, const void*);
  auto* create_from = library_.function<Create>("dnnl_primitive_desc_create");
  return primitive_desc([&](void** made) {
    const int status = describe(op.data());
    return status != 0 ? status : create_from(made, op.data(), attributes, engine(), nullptr);
  });
}

Handle Dnnl::matmul_desc(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc& c,
                         const void* attributes) const {
  return primitive_desc(
      [&](void* op) {
        using Init = int(void*, const void*, const void*, const void*, const void*);
        return library_.function<Init>("dnnl_matmul_desc_init")(op, a.pointer, b.pointer, nullptr,
                                                                c.pointer);
      },
      [&](void** made) {
        using Create =
            int(void**, void*, const void*, const void*, const void*, const void*, const void*);
        return library_.function<Create>("dnnl_matmul_primitive_desc_create")(
            made, engine(), a.pointer, b.pointer, nullptr, c.pointer, attributes);
      },
      attributes);
}

Handle Dnnl::primitive(const Handle& desc) const {
  void* made = nullptr;
  check(library_.function<int(void**, const void*)>("dnnl_primitive_create")(&made, desc.get()),
        "a primitive");
  return owned(made, "dnnl_primitive_destroy");
}

MemoryDesc Dnnl::chosen(const Handle& desc, int query) const {
  return {desc, library_.function<const void*(const void*, int, int)>(
                    "dnnl_primitive_desc_query_md")(desc.get(), query, 0)};
}

const char* Dnnl::implementation(const Handle& desc) const {
  const char* name = "";
  check(library_.function<int(const void*, int, int, void*)>("dnnl_primitive_desc_query")(
            desc.get(), dnnl_query_impl_info, 0, &name),
        "its name");
  return name;
}

Handle Dnnl::own_scratchpad() const {
  void* made = nullptr;
  check(library_.function<int(void**)>("dnnl_primitive_attr_create")(&made), "attributes");
  Handle attributes = owned(made, "dnnl_primitive_attr_destroy");
  check(library_.function<int(void*, int)>("dnnl_primitive_attr_set_scratchpad_mode")(
            made, dnnl_scratchpad_user),
        "a scratchpad of the caller's");
  return attributes;
}

std::size_t Dnnl::bytes(const MemoryDesc& desc) const {
  return library_.function<std::size_t(const void*)>("dnnl_memory_desc_get_size")(desc.pointer);
}

Handle Dnnl::memory(const MemoryDesc& desc, void* data) const {
  void* made = nullptr;
  check(library_.function<int(void**, const void*, void*, void*)>("dnnl_memory_create")(
            &made, desc.pointer, engine(), data),
        "memory");
  return owned(made, "dnnl_memory_destroy");
}

void Dnnl::set_data(const Handle& memory, void* data) const {
  check(set_data_(memory.get(), data), "memory");
}

Handle Dnnl::reorder(const MemoryDesc& from, const MemoryDesc& to) const {
  using Create = int(void**, const void*, void*, const void*, void*, const void*);
  auto* create = library_.function<Create>("dnnl_reorder_primitive_desc_create");
  return primitive(primitive_desc([&](void** made) {
    return create(made, from.pointer, engine(), to.pointer, engine(), nullptr);
  }));
}

void Dnnl::execute(const Handle& primitive, std::span<const DnnlArgument> arguments,
                   const Handle& stream) const {
  check(
      execute_(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()),
      "an execution");
  check(wait_(stream.get()), "an execution");
}

}  // namespace dyn::vendor
