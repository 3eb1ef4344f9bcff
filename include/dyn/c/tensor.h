#ifndef DYN_C_TENSOR_H
#define DYN_C_TENSOR_H
/* Elements, owned or viewed. Part of dyn/dyn.h. */

#include "dyn/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owns new memory, aligned to 64 bytes, zeroed. */
DYN_C_API dyn_status* dyn_tensor_create(dyn_dtype dtype, size_t rank, const int64_t* sizes,
                                        dyn_tensor** tensor) DYN_NOEXCEPT;
/* A view of `data`, a multiple of the element's size, which must stay as long as any tensor made of
 * it, and any call that it is bound to. */
DYN_C_API dyn_status* dyn_tensor_view(dyn_dtype dtype, void* data, size_t rank,
                                      const int64_t* sizes, dyn_tensor** tensor) DYN_NOEXCEPT;
/* The same of memory that nobody writes through the tensor: an input. */
DYN_C_API dyn_status* dyn_tensor_view_const(dyn_dtype dtype, const void* data, size_t rank,
                                            const int64_t* sizes, dyn_tensor** tensor) DYN_NOEXCEPT;
/* As dyn_tensor_view, but dyn calls `release`, from any thread, once nothing of it uses the memory
 * any more. Where the function fails it has not called `release`, and will not. */
typedef void (*dyn_release_function)(void* context, void* data);
DYN_C_API dyn_status* dyn_tensor_adopt(dyn_dtype dtype, void* data, size_t rank,
                                       const int64_t* sizes, dyn_release_function release,
                                       void* context, dyn_tensor** tensor) DYN_NOEXCEPT;
/* The same memory in another shape of as many elements. */
DYN_C_API dyn_status* dyn_tensor_reshape(const dyn_tensor* tensor, size_t rank,
                                         const int64_t* sizes, dyn_tensor** reshaped) DYN_NOEXCEPT;
/* `sizes` may be NULL; both stay as long as the tensor. */
DYN_C_API dyn_status* dyn_tensor_shape(const dyn_tensor* tensor, size_t* rank,
                                       const int64_t** sizes) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_tensor_dtype(const dyn_tensor* tensor, dyn_dtype* dtype) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_tensor_bytes(const dyn_tensor* tensor, size_t* bytes) DYN_NOEXCEPT;
/* The elements. DYN_ERROR_USER: they are not of `dtype`, or lie in a device's memory. */
DYN_C_API dyn_status* dyn_tensor_data(const dyn_tensor* tensor, dyn_dtype dtype,
                                      const void** data) DYN_NOEXCEPT;
/* The same for writing; DYN_ERROR_USER too for a view of constant memory. */
DYN_C_API dyn_status* dyn_tensor_mutable_data(dyn_tensor* tensor, dyn_dtype dtype,
                                              void** data) DYN_NOEXCEPT;
/* The address of the elements, in the host's memory or, with `on_device`, in a device's. */
DYN_C_API dyn_status* dyn_tensor_address(const dyn_tensor* tensor, uint64_t* address,
                                         bool* on_device) DYN_NOEXCEPT;
DYN_C_API void dyn_tensor_release(dyn_tensor* tensor) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
