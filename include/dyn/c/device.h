#ifndef DYN_C_DEVICE_H
#define DYN_C_DEVICE_H
/* A GPU's memory and streams. Part of dyn/dyn.h. */

#include "dyn/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DYN_ERROR_USER: no kernel of the graph runs on a device. */
DYN_C_API dyn_status* dyn_device_of(const dyn_graph* graph, dyn_device** device) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_device_name(const dyn_device* device, const char** name) DYN_NOEXCEPT;
/* New memory there, of unknown contents. */
DYN_C_API dyn_status* dyn_device_allocate(const dyn_device* device, dyn_dtype dtype, size_t rank,
                                          const int64_t* sizes, dyn_tensor** tensor) DYN_NOEXCEPT;
/* A view of another library's memory there: `address` is a CUdeviceptr (dyn::Device::view). */
DYN_C_API dyn_status* dyn_device_view(const dyn_device* device, dyn_dtype dtype, uint64_t address,
                                      size_t rank, const int64_t* sizes,
                                      dyn_tensor** tensor) DYN_NOEXCEPT;
/* Copies, complete on return. */
DYN_C_API dyn_status* dyn_device_upload(const dyn_device* device, const dyn_tensor* tensor,
                                        dyn_tensor** copy) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_device_download(const dyn_device* device, const dyn_tensor* tensor,
                                          dyn_tensor** copy) DYN_NOEXCEPT;
DYN_C_API void dyn_device_release(dyn_device* device) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_stream_create(const dyn_device* device, dyn_stream** stream) DYN_NOEXCEPT;
/* A stream of another library: a CUstream (dyn::Device::stream). */
DYN_C_API dyn_status* dyn_stream_of(const dyn_device* device, void* foreign,
                                    dyn_stream** stream) DYN_NOEXCEPT;
/* Waits for everything that calls have queued there. */
DYN_C_API dyn_status* dyn_stream_wait(const dyn_stream* stream) DYN_NOEXCEPT;
DYN_C_API void dyn_stream_release(dyn_stream* stream) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
