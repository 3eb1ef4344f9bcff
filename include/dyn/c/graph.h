#ifndef DYN_C_GRAPH_H
#define DYN_C_GRAPH_H
/* Models: loads, runs, what they say about themselves. Part of dyn/dyn.h. */

#include "dyn/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Times of a load in seconds, and what was compiled: dyn::LoadReport. */
typedef struct dyn_load_report {
  size_t struct_size;
  double total, parse, compile, measure, weights;
  double random_weights, machine; /* apart from `total` */
  double weights_write;           /* part of `total` */
  int32_t kernels, kernels_compiled, kernels_from_disk;
  int32_t weights_from_disk; /* 0 or 1 */
  uint64_t weight_bytes, weight_bytes_mapped;
} dyn_load_report;

/* A size of a shape, or a dim that the model names: dyn::DimInfo. */
typedef int32_t dyn_dim_kind;
enum { DYN_DIM_CONSTANT = 0, DYN_DIM_NAMED = 1, DYN_DIM_EXPRESSION = 2, DYN_DIM_OPEN = 3 };
typedef struct dyn_dim {
  size_t struct_size;
  const char* text;  /* "768", "S", "floordiv(S, 2) + 1"; "_" where nothing is known */
  int64_t low, high; /* bounds of its values, ends included; INT64_MAX: no upper one */
  int64_t divisor;   /* of all values; 0 where it is the constant 0 */
  int64_t hint;      /* the usual size, where `has_hint` */
  dyn_dim_kind kind;
  bool has_hint;
  bool computed; /* by operators when the model runs */
} dyn_dim;

/* What an ONNX file says about itself: dyn::ModelMetadata. "" or 0: it does not say it. */
typedef struct dyn_model_info {
  size_t struct_size;
  const char* format; /* "dyn" or "onnx" */
  const char* source; /* the path or name that it was loaded by */
  const char* graph;
  const char *producer, *producer_version, *domain, *description, *graph_description;
  int64_t version, ir_version;
  size_t opset_count, property_count;
} dyn_model_info;

/* Operators that run as one kernel, and its program at one shape: dyn::KernelChoice, of which
 * dyn_graph_kernels gives what is known without a shape. */
typedef struct dyn_kernel {
  size_t struct_size;
  const char *name, *backbone, *device;
  size_t operator_count;
  const char* const* operators;
  size_t candidates;   /* programs that the policy considers; 0: there is one way to run it */
  const char* program; /* the chosen one in words; "" where there is one way */
  int64_t threads;
  double predicted_seconds, flops, bytes;
} dyn_kernel;

/* The files of a model that the host reads: dyn::Reader (dyn/reader.hpp) by functions, which get
 * `context`. A function that fails gives a status of dyn_status_create, which dyn releases. It may
 * not jump out. */
typedef struct dyn_reader {
  size_t struct_size;
  void* context;
  dyn_status* (*size)(void* context, const char* name, uint64_t* bytes);
  /* Puts `bytes` bytes from `offset` on into `into`, and how many these were into `count`. */
  dyn_status* (*read)(void* context, const char* name, uint64_t offset, void* into, size_t bytes,
                      size_t* count);
  /* May be NULL, and leave `data` NULL: the file is not in memory. */
  dyn_status* (*in_place)(void* context, const char* name, const void** data, size_t* bytes);
  /* May be NULL, and leave `identity` NULL: nothing of the file is written. dyn copies the text. */
  dyn_status* (*identity)(void* context, const char* name, const char** identity);
  /* May be NULL. Called once, from any thread, when nothing of dyn calls the others any more; not
   * for a load that fails. */
  void (*release)(void* context);
} dyn_reader;

/* Ends a run early, which is then DYN_ERROR_CANCELLED: dyn::RunOptions. */
typedef struct dyn_run_options {
  size_t struct_size;
  const dyn_cancellation* cancellation; /* may be NULL */
  int64_t timeout_ns; /* where `has_timeout`: from the call of the function on; one that is not
                       * positive has passed */
  bool has_timeout;
} dyn_run_options;

/* Bytes of the host's memory for one run: dyn::MemoryNeeded. */
typedef struct dyn_memory_needed {
  size_t struct_size;
  uint64_t weights; /* of the graph, for all its runs */
  uint64_t intermediates, outputs;
} dyn_memory_needed;

