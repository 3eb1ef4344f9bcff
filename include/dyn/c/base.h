#ifndef DYN_C_BASE_H
#define DYN_C_BASE_H
/* The base of the C interface: handles, statuses, element types. Part of dyn/dyn.h. */

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
typedef struct dyn_builder dyn_builder;           /* a model that the program makes */
typedef struct dyn_value dyn_value;               /* a tensor of such a model, or a number */

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

/* "0.1.0": of the library that runs. */
DYN_C_API const char* dyn_version(void) DYN_NOEXCEPT;

/* --- Statuses ------------------------------------------------------------------------------- */

/* NULL is success: its kind is -1, its texts are "", and releasing it does nothing. */
DYN_C_API dyn_kind dyn_status_kind(const dyn_status* status) DYN_NOEXCEPT;
/* "user", "model", "unsupported", "device", "internal"; "unknown" for what is no kind. */
DYN_C_API const char* dyn_kind_name(dyn_kind kind) DYN_NOEXCEPT;
/* The fault, in one sentence or more. */
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

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
