/* cinfer.c - the whole library as one file.
 *
 *   cc -O2 -Icinfer/include app.c cinfer/cinfer.c -lm -pthread
 *
 * The parts are only included here; CMakeLists.txt builds them one by one. */
#if !defined(CI_BUILD) && !defined(CI_ONE_FILE) /* CI_BUILD: a shared library, which exports ci_... */
#define CI_ONE_FILE
#endif
#include "src/posix.h"

/* shared by all parts */
#include "src/error.c"
#include "src/memory.c"
#include "src/crc32c.c"
#include "src/file.c"
#include "src/out.c"
#include "src/wire.c"
#include "src/shape.c"
#include "src/threads.c"
#include "src/scalar_math.c"
#include "src/scalar_trig.c"

/* models: from bytes to a verified graph */
#include "src/names.c"
#include "src/types.c"
#include "src/container.c"
#include "src/parse.c"
#include "src/functions.c"
#include "src/verify.c"
#include "src/needs.c"
#include "src/model.c"
#include "src/ops.c"

/* runs, state and checkpoints */
#include "src/state.c"
#include "src/kernel.c"
#include "src/compile.c"
#include "src/layout.c"
#include "src/run.c"
#include "src/output.c"
#include "src/session.c"
#include "src/checkpoint_index.c"
#include "src/checkpoint_meta.c"
#include "src/checkpoint_save.c"
#include "src/checkpoint_restore.c"
#include "src/isa.c"

/* kernels */
#include "src/kernels/arg.c"
#include "src/kernels/array.c"
#include "src/kernels/array_make.c"
#include "src/kernels/array_part.c"
#include "src/kernels/attention.c"
#include "src/kernels/broadcast.c"
#include "src/kernels/cast.c"
#include "src/kernels/control.c"
#include "src/kernels/conv.c"
#include "src/kernels/conv_grad.c"
#include "src/kernels/copy.c"
#include "src/kernels/elementwise.c"
#include "src/kernels/elementwise_binary.c"
#include "src/kernels/elementwise_unary.c"
#include "src/kernels/index.c"
#include "src/kernels/lrn.c"
#include "src/kernels/matmul.c"
#include "src/kernels/nn.c"
#include "src/kernels/nonzero.c"
#include "src/kernels/normalize.c"
#include "src/kernels/pool.c"
#include "src/kernels/product.c"
#include "src/kernels/random.c"
#include "src/kernels/reduce.c"
#include "src/kernels/reduce_typed.c"
#include "src/kernels/rotary.c"
#include "src/kernels/state.c"
#include "src/kernels/training.c"
#include "src/kernels/where.c"
#include "src/kernels/window.c"
