#ifndef DYN_PLUGIN_H
#define DYN_PLUGIN_H
/*
 * Plug-ins: operators in a shared object, which dynrun --plugin and dyn::Options::plugins load.
 *
 * A plug-in exports one function, dyn_plugin_get, and needs nothing of dyn but this header (C11 or
 * C++). Its functions may be called from any thread, several at once, and must depend on their
 * arguments alone. They return 0, or anything else where they have failed; host->fail says why. An
 * exception of C++ that leaves one is an error of the model's load or run, as is what is no valid
 * answer. Pointers that a function gets are valid until it returns. Definitions use dyn/dyn.h too.
 *
 * Versions. Structures begin with their size, as the side that made them was built: members behind
 * it are not there. Later versions of the same DYN_PLUGIN_MAJOR only append members; dyn refuses a
 * plug-in of a newer major version.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DYN_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define DYN_PLUGIN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Declared by dyn/dyn.h. */
struct dyn_status;
struct dyn_api;
struct dyn_builder;
struct dyn_value;

#define DYN_PLUGIN_MAJOR 1
#define DYN_PLUGIN_MINOR 0
#define DYN_PLUGIN_VERSION (DYN_PLUGIN_MAJOR << 16 | DYN_PLUGIN_MINOR)

/* At most so many dims has a tensor. */
#define DYN_PLUGIN_MAX_RANK 8

/* The element type of a tensor: the numbers of dyn_dtype (dyn/dyn.h) and of dyn::DType, such as 0:
 * f32, 7: i64, 12: bool. */
typedef int32_t dyn_plugin_dtype;

/* A size: an integer or an expression of the model's dims. */
typedef struct dyn_plugin_dim dyn_plugin_dim;
/* The node that a function is called for. */
typedef struct dyn_plugin_node dyn_plugin_node;

/* What dyn offers to functions of a plug-in. Functions of dims are for shape functions alone, and
 * give NULL, which is an error later, where an argument is NULL or wrong. */
typedef struct dyn_plugin_host {
  uint32_t struct_size;
  uint32_t version; /* of dyn's plug-in interface */
  /* Why the function fails; the first message stays. */
  void (*fail)(dyn_plugin_node* node, const char* message);
  /* The node's attribute, or the operator's default. 0: it has none of this name and kind. */
  int (*boolean)(dyn_plugin_node* node, const char* name, int* value);
  int (*number)(dyn_plugin_node* node, const char* name, double* value);
  int (*integer)(dyn_plugin_node* node, const char* name, int64_t* value);
  int (*word)(dyn_plugin_node* node, const char* name, const char** value);
  int (*integers)(dyn_plugin_node* node, const char* name, size_t* count, const int64_t** values);
  const dyn_plugin_dim* (*constant)(dyn_plugin_node* node, int64_t value);
  const dyn_plugin_dim* (*add)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                               const dyn_plugin_dim* b);
  const dyn_plugin_dim* (*subtract)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                                    const dyn_plugin_dim* b);
  const dyn_plugin_dim* (*multiply)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                                    const dyn_plugin_dim* b);
  /* floordiv rounds down, and mod has the sign of the divisor. */
  const dyn_plugin_dim* (*floordiv)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                                    const dyn_plugin_dim* b);
  const dyn_plugin_dim* (*mod)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                               const dyn_plugin_dim* b);
  const dyn_plugin_dim* (*minimum)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                                   const dyn_plugin_dim* b);
  const dyn_plugin_dim* (*maximum)(dyn_plugin_node* node, const dyn_plugin_dim* a,
                                   const dyn_plugin_dim* b);
  /* 1 and the value of a size that depends on no dim; else 0. */
  int (*constant_value)(dyn_plugin_node* node, const dyn_plugin_dim* dim, int64_t* value);
  /* A condition on sizes, decided now or when they are known. `what` has the two sizes: "rows of x
   * and y". */
  void (*require_equal)(dyn_plugin_node* node, const dyn_plugin_dim* a, const dyn_plugin_dim* b,
                        const char* what);
} dyn_plugin_host;

