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
 * Handles may be released in any order: what a call, a session or a tensor needs stays.
 *
 * Statuses. A function that can fail returns NULL for success, or a status that its caller
 * releases. The kind says whose problem it is; the message and the places after it are those of
 * dyn::Error. A function that fails sets what it would have given to NULL or 0 and changes nothing
 * else, unless it says so.
 *
 * Threads. Any number of threads may use one graph, tensor, options or device at the same time, as
 * long as nobody changes options or the elements of a tensor. A call, a session, a stream and a
 * coder of texts have one user at a time: a function that meets another thread's is an error.
 *
 * Strings end with a 0 byte and are UTF-8, unless a length is beside them; dyn copies what it
 * keeps. Strings and arrays that dyn gives out stay as long as the handle that they were asked of,
 * unless the function says otherwise. Sizes of tensors are row-major, outermost first.
 *
 * Versions. Functions are only ever added: a program that was built with this header runs with
 * every later library of the same DYN_API_MAJOR. A host that opens the library at run time asks
 * dyn_get_api for the table of all functions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DYN_C_API __attribute__((visibility("default")))
#else
#define DYN_C_API
#endif
#ifdef __cplusplus
#define DYN_NOEXCEPT noexcept
extern "C" {
#else
#define DYN_NOEXCEPT
#endif

#define DYN_API_MAJOR 1
#define DYN_API_MINOR 0
/* What dyn_get_api is asked for: the version of this header's table. */
#define DYN_API_VERSION (DYN_API_MAJOR << 16 | DYN_API_MINOR)

typedef struct dyn_status dyn_status;     /* why a function failed */
typedef struct dyn_options dyn_options;   /* how a model is loaded */
typedef struct dyn_tensor dyn_tensor;     /* elements, owned or viewed */
typedef struct dyn_graph dyn_graph;       /* a loaded model */
typedef struct dyn_port dyn_port;         /* an input or output of a model */
typedef struct dyn_shapes dyn_shapes;     /* names with sizes */
typedef struct dyn_dims dyn_dims;         /* dims that a model names */
typedef struct dyn_metadata dyn_metadata; /* what a model says about itself */
typedef struct dyn_kernels dyn_kernels;   /* kernels of a model */
typedef struct dyn_call dyn_call;         /* one caller's runs, with tensors that stay bound */
typedef struct dyn_session dyn_session;   /* the state of one sequence */
typedef struct dyn_device dyn_device;     /* the GPU that a graph runs on */
typedef struct dyn_stream dyn_stream;     /* a queue of work there */
typedef struct dyn_coder dyn_coder;       /* texts at inputs and outputs */
typedef struct dyn_texts dyn_texts;       /* texts of an output */
typedef struct dyn_cancellation dyn_cancellation; /* ends runs */
typedef struct dyn_async_run dyn_async_run;       /* a run beside its caller */
typedef struct dyn_task dyn_task;                 /* work for a thread of the host */
typedef struct dyn_profile dyn_profile;           /* what one run did, and when */
struct dyn_plugin;                                /* a table of operators: dyn/plugin.h */

/* Whose problem a status is. */
typedef int32_t dyn_kind;
enum {
  DYN_ERROR_USER = 0,        /* a wrong argument or input */
  DYN_ERROR_MODEL = 1,       /* a broken or inconsistent model or weight file */
  DYN_ERROR_UNSUPPORTED = 2, /* valid, but not something that this build or machine can do */
  DYN_ERROR_DEVICE = 3,      /* the machine failed: memory, files, driver */
  DYN_ERROR_INTERNAL = 4,    /* a defect of dyn */
  DYN_ERROR_CANCELLED = 5    /* nobody's: the host wanted the end */
};

/* The element type of a tensor. From DYN_F8E4M3FN on they are codes of one byte each
 * (dyn/dtype.hpp). */
typedef int32_t dyn_dtype;
enum {
  DYN_F32 = 0,
  DYN_F16 = 1,
  DYN_BF16 = 2,
  DYN_F64 = 3,
  DYN_I8 = 4,
  DYN_I16 = 5,
  DYN_I32 = 6,
  DYN_I64 = 7,
  DYN_U8 = 8,
  DYN_U16 = 9,
  DYN_U32 = 10,
  DYN_U64 = 11,
  DYN_BOOL = 12, /* one byte, 0 or 1 */
  DYN_F8E4M3FN = 13,
  DYN_F8E4M3FNUZ = 14,
  DYN_F8E5M2 = 15,
  DYN_F8E5M2FNUZ = 16,
  DYN_F8E8M0 = 17,
  DYN_F4E2M1 = 18,
  DYN_I4 = 19,
  DYN_U4 = 20,
  DYN_I2 = 21,
  DYN_U2 = 22
};

typedef int32_t dyn_log_level;
enum { DYN_LOG_DEBUG = 0, DYN_LOG_INFO = 1, DYN_LOG_WARNING = 2 };

/* A named size or shape. `sizes` has `rank` elements. */
typedef struct dyn_named_shape {
  const char* name;
  size_t rank;
  const int64_t* sizes;
} dyn_named_shape;
typedef struct dyn_named_size {
  const char* name;
  int64_t size;
} dyn_named_size;
typedef struct dyn_named_tensor {
  const char* name;
  const dyn_tensor* tensor;
} dyn_named_tensor;
/* Bytes under a name: a weight file in memory. */
typedef struct dyn_named_bytes {
  const char* name;
  const void* data;
  size_t size;
} dyn_named_bytes;

/* Structures that begin with `struct_size` get members behind their last in later versions: the
 * caller says there how large its own is, and dyn reads or writes no member beyond it. */

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

/* What may end a run early, which is then DYN_ERROR_CANCELLED: dyn::RunOptions. */
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

/* The host's threads: dyn::Executor by functions, which get `context` and are called from any
 * thread. */
typedef struct dyn_executor {
  size_t struct_size;
  void* context;
  /* How many tasks run at the same time, beside the threads that call dyn. */
  int (*concurrency)(void* context);
  /* Takes a task, which any thread then gives to dyn_task_run or, unrun, to dyn_task_release, once.
   * False: it does not take it. */
  bool (*submit)(void* context, dyn_task* task);
  /* May be NULL. Called once, from any thread, when nothing of dyn calls the others any more. */
  void (*release)(void* context);
} dyn_executor;

/* The host's memory: dyn::Allocator by functions, which get `context` and are called from any
 * thread. */
typedef struct dyn_allocator {
  size_t struct_size;
  void* context;
  /* At least `bytes` at a multiple of `alignment`, a power of 2; NULL: there is no memory. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* memory, size_t bytes, size_t alignment);
  /* May be NULL. Called once, from any thread, when nothing of dyn calls the others any more. */
  void (*release)(void* context);
} dyn_allocator;

/* What one run did: dyn::Profile (dyn/profile.hpp), in the parts that it has there. Times are
 * nanoseconds of one clock for all profiles. */
typedef struct dyn_profile_info {
  size_t struct_size;
  const char* label;
  int64_t start_ns, end_ns; /* of the whole run */
  int64_t threads;
  uint64_t arena_bytes, device_arena_bytes, scratch_bytes;
  size_t group_count, event_count, slice_count, buffer_count;
} dyn_profile_info;
typedef struct dyn_profile_group {
  size_t struct_size;
  const char *name, *operators, *kernel, *program, *device;
  double flops, bytes, predicted_seconds;
  int64_t threads, tickets, merge_tickets;
} dyn_profile_group;
typedef int32_t dyn_event_kind;
enum { DYN_EVENT_GROUP = 0, DYN_EVENT_COPY = 1, DYN_EVENT_WAIT = 2 };
typedef struct dyn_profile_event {
  size_t struct_size;
  size_t group; /* its number */
  int64_t start_ns, end_ns;
  dyn_event_kind kind;
} dyn_profile_event;
typedef struct dyn_profile_slice {
  size_t struct_size;
  size_t event; /* its number */
  int64_t thread, stage, first, count, start_ns, end_ns;
} dyn_profile_slice;
typedef struct dyn_profile_buffer {
  size_t struct_size;
  const char* tensor;
  uint64_t offset, bytes;
  size_t first_event, last_event; /* their numbers */
  bool on_device;
} dyn_profile_buffer;

/* --- Versions ------------------------------------------------------------------------------- */

/* "0.1.0": of the library that runs. */
DYN_C_API const char* dyn_version(void) DYN_NOEXCEPT;

/* The table of functions of version `version`, which is the caller's DYN_API_VERSION; NULL where
 * the library is older than that, or of another DYN_API_MAJOR. It stays for the process. */
typedef struct dyn_api dyn_api;
DYN_C_API const dyn_api* dyn_get_api(uint32_t version) DYN_NOEXCEPT;

/* --- Statuses ------------------------------------------------------------------------------- */

/* NULL is success: its kind is -1, its texts are "", and releasing it does nothing. */
DYN_C_API dyn_kind dyn_status_kind(const dyn_status* status) DYN_NOEXCEPT;
/* "user", "model", "unsupported", "device", "internal"; "unknown" for what is no kind. */
DYN_C_API const char* dyn_kind_name(dyn_kind kind) DYN_NOEXCEPT;
/* What is wrong, in one sentence or more. */
DYN_C_API const char* dyn_status_message(const dyn_status* status) DYN_NOEXCEPT;
/* Where it is wrong, innermost first; NULL beyond the last. */
DYN_C_API size_t dyn_status_place_count(const dyn_status* status) DYN_NOEXCEPT;
DYN_C_API const char* dyn_status_place(const dyn_status* status, size_t index) DYN_NOEXCEPT;
/* All of it: the message, then one line "  in ..." for each place. */
DYN_C_API const char* dyn_status_text(const dyn_status* status) DYN_NOEXCEPT;
DYN_C_API void dyn_status_release(dyn_status* status) DYN_NOEXCEPT;
/* For functions of the host that dyn calls. `message` may be NULL: "". */
DYN_C_API dyn_status* dyn_status_create(dyn_kind kind, const char* message) DYN_NOEXCEPT;

/* --- Element types -------------------------------------------------------------------------- */

/* Bytes of an element; 0 for what is no dtype. */
DYN_C_API size_t dyn_dtype_size(dyn_dtype dtype) DYN_NOEXCEPT;
/* "f32", ... as in the text IR; NULL for what is no dtype. */
DYN_C_API const char* dyn_dtype_name(dyn_dtype dtype) DYN_NOEXCEPT;
/* The inverse; -1 where there is no dtype of that name. */
DYN_C_API dyn_dtype dyn_dtype_parse(const char* name) DYN_NOEXCEPT;

/* --- Options -------------------------------------------------------------------------------- */

/* Every default of dyn::Options (dyn/options.hpp), which says what each option means. */
DYN_C_API dyn_status* dyn_options_create(dyn_options** options) DYN_NOEXCEPT;
/* An option by the name of its member there. DYN_ERROR_USER: no option has that name, or it takes
 * another kind of value. What the value means is checked by the load. */
DYN_C_API dyn_status* dyn_options_set_text(dyn_options* options, const char* name,
                                           const char* value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_integer(dyn_options* options, const char* name,
                                              int64_t value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_flag(dyn_options* options, const char* name,
                                           bool value) DYN_NOEXCEPT;
/* An entry of Options::known_inputs. The elements are copied by the load. */
DYN_C_API dyn_status* dyn_options_add_known_input(dyn_options* options, const char* input,
                                                  const dyn_tensor* value) DYN_NOEXCEPT;
/* An entry of Options::free_dims: `words`, one for each of `count` dims of the input. */
DYN_C_API dyn_status* dyn_options_add_free_dims(dyn_options* options, const char* input,
                                                size_t count,
                                                const char* const* words) DYN_NOEXCEPT;
/* Options::log. `log` may be called from any thread, and until nothing that was loaded with these
 * options is left; it may not jump out. NULL: no log. */
typedef void (*dyn_log_function)(void* context, dyn_log_level level, const char* text,
                                 size_t length);
DYN_C_API dyn_status* dyn_options_set_log(dyn_options* options, dyn_log_function log,
                                          void* context) DYN_NOEXCEPT;
/* Options::progress. `stage` is "parse", "compile" (in kernels) or "weights" (in bytes). False ends
 * the load with DYN_ERROR_CANCELLED. NULL: nobody hears of it. */
typedef bool (*dyn_progress_function)(void* context, const char* stage, int64_t done,
                                      int64_t total);
DYN_C_API dyn_status* dyn_options_set_progress(dyn_options* options, dyn_progress_function progress,
                                               void* context) DYN_NOEXCEPT;
/* Options::executor and Options::allocator. The structure is copied; NULL: dyn's own again. Where
 * the function fails, `release` is not called. */
DYN_C_API dyn_status* dyn_options_set_executor(dyn_options* options,
                                               const dyn_executor* executor) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_allocator(dyn_options* options,
                                                const dyn_allocator* allocator) DYN_NOEXCEPT;
/* An entry of Options::plugins: the path of a shared object. */
DYN_C_API dyn_status* dyn_options_add_plugin(dyn_options* options, const char* path) DYN_NOEXCEPT;
/* The program's own operators, beside those given before (Options::operators). The table, what it
 * points to and its functions stay until dyn calls `release`, once, from any thread; `release` may
 * be NULL: they stay for the process. Where the function fails, it is not called. */
DYN_C_API dyn_status* dyn_options_add_operators(dyn_options* options,
                                                const struct dyn_plugin* table,
                                                void (*release)(void* context),
                                                void* context) DYN_NOEXCEPT;
DYN_C_API void dyn_options_release(dyn_options* options) DYN_NOEXCEPT;

/* --- Tensors -------------------------------------------------------------------------------- */

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

/* --- Graphs --------------------------------------------------------------------------------- */

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

/* --- Calls ---------------------------------------------------------------------------------- */

/* At a shape seen before a run allocates nothing. */
DYN_C_API dyn_status* dyn_call_create(const dyn_graph* graph, dyn_call** call) DYN_NOEXCEPT;
/* A call that runs in a session, and goes on with it. */
DYN_C_API dyn_status* dyn_call_create_in_session(const dyn_session* session,
                                                 dyn_call** call) DYN_NOEXCEPT;
/* Binds input or output number `index` in the model's order, until another is bound. The tensor's
 * handle may be released. An output that is not bound is allocated by the run, and kept while its
 * shape stays. */
DYN_C_API dyn_status* dyn_call_set_input(dyn_call* call, size_t index,
                                         const dyn_tensor* tensor) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_set_output(dyn_call* call, size_t index,
                                          dyn_tensor* tensor) DYN_NOEXCEPT;
/* The number of the input or output of this name. DYN_ERROR_USER: there is none. */
DYN_C_API dyn_status* dyn_call_input_index(const dyn_call* call, const char* name,
                                           size_t* index) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_output_index(const dyn_call* call, const char* name,
                                            size_t* index) DYN_NOEXCEPT;
/* The output is not bound: runs allocate it in the memory of the graph's device. */
DYN_C_API dyn_status* dyn_call_set_output_device(dyn_call* call, size_t index,
                                                 const dyn_device* device) DYN_NOEXCEPT;
/* Runs go to this stream of the graph's device (dyn::Call::set_stream). The stream has one user at
 * a time, its calls included. */
DYN_C_API dyn_status* dyn_call_set_stream(dyn_call* call, const dyn_stream* stream) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_run(dyn_call* call) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_run_with(dyn_call* call,
                                        const dyn_run_options* options) DYN_NOEXCEPT;
/* Waits for runs that have returned before their end. */
DYN_C_API dyn_status* dyn_call_wait(dyn_call* call) DYN_NOEXCEPT;
/* The output of the last run. A later run of the call may write to the same memory. */
DYN_C_API dyn_status* dyn_call_output(const dyn_call* call, size_t index,
                                      dyn_tensor** tensor) DYN_NOEXCEPT;
DYN_C_API void dyn_call_release(dyn_call* call) DYN_NOEXCEPT;

/* --- Sessions ------------------------------------------------------------------------------- */

/* `dims`: the sizes of the states by the names of their dims (dyn::Session). */
DYN_C_API dyn_status* dyn_session_create(const dyn_graph* graph, size_t dim_count,
                                         const dyn_named_size* dims,
                                         dyn_session** session) DYN_NOEXCEPT;
/* Runs once and appends; as dyn_graph_run. A run that fails leaves the session as it was. */
DYN_C_API dyn_status* dyn_session_run(dyn_session* session, size_t input_count,
                                      const dyn_named_tensor* inputs, size_t output_count,
                                      dyn_tensor** outputs) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_session_run_with(dyn_session* session, size_t input_count,
                                           const dyn_named_tensor* inputs, size_t output_count,
                                           dyn_tensor** outputs,
                                           const dyn_run_options* options) DYN_NOEXCEPT;
/* Positions appended so far. */
DYN_C_API dyn_status* dyn_session_length(const dyn_session* session, int64_t* length) DYN_NOEXCEPT;
/* Forgets all positions from `length` on. */
DYN_C_API dyn_status* dyn_session_truncate(dyn_session* session, int64_t length) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_session_reset(dyn_session* session) DYN_NOEXCEPT;
/* Bytes of memory behind the states. */
DYN_C_API dyn_status* dyn_session_bytes(const dyn_session* session, size_t* bytes) DYN_NOEXCEPT;
DYN_C_API void dyn_session_release(dyn_session* session) DYN_NOEXCEPT;

/* --- Runs that the host ends, or lends threads ------------------------------------------------ */

/* dyn::Cancellation: any number of threads may use one, and any number of runs have it. */
DYN_C_API dyn_status* dyn_cancellation_create(dyn_cancellation** cancellation) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_cancellation_cancel(const dyn_cancellation* cancellation) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_cancellation_is_cancelled(const dyn_cancellation* cancellation,
                                                    bool* is_cancelled) DYN_NOEXCEPT;
DYN_C_API void dyn_cancellation_release(dyn_cancellation* cancellation) DYN_NOEXCEPT;

/* dyn::AsyncRun. Any number of threads may use one. */
DYN_C_API dyn_status* dyn_async_run_is_over(const dyn_async_run* run, bool* is_over) DYN_NOEXCEPT;
/* Waits at most so long. */
DYN_C_API dyn_status* dyn_async_run_wait(const dyn_async_run* run, int64_t timeout_ns,
                                         bool* is_over) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_async_run_cancel(const dyn_async_run* run) DYN_NOEXCEPT;
/* The outputs, as those of dyn_graph_run, or what the run has failed with; once. Waits for a run
 * that has begun, and carries out one that has not. */
DYN_C_API dyn_status* dyn_async_run_get(dyn_async_run* run, size_t output_count,
                                        dyn_tensor** outputs) DYN_NOEXCEPT;
DYN_C_API void dyn_async_run_release(dyn_async_run* run) DYN_NOEXCEPT;

/* For executors: runs a task, and releases its handle. */
DYN_C_API dyn_status* dyn_task_run(dyn_task* task) DYN_NOEXCEPT;
DYN_C_API void dyn_task_release(dyn_task* task) DYN_NOEXCEPT;

/* --- Profiles ------------------------------------------------------------------------------- */

/* Empty, until a run fills it in. `label` names the run in a trace; NULL: "". A profile has one
 * user at a time. */
DYN_C_API dyn_status* dyn_profile_create(const char* label, dyn_profile** profile) DYN_NOEXCEPT;
/* Runs as dyn_call_run_with, and writes down what the run did, also where it fails. */
DYN_C_API dyn_status* dyn_call_run_profiled(dyn_call* call, dyn_profile* profile,
                                            const dyn_run_options* options) DYN_NOEXCEPT;
/* What these give stays until the profile's next run. */
DYN_C_API dyn_status* dyn_profile_get(const dyn_profile* profile,
                                      dyn_profile_info* info) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_group_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_group* group) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_event_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_event* event) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_slice_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_slice* slice) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_buffer_get(const dyn_profile* profile, size_t index,
                                             dyn_profile_buffer* buffer) DYN_NOEXCEPT;
