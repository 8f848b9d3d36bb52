/* families.h - the families of operators, and which of them a build has.
 *
 * Without an option: all. Otherwise -DCI_FAMILIES=... names a preset or families, as in
 *
 *   cc -O2 -DCI_FAMILIES=CI_INFERENCE -Icinfer/include app.c cinfer/cinfer.c -lm -pthread
 *   cc -O2 '-DCI_FAMILIES=CI_INFERENCE|CI_FAMILY_ml' ...
 *
 * Models that need another family are refused at load, with one message that names operators and families. CMake has
 * CINFER_FAMILIES and CINFER_PRESET. The operators of each are in docs/families.md. */
#ifndef CI_FAMILIES_H
#define CI_FAMILIES_H

#define CI_FAMILY_core (1ULL << 0)          /* constants, placeholders, variables: always there */
#define CI_FAMILY_arithmetic (1ULL << 1)    /* addition, multiplication, powers, casts, fused chains */
#define CI_FAMILY_logic (1ULL << 2)         /* comparisons, Boolean operators, Where */
#define CI_FAMILY_activation (1ULL << 3)    /* Relu and similar operators, Softmax */
#define CI_FAMILY_reduction (1ULL << 4)     /* sums, means and norms along axes */
#define CI_FAMILY_shape (1ULL << 5)         /* other shapes, orders and parts of the same elements, and Gather */
#define CI_FAMILY_index (1ULL << 6)         /* gather and scatter */
#define CI_FAMILY_linear (1ULL << 7)        /* matrix multiplication */
#define CI_FAMILY_convolution (1ULL << 8)
#define CI_FAMILY_pooling (1ULL << 9)
#define CI_FAMILY_normalization (1ULL << 10)
#define CI_FAMILY_recurrent (1ULL << 11)    /* RNN, GRU, LSTM */
#define CI_FAMILY_attention (1ULL << 12)
#define CI_FAMILY_control (1ULL << 13)      /* branches and loops */
#define CI_FAMILY_bits (1ULL << 14)         /* of integers */
#define CI_FAMILY_rounding (1ULL << 15)
#define CI_FAMILY_signal (1ULL << 16)       /* Fourier transforms, parts of complex numbers */

#define CI_FAMILY_trigonometry (1ULL << 17)
#define CI_FAMILY_selection (1ULL << 18)    /* by value: the largest, the different, the marked; cumulative sums */
#define CI_FAMILY_quantization (1ULL << 19) /* integers of eight bits and less */
#define CI_FAMILY_image (1ULL << 20)        /* resizing, regions, boxes, transposed convolution */
#define CI_FAMILY_ml (1ULL << 21)           /* decision trees and other classical learners */
#define CI_FAMILY_algebra (1ULL << 22)      /* einsum, factors of matrices, equations */
#define CI_FAMILY_sequence (1ULL << 23)     /* sequences and optional values */
#define CI_FAMILY_strings (1ULL << 24)         /* strings */
#define CI_FAMILY_random (1ULL << 25)
#define CI_FAMILY_training (1ULL << 26)     /* gradients and steps of optimizers */
#define CI_FAMILY_checks (1ULL << 27)       /* assertions */
#define CI_FAMILY_host (1ULL << 28)         /* host functions of the caller */
/* no operators: */
#define CI_FAMILY_checkpoints (1ULL << 29)  /* ci_save and ci_restore */
#define CI_FAMILY_types (1ULL << 30)        /* arithmetic of float64 and of integers but int32, int64, uint8 */

#define CI_FAMILY_special (1ULL << 31)      /* incomplete gamma and beta functions, zeta, Bessel functions */
#define CI_FAMILY_custom (1ULL << 32)       /* custom operators */

#define CI_ALL_FAMILIES ((CI_FAMILY_custom << 1) - 1) /* custom is the last */
/* The families that the usual networks need to predict: perceptrons, convolutional and recurrent ones, transformers. */
#define CI_INFERENCE                                                                                       \
  (CI_FAMILY_arithmetic | CI_FAMILY_logic | CI_FAMILY_activation | CI_FAMILY_reduction | CI_FAMILY_shape | \
   CI_FAMILY_linear | CI_FAMILY_convolution | CI_FAMILY_pooling | CI_FAMILY_normalization | CI_FAMILY_recurrent)

#ifndef CI_FAMILIES
#define CI_FAMILIES CI_ALL_FAMILIES
#endif
#define CI_HAS(family) (((CI_FAMILIES | CI_FAMILY_core) & CI_FAMILY_##family) != 0)
#define CI_HAS_ALL (((CI_FAMILIES | CI_FAMILY_core) & CI_ALL_FAMILIES) == CI_ALL_FAMILIES)

/* Kernels and vector code (isa_*.h) that several families share: all of it is there, or nothing. */
#define CI_HAS_CONVOLUTIONS (CI_HAS(convolution) || CI_HAS(training) || CI_HAS(quantization) || CI_HAS(image))
#define CI_HAS_POOLS (CI_HAS(pooling) || CI_HAS(training))
#define CI_HAS_SOFTMAX (CI_HAS(activation) || CI_HAS(attention) || CI_HAS(training))
#define CI_HAS_GEMM                                                                                            \
  (CI_HAS_CONVOLUTIONS || CI_HAS(linear) || CI_HAS(normalization) || CI_HAS(recurrent) || CI_HAS(attention) || \
   CI_HAS(reduction) || CI_HAS(algebra))
#endif
