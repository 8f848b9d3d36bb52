/* isa_linear_lists.h - loops of the preprocessor: accumulators named one by one stay in registers at -O2. */
#ifndef CI_ISA_LINEAR_LISTS_H
#define CI_ISA_LINEAR_LISTS_H

/* CI_R6(X, arg): X(0, arg) ... X(5, arg), for the rows of a tile */
#define CI_R1(X, arg) X(0, arg)
#define CI_R2(X, arg) CI_R1(X, arg) X(1, arg)
#define CI_R3(X, arg) CI_R2(X, arg) X(2, arg)
#define CI_R4(X, arg) CI_R3(X, arg) X(3, arg)
#define CI_R5(X, arg) CI_R4(X, arg) X(4, arg)
#define CI_R6(X, arg) CI_R5(X, arg) X(5, arg)
#define CI_R7(X, arg) CI_R6(X, arg) X(6, arg)
#define CI_R8(X, arg) CI_R7(X, arg) X(7, arg)
#define CI_R9(X, arg) CI_R8(X, arg) X(8, arg)
#define CI_R10(X, arg) CI_R9(X, arg) X(9, arg)
#define CI_R11(X, arg) CI_R10(X, arg) X(10, arg)
#define CI_R12(X, arg) CI_R11(X, arg) X(11, arg)
#define CI_R13(X, arg) CI_R12(X, arg) X(12, arg)
#define CI_R14(X, arg) CI_R13(X, arg) X(13, arg)

/* CI_V3(X, arg): X(arg, 0) X(arg, 1) X(arg, 2), for the vectors of a row */
#define CI_V1(X, arg) X(arg, 0)
#define CI_V2(X, arg) CI_V1(X, arg) X(arg, 1)
#define CI_V3(X, arg) CI_V2(X, arg) X(arg, 2)
#define CI_V4(X, arg) CI_V3(X, arg) X(arg, 3)
#define CI_V5(X, arg) CI_V4(X, arg) X(arg, 4)
#define CI_V6(X, arg) CI_V5(X, arg) X(arg, 5)
#define CI_V7(X, arg) CI_V6(X, arg) X(arg, 6)
#define CI_V8(X, arg) CI_V7(X, arg) X(arg, 7)
#endif