/* Runs in the trace event format, for Perfetto: one text (dyn::chrome_trace). */
DYN_C_API dyn_status* dyn_profile_trace(size_t count, const dyn_profile* const* profiles,
                                        dyn_texts** trace) DYN_NOEXCEPT;
DYN_C_API void dyn_profile_release(dyn_profile* profile) DYN_NOEXCEPT;

/* --- Devices -------------------------------------------------------------------------------- */

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

/* --- Texts ---------------------------------------------------------------------------------- */

/* dyn::TextCoder. */
DYN_C_API dyn_status* dyn_coder_create(const dyn_graph* graph, dyn_coder** coder) DYN_NOEXCEPT;
/* An i64 tensor of this shape for the input. `texts` are as many as the shape has elements;
 * `lengths` may be NULL: each text ends with a 0 byte. */
DYN_C_API dyn_status* dyn_coder_encode(dyn_coder* coder, const char* input, size_t count,
                                       const char* const* texts, const size_t* lengths, size_t rank,
                                       const int64_t* sizes, dyn_tensor** tensor) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_coder_decode(const dyn_coder* coder, const char* output,
                                       const dyn_tensor* tensor, dyn_texts** texts) DYN_NOEXCEPT;
/* Forgets texts that are in no list of the model. */
DYN_C_API dyn_status* dyn_coder_forget(dyn_coder* coder) DYN_NOEXCEPT;
DYN_C_API void dyn_coder_release(dyn_coder* coder) DYN_NOEXCEPT;

DYN_C_API dyn_status* dyn_texts_count(const dyn_texts* texts, size_t* count) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_texts_get(const dyn_texts* texts, size_t index, const char** text,
                                    size_t* length) DYN_NOEXCEPT;
DYN_C_API void dyn_texts_release(dyn_texts* texts) DYN_NOEXCEPT;

/* --- The table ------------------------------------------------------------------------------ */

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
  X(texts_count) X(texts_get) X(texts_release)
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
