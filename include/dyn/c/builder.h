#ifndef DYN_C_BUILDER_H
#define DYN_C_BUILDER_H
/*
 * Models that the program makes, operator by operator: dyn::Builder (dyn/builder.hpp). Part of
 * dyn/dyn.h.
 *
 *   dyn_builder_dim(b, "N", 1, 4096);
 *   dyn_builder_input(b, "x", DYN_F32, "[N, 24]", &x);
 *   dyn_builder_op(b, "softmax", DYN_VALUES(x),
 *                  DYN_ATTRIBUTES({"axis", DYN_ATTRIBUTE_INTEGER, .integer = -1}), NULL, &y);
 *
 * Values belong to their builder: their handles go with it, and nobody releases them. A builder has
 * one user at a time, its values included.
 *
 * An operator is checked when it is added. The first function of a builder that fails says what is
 * wrong, and is the end of the model: all that follow fail with the same status, also where nobody
 * has looked at the first.
 */

#include "dyn/c/base.h"
#include "dyn/c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute of a node: the member that belongs to the kind. */
typedef int32_t dyn_attribute_kind;
enum {
  DYN_ATTRIBUTE_BOOLEAN = 0,
  DYN_ATTRIBUTE_NUMBER = 1,
  DYN_ATTRIBUTE_INTEGER = 2,  /* a number where one is asked for */
  DYN_ATTRIBUTE_WORD = 3,     /* in `text` */
  DYN_ATTRIBUTE_INTEGERS = 4, /* `count` of them */
  DYN_ATTRIBUTE_SIZE = 5,     /* in `text`: "N * 2" */
  DYN_ATTRIBUTE_SIZES = 6,    /* in `text`: "[N * 2, 12]" */
  DYN_ATTRIBUTE_DTYPE = 7
};
typedef struct dyn_attribute {
  const char* name;
  dyn_attribute_kind kind;
  bool boolean;
  dyn_dtype dtype;
  double number;
  int64_t integer;
  const char* text;
  size_t count;
  const int64_t* integers;
} dyn_attribute;

#ifndef __cplusplus
/* A list of values or attributes, as two arguments: how many there are, and where. */
#define DYN_LIST(type, ...) \
  sizeof((type[]){__VA_ARGS__}) / sizeof(type), (type[]) { __VA_ARGS__ }
#define DYN_VALUES(...) DYN_LIST(dyn_value*, __VA_ARGS__)
#define DYN_ATTRIBUTES(...) DYN_LIST(dyn_attribute, __VA_ARGS__)
#endif
#define DYN_NO_ATTRIBUTES 0, NULL

/* `name`: of the graph; NULL: "graph". `options`: whose operators and plug-ins the model may use;
 * NULL: dyn's operators alone. */
DYN_C_API dyn_status* dyn_builder_create(const char* name, const dyn_options* options,
                                         dyn_builder** builder) DYN_NOEXCEPT;

/* A dim, which texts of sizes may have from now on. */
DYN_C_API dyn_status* dyn_builder_dim(dyn_builder* builder, const char* name, int64_t low,
                                      int64_t high) DYN_NOEXCEPT;
/* The same by what a model says of a dim: text, bounds, divisor, hint. */
DYN_C_API dyn_status* dyn_builder_dim_with(dyn_builder* builder, const dyn_dim* dim) DYN_NOEXCEPT;

/* `shape` as the text writes it: "[N, floordiv(N, 2), _]", where _ is a dim without a name. */
DYN_C_API dyn_status* dyn_builder_input(dyn_builder* builder, const char* name, dyn_dtype dtype,
                                        const char* shape, dyn_value** value) DYN_NOEXCEPT;
/* A buffer that a session keeps from run to run; `append` alone takes it. */
DYN_C_API dyn_status* dyn_builder_state(dyn_builder* builder, const char* name, dyn_dtype dtype,
                                        const char* shape, dyn_value** value) DYN_NOEXCEPT;

/* A weight with these elements. The tensor's handle may be released; memory that it views must stay
 * as it is until the last load. */