/* Reads a `.dyn` or an `.onnx` file; weight files are found relative to it. `options` may be NULL:
 * every default. DYN_ERROR_MODEL: a broken model; DYN_ERROR_UNSUPPORTED: one that this machine
 * cannot run; DYN_ERROR_DEVICE: files that cannot be read. */
DYN_C_API dyn_status* dyn_graph_load(const char* path, const dyn_options* options,
                                     dyn_graph** graph) DYN_NOEXCEPT;
/* The same from text; relative weight files are looked for in `weight_directory` (NULL: "."). */
DYN_C_API dyn_status* dyn_graph_from_text(const char* text, size_t length,
                                          const dyn_options* options, const char* weight_directory,
                                          dyn_graph** graph) DYN_NOEXCEPT;
/* A model in memory, dyn's text or ONNX: the first bytes say which. `files` are its weight files or
 * external data, by the names that the model uses. All is only read during the call
 * (dyn::Graph::from_memory). */
DYN_C_API dyn_status* dyn_graph_from_memory(const void* model, size_t bytes, size_t file_count,
                                            const dyn_named_bytes* files,
                                            const dyn_options* options,
                                            dyn_graph** graph) DYN_NOEXCEPT;
/* The same where the host reads the files. `reader` itself is copied (dyn::Graph::from_reader). */
DYN_C_API dyn_status* dyn_graph_from_reader(const char* name, const dyn_reader* reader,
                                            const dyn_options* options,
                                            dyn_graph** graph) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_input_count(const dyn_graph* graph, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_output_count(const dyn_graph* graph, size_t* count) DYN_NOEXCEPT;
/* Input or output number `index` in the model's order. */
DYN_C_API dyn_status* dyn_graph_input(const dyn_graph* graph, size_t index,
                                      dyn_port** port) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_output(const dyn_graph* graph, size_t index,
                                       dyn_port** port) DYN_NOEXCEPT;
/* State number `index` of those that a session keeps, and the axis along which runs append. */
DYN_C_API dyn_status* dyn_graph_state_count(const dyn_graph* graph, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_state(const dyn_graph* graph, size_t index, size_t* axis,
                                      dyn_port** port) DYN_NOEXCEPT;
/* The dims that the model names. */
DYN_C_API dyn_status* dyn_graph_dims(const dyn_graph* graph, dyn_dims** dims) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_metadata(const dyn_graph* graph,
                                         dyn_metadata** metadata) DYN_NOEXCEPT;
/* All kernels, in the order of a run; DYN_ERROR_USER where a run decides the structure. */
DYN_C_API dyn_status* dyn_graph_kernels(const dyn_graph* graph, dyn_kernels** kernels) DYN_NOEXCEPT;
/* The same with what they run at these shapes (dyn::Graph::kernels). */
DYN_C_API dyn_status* dyn_graph_kernels_at(const dyn_graph* graph, size_t input_count,
                                           const dyn_named_shape* inputs,
                                           dyn_kernels** kernels) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_load_report(const dyn_graph* graph,
                                            dyn_load_report* report) DYN_NOEXCEPT;
/* Runs once. `outputs` has room for `output_count` tensors, which is the model's number of outputs;
 * they come in the model's order. DYN_ERROR_USER: inputs that do not fit, and a model with state,
 * which a session runs. */
DYN_C_API dyn_status* dyn_graph_run(const dyn_graph* graph, size_t input_count,
                                    const dyn_named_tensor* inputs, size_t output_count,
                                    dyn_tensor** outputs) DYN_NOEXCEPT;
/* The same with what may end it, which may be NULL. */
DYN_C_API dyn_status* dyn_graph_run_with(const dyn_graph* graph, size_t input_count,
                                         const dyn_named_tensor* inputs, size_t output_count,
                                         dyn_tensor** outputs,
                                         const dyn_run_options* options) DYN_NOEXCEPT;
/* The same beside the caller: in a task of the executor, else in a thread of its own. The memory of
 * the inputs stays until the run is over. Releasing the run cancels it, and waits for it. */
DYN_C_API dyn_status* dyn_graph_run_async(const dyn_graph* graph, size_t input_count,
                                          const dyn_named_tensor* inputs,
                                          const dyn_run_options* options,
                                          dyn_async_run** run) DYN_NOEXCEPT;
/* The same with a function that is called once, in the thread of the run: with `failure`, which it
 * releases, or with `outputs`, whose handles it releases, while the array stays until it returns.
 * It may not jump out. Where dyn_graph_run_async_then fails, it is not called. */
typedef void (*dyn_done_function)(void* context, dyn_status* failure, size_t output_count,
                                  dyn_tensor* const* outputs);
DYN_C_API dyn_status* dyn_graph_run_async_then(const dyn_graph* graph, size_t input_count,
                                               const dyn_named_tensor* inputs,
                                               const dyn_run_options* options,
                                               dyn_done_function done, void* context) DYN_NOEXCEPT;
/* The memory that a run at these shapes takes; nothing is allocated (dyn::Graph::memory_needed). */
DYN_C_API dyn_status* dyn_graph_memory_needed(const dyn_graph* graph, size_t input_count,
                                              const dyn_named_shape* inputs,
                                              dyn_memory_needed* needed) DYN_NOEXCEPT;
/* Gives back to the system what is kept for runs to come (dyn::Graph::trim). */
DYN_C_API dyn_status* dyn_graph_trim(const dyn_graph* graph) DYN_NOEXCEPT;
/* The shapes that a run would give, from those of the inputs alone. */
DYN_C_API dyn_status* dyn_graph_infer_shapes(const dyn_graph* graph, size_t input_count,
                                             const dyn_named_shape* inputs,
                                             dyn_shapes** outputs) DYN_NOEXCEPT;
/* Plans for these shapes ahead of the first run with them (dyn::Graph::prepare). */
DYN_C_API dyn_status* dyn_graph_prepare(const dyn_graph* graph, size_t input_count,
                                        const dyn_named_shape* inputs) DYN_NOEXCEPT;
/* Kernels that shapes were the first to need since the load: on a CPU 0. Distinct shapes that were
 * planned so far. */
DYN_C_API dyn_status* dyn_graph_kernels_compiled_since_load(const dyn_graph* graph,
                                                            int64_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_graph_shapes_planned(const dyn_graph* graph, int64_t* count) DYN_NOEXCEPT;
DYN_C_API void dyn_graph_release(dyn_graph* graph) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_port_name(const dyn_port* port, const char** name) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_port_dtype(const dyn_port* port, dyn_dtype* dtype) DYN_NOEXCEPT;
/* As the model declares it: "[B, S, 768]". */
DYN_C_API dyn_status* dyn_port_shape(const dyn_port* port, const char** shape) DYN_NOEXCEPT;
/* One dim for each size of the shape; none where the rank is not known ("_"). */
DYN_C_API dyn_status* dyn_port_dim_count(const dyn_port* port, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_port_dim(const dyn_port* port, size_t index, dyn_dim* dim) DYN_NOEXCEPT;
/* The texts that the model knows at a port of texts, whose elements are their places, in i64
 * (dyn/texts.hpp). `is_text` false: the elements are numbers. */
DYN_C_API dyn_status* dyn_port_text_count(const dyn_port* port, bool* is_text,
                                          size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_port_text(const dyn_port* port, size_t index, const char** text,
                                    size_t* length) DYN_NOEXCEPT;
DYN_C_API void dyn_port_release(dyn_port* port) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_shapes_count(const dyn_shapes* shapes, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_shapes_get(const dyn_shapes* shapes, size_t index,
                                     dyn_named_shape* shape) DYN_NOEXCEPT;
DYN_C_API void dyn_shapes_release(dyn_shapes* shapes) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_dims_count(const dyn_dims* dims, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_dims_get(const dyn_dims* dims, size_t index, dyn_dim* dim) DYN_NOEXCEPT;
DYN_C_API void dyn_dims_release(dyn_dims* dims) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_metadata_get(const dyn_metadata* metadata,
                                       dyn_model_info* info) DYN_NOEXCEPT;
/* The version of the operators of one domain. */
DYN_C_API dyn_status* dyn_metadata_opset(const dyn_metadata* metadata, size_t index,
                                         const char** domain, int64_t* version) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_metadata_property(const dyn_metadata* metadata, size_t index,
                                            const char** key, const char** value) DYN_NOEXCEPT;
DYN_C_API void dyn_metadata_release(dyn_metadata* metadata) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_kernels_count(const dyn_kernels* kernels, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_kernels_get(const dyn_kernels* kernels, size_t index,
                                      dyn_kernel* kernel) DYN_NOEXCEPT;
DYN_C_API void dyn_kernels_release(dyn_kernels* kernels) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
