#ifndef DYN_C_TEXTS_H
#define DYN_C_TEXTS_H
/* Texts at inputs and outputs. Part of dyn/dyn.h. */

#include "dyn/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