typedef struct dyn_plugin_type {
  dyn_plugin_dtype dtype;
  uint32_t rank;
  const dyn_plugin_dim* dims[DYN_PLUGIN_MAX_RANK];
} dyn_plugin_type;

typedef struct dyn_plugin_shape_call {
  uint32_t struct_size;
  uint32_t input_count; /* that the node has */
  const dyn_plugin_host* host;
  dyn_plugin_node* node;
  const dyn_plugin_type* inputs;
  dyn_plugin_type* outputs; /* to be filled: as many as the operator has */
} dyn_plugin_shape_call;

/* A dense row-major tensor in the host's memory. */
typedef struct dyn_plugin_tensor {
  dyn_plugin_dtype dtype;
  uint32_t rank;
  const int64_t* sizes;
  void* data; /* of inputs: not to be written */
} dyn_plugin_tensor;

typedef struct dyn_plugin_kernel_call {
  uint32_t struct_size;
  uint32_t input_count;
  const dyn_plugin_host* host;
  dyn_plugin_node* node;
  const dyn_plugin_tensor* inputs;
  const dyn_plugin_tensor* outputs; /* their elements are to be filled */
} dyn_plugin_kernel_call;

/* A definition adds dyn's operators, and others of the program, to the model: by functions of
 * dyn/dyn.h, or by `api`, the table of them, in a plug-in that is not linked to dyn. */
typedef struct dyn_plugin_definition_call {
  uint32_t struct_size;
  uint32_t input_count; /* that the node has */
  const dyn_plugin_host* host;
  dyn_plugin_node* node;
  const struct dyn_api* api;
  struct dyn_builder* builder; /* for nodes, and for weights that need no file */
  struct dyn_value* const* inputs;
  struct dyn_value** outputs; /* to be filled with values of the builder */
} dyn_plugin_definition_call;

/* The kinds of attributes. */
enum {
  DYN_PLUGIN_BOOLEAN = 0,
  DYN_PLUGIN_NUMBER = 1,
  DYN_PLUGIN_INTEGER = 2,
  DYN_PLUGIN_WORD = 3,
  DYN_PLUGIN_INTEGERS = 4
};

/* The default is the member that belongs to the kind. */
typedef struct dyn_plugin_attribute {
  uint32_t struct_size;
  int32_t kind;
  const char* name;
  int32_t required; /* not 0: a node must have it, and the default means nothing */
  int32_t boolean;
  double number;
  int64_t integer;
  const char* word;
  size_t integer_count;
  const int64_t* integers;
} dyn_plugin_attribute;

/* As dyn::Operator (dyn/operator.hpp), which says what each member means. */
typedef struct dyn_plugin_operator {
  uint32_t struct_size;
  uint32_t output_count;
  const char* domain;
  const char* name;
  uint32_t input_count;
  uint32_t optional_input_count;
  const char* const* input_names;
  size_t attribute_count;
  const dyn_plugin_attribute* const* attributes;
  /* With a kernel; NULL with an expression or a definition. `data` is this structure's. */
  int (*shape)(const dyn_plugin_shape_call* call, void* data);
  int (*kernel)(const dyn_plugin_kernel_call* call, void* data);
  const char* expression; /* or NULL */
  void* data;
  /* Or NULL. Gives NULL where it has not failed, else why: a status of the builder's, or one of
   * dyn_status_create. An error of the builder that it does not give is its own as well. */
  struct dyn_status* (*definition)(const dyn_plugin_definition_call* call, void* data);
} dyn_plugin_operator;

typedef struct dyn_plugin {
  uint32_t struct_size;
  uint32_t version; /* DYN_PLUGIN_VERSION */
  size_t operator_count;
  const dyn_plugin_operator* const* operators;
} dyn_plugin;

/* The one function that a plug-in exports. What it gives stays as long as the library is loaded. */
DYN_PLUGIN_EXPORT const dyn_plugin* dyn_plugin_get(void);
typedef const dyn_plugin* (*dyn_plugin_get_function)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
