/* pack.h - packed constants, in the order that a kernel reads: made once for a model, shared by its sessions and
 * plans. */
#ifndef CI_PACK_H
#define CI_PACK_H
#include "../kernels/ci_kernel.h"

/* The order of a packed constant. Together with the kernel's parameter, the constant and its shape it determines every
 * byte. */
enum ci_pack_layout {
  CI_PACK_COLUMNS, /* gemm.h: packed tiles of columns, or rows of all of them */
  CI_PACK_DOTS,    /* gemm.h: columns contiguous along k */
  CI_PACK_CONV,    /* the convolutions': their parameter distinguishes the forms */
  CI_PACK_RECURRENT, /* recurrent.c: directions and gates are the parameter */
  CI_PACK_TREES,   /* trees.c: of all inputs of the node that is the parameter */
  CI_PACK_PLAIN,   /* row-major, of a constant that the file has in packed tiles */
  CI_PACK_SORTED   /* ml.c: indices in ascending order of keys */
};

typedef void (*ci_pack_fn)(void *to, const ci_value *value, const void *argument); /* `to` is 64-aligned */

/* In prepare: input i in another order, in memory of the model, which `fill` writes at the first call for this
 * constant, shape, layout, parameter and size. NULL: the input is not a constant of the model, or there is no memory
 * for it, and the kernel orders the input in scratch when it runs. */
const void *ci_k_packed(ci_kernel *k, int i, uint32_t layout, uint32_t parameter, size_t bytes, ci_pack_fn fill,
                        const void *argument);

/* In prepare: input i as the file has it, in packed tiles of `width` along its last or else its first axis; NULL: the
 * file has it in another order. */
const void *ci_k_packed_tiles(ci_kernel *k, int i, int64_t width, bool last);

/* In `fill`, of a large constant: a part of it that will not be read again. */
void ci_k_pack_forget(const ci_kernel *k, const void *part, size_t bytes);

/* Whether input i is a constant of the model. */
bool ci_k_is_constant(const ci_kernel *k, int i);

void ci_pack_free(struct ci_model *model);
#endif
