/* io_shim.h - for programs that are linked with io_shim.c and fail their own calls. */
#ifndef IO_SHIM_H
#define IO_SHIM_H

enum { IO_SHIM_HALVES = -1, IO_SHIM_ENDS = -2 }; /* in place of an errno */

/* As IO_SHIM_FOLDER, IO_SHIM_NTH, IO_SHIM_ERROR and IO_SHIM_FOREVER. */
void io_shim_arm(const char *where, long at, int number, int for_ever);
/* From now on no file of the folder can be mapped, which counts as no call. */
void io_shim_refuse_maps(int refuse);
/* From now on the system gives no random bits by a call, which counts as none, either. */
void io_shim_refuse_random(int refuse);
/* From now on the fsync of the folder fails so, which counts as no call; 0: it does not. */
void io_shim_refuse_sync(int number);
long io_shim_calls(void);
#endif
