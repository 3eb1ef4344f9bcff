#ifndef DYN_DYN_H
#define DYN_DYN_H
/*
 * dyn in C11: everything that the C++ side (dyn/dyn.hpp) can do, over the same core.
 *
 *   dyn_graph* graph;
 *   dyn_status* status = dyn_graph_load("encoder.dyn", NULL, &graph);
 *   if (status != NULL) {
 *     fprintf(stderr, "%s\n", dyn_status_text(status));
 *     dyn_status_release(status);
 *   }
 *
 * Handles. A dyn_graph*, dyn_tensor* and so on is a handle: a name of something that dyn owns, and
 * no address. Whoever gets one releases it, once. A handle that is NULL, that was released, that is
 * none or stands for something else is an error of the function that gets it, never a crash.
 * Handles may be released in any order: what a call, a session or a tensor needs stays. Values
 * alone are not released: they go with their builder.
 *
 * Statuses. A function that can fail returns NULL for success, or a status that its caller
 * releases. The kind says whose problem it is; the message and the places after it are those of
 * dyn::Error. A function that fails sets what it would have given to NULL or 0 and changes nothing
 * else, unless it says so.
 *
 * Threads. Any number of threads may use one graph, tensor, options or device at the same time, as
 * long as nobody changes options or the elements of a tensor. A call, a session, a stream, a coder
 * of texts and a builder have one user at a time: a function that meets another thread's is an
 * error.
 *
 * Strings end with a 0 byte and are UTF-8, unless a length is beside them; dyn copies what it
 * keeps. Strings and arrays that dyn gives out stay as long as the handle that they were asked of,
 * unless the function says otherwise. Sizes of tensors are row-major, outermost first.
 *
 * Structures. Those that begin with `struct_size` get members behind their last in later versions:
 * the caller says there how large its own is, and dyn reads or writes no member beyond it.
 *
 * Versions. Functions are only ever added: a program that was built with this header runs with
 * every later library of the same DYN_API_MAJOR. A host that opens the library at run time asks
 * dyn_get_api for the table of all functions.
 */

#include "dyn/c/base.h"
#include "dyn/c/builder.h"
#include "dyn/c/device.h"
#include "dyn/c/graph.h"
#include "dyn/c/options.h"
#include "dyn/c/profile.h"
#include "dyn/c/run.h"
#include "dyn/c/tensor.h"
#include "dyn/c/texts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_API_MAJOR 1
#define DYN_API_MINOR 0
/* What dyn_get_api is asked for: the version of this header's table. */
#define DYN_API_VERSION (DYN_API_MAJOR << 16 | DYN_API_MINOR)

/* The table of functions of version `version`, which is the caller's DYN_API_VERSION; NULL where
 * the library is older than that, or of another DYN_API_MAJOR. It stays for the process. */
typedef struct dyn_api dyn_api;
DYN_C_API const dyn_api* dyn_get_api(uint32_t version) DYN_NOEXCEPT;

/* Every function but dyn_get_api, in the order of the table. Later versions append lists of their
 * own, DYN_FUNCTIONS_1_1 and so on; nothing is removed, moved or given other arguments. */
/* clang-format off */
#define DYN_FUNCTIONS_1_0(X)                                                                      \
  X(version) X(status_kind) X(kind_name) X(status_message) X(status_place_count)                  \
  X(status_place) X(status_text) X(status_release) X(status_create)                               \
  X(dtype_size) X(dtype_name) X(dtype_parse)                                                      \
  X(options_create) X(options_set_text) X(options_set_integer) X(options_set_flag)                \
  X(options_add_known_input) X(options_add_free_dims) X(options_set_log) X(options_release)       \
  X(options_set_progress) X(options_set_executor) X(options_set_allocator)                        \
  X(options_add_plugin) X(options_add_operators)                                                  \
  X(tensor_create) X(tensor_view) X(tensor_view_const) X(tensor_adopt) X(tensor_reshape)          \
  X(tensor_shape) X(tensor_dtype) X(tensor_bytes) X(tensor_data) X(tensor_mutable_data)           \
  X(tensor_address) X(tensor_release)                                                             \
  X(graph_load) X(graph_from_text) X(graph_from_memory) X(graph_from_reader)                      \
  X(graph_state_count) X(graph_state) X(graph_dims) X(graph_metadata) X(graph_kernels)            \
  X(graph_kernels_at) X(graph_run_with) X(graph_run_async) X(graph_run_async_then)                \
  X(graph_memory_needed) X(graph_trim) X(graph_input_count)                                       \
  X(graph_output_count) X(graph_input) X(graph_output) X(graph_load_report) X(graph_run)          \
  X(graph_infer_shapes) X(graph_prepare) X(graph_kernels_compiled_since_load)                     \
  X(graph_shapes_planned) X(graph_release)                                                        \
  X(port_name) X(port_dtype) X(port_shape) X(port_text_count) X(port_text) X(port_release)        \
  X(port_dim_count) X(port_dim) X(dims_count) X(dims_get) X(dims_release)                         \
  X(metadata_get) X(metadata_opset) X(metadata_property) X(metadata_release)                      \
  X(kernels_count) X(kernels_get) X(kernels_release)                                              \
  X(shapes_count) X(shapes_get) X(shapes_release)                                                 \
  X(call_create) X(call_create_in_session) X(call_set_input) X(call_set_output)                   \
  X(call_input_index) X(call_output_index) X(call_set_output_device) X(call_set_stream)           \
  X(call_run) X(call_wait) X(call_output) X(call_release)                                         \
  X(profile_create) X(call_run_profiled) X(profile_get) X(profile_group_get)                      \
  X(profile_event_get) X(profile_slice_get) X(profile_buffer_get) X(profile_trace)                \
  X(profile_release)                                                                              \
  X(call_run_with) X(session_run_with)                                                            \
  X(cancellation_create) X(cancellation_cancel) X(cancellation_is_cancelled)                      \
  X(cancellation_release) X(async_run_is_over) X(async_run_wait) X(async_run_cancel)              \
  X(async_run_get) X(async_run_release) X(task_run) X(task_release)                               \
  X(session_create) X(session_run) X(session_length) X(session_truncate) X(session_reset)         \
  X(session_bytes) X(session_release)                                                             \
  X(device_of) X(device_name) X(device_allocate) X(device_view) X(device_upload)                  \
  X(device_download) X(device_release)                                                            \
  X(stream_create) X(stream_of) X(stream_wait) X(stream_release)                                  \
  X(coder_create) X(coder_encode) X(coder_decode) X(coder_forget) X(coder_release)                \
  X(texts_count) X(texts_get) X(texts_release)                                                    \
  X(builder_create) X(builder_dim) X(builder_dim_with) X(builder_input) X(builder_state)          \
  X(builder_weight) X(builder_weight_of_file) X(builder_weight_file) X(builder_splat)             \
  X(builder_random) X(builder_number) X(builder_integer) X(builder_op) X(builder_ops)             \
  X(builder_rename) X(builder_port) X(builder_output) X(builder_to_text) X(builder_weights)       \
  X(builder_load) X(builder_release)
/* clang-format on */

#ifdef __cplusplus
#define DYN_TABLE_MEMBER(name) decltype(&dyn_##name) name;
#else
#define DYN_TABLE_MEMBER(name) __typeof__(&dyn_##name) name;
#endif
/* `api->graph_load(...)` is dyn_graph_load(...). */
struct dyn_api {
  uint32_t api_version; /* of the library: at least what was asked for */
  DYN_FUNCTIONS_1_0(DYN_TABLE_MEMBER)
};
#undef DYN_TABLE_MEMBER

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