DYN_C_API dyn_status* dyn_builder_weight(dyn_builder* builder, const char* name,
                                         const dyn_tensor* elements,
                                         dyn_value** value) DYN_NOEXCEPT;
/* A weight of the safetensors files of dyn_builder_weight_file; its name is its key there. */
DYN_C_API dyn_status* dyn_builder_weight_of_file(dyn_builder* builder, const char* name,
                                                 dyn_dtype dtype, size_t rank, const int64_t* sizes,
                                                 dyn_value** value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_builder_weight_file(dyn_builder* builder, const char* path) DYN_NOEXCEPT;
/* Weights without a file: one element everywhere, and seeded normal ones (docs/ir.md). */
DYN_C_API dyn_status* dyn_builder_splat(dyn_builder* builder, const char* name, dyn_dtype dtype,
                                        size_t rank, const int64_t* sizes, double element,
                                        dyn_value** value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_builder_random(dyn_builder* builder, const char* name, dyn_dtype dtype,
                                         size_t rank, const int64_t* sizes, uint64_t seed,
                                         dyn_value** value) DYN_NOEXCEPT;

/* A number. With DYN_NO_DTYPE it takes the dtype of the tensor beside it, as in the text. */
enum { DYN_NO_DTYPE = -1 };
DYN_C_API dyn_status* dyn_builder_number(dyn_builder* builder, dyn_dtype dtype, double number,
                                         dyn_value** value) DYN_NOEXCEPT;
/* The same; of DYN_BOOL 0 and 1. */
DYN_C_API dyn_status* dyn_builder_integer(dyn_builder* builder, dyn_dtype dtype, int64_t integer,
                                          dyn_value** value) DYN_NOEXCEPT;

/* A node of the operator that the text calls so (docs/ir.md), or of one of the program's, with one
 * result, of this name; NULL: that of the operator, made unique. */
DYN_C_API dyn_status* dyn_builder_op(dyn_builder* builder, const char* op, size_t input_count,
                                     dyn_value* const* inputs, size_t attribute_count,
                                     const dyn_attribute* attributes, const char* name,
                                     dyn_value** value) DYN_NOEXCEPT;
/* The same with `value_count` results. Both may put results where the inputs stand. */
DYN_C_API dyn_status* dyn_builder_ops(dyn_builder* builder, const char* op, size_t input_count,
                                      dyn_value* const* inputs, size_t attribute_count,
                                      const dyn_attribute* attributes, size_t value_count,
                                      dyn_value** values) DYN_NOEXCEPT;
/* Gives a node's result another name. */
DYN_C_API dyn_status* dyn_builder_rename(dyn_builder* builder, dyn_value* value,
                                         const char* name) DYN_NOEXCEPT;
/* Name, dtype and shape of a tensor, with all that is known of its dims so far: a later node may
 * tell more. DYN_ERROR_USER: a number. */
DYN_C_API dyn_status* dyn_builder_port(dyn_builder* builder, const dyn_value* value,
                                       dyn_port** port) DYN_NOEXCEPT;

/* Outputs come in the order of these calls. */
DYN_C_API dyn_status* dyn_builder_output(dyn_builder* builder, const char* name,
                                         dyn_value* value) DYN_NOEXCEPT;

/* These end the building: the model is whole then. The first gives one text, which
 * dyn_graph_from_text reads; the second the bytes of the file that this text calls
 * "weights.safetensors", with the weights that were given with their elements: none without such.
 */
DYN_C_API dyn_status* dyn_builder_to_text(dyn_builder* builder, dyn_texts** text) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_builder_weights(dyn_builder* builder, dyn_texts** file) DYN_NOEXCEPT;
/* Any number of times. The model keeps the builder's operators; those of the options are not looked
 * at. `weight_directory` as for dyn_graph_from_text. */
DYN_C_API dyn_status* dyn_builder_load(dyn_builder* builder, const dyn_options* options,
                                       const char* weight_directory,
                                       dyn_graph** graph) DYN_NOEXCEPT;
DYN_C_API void dyn_builder_release(dyn_builder* builder) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
