/* copy.c - strided copies, with whole runs where both sides are contiguous. */
#include "copy.h"

void ci_copy_start(ci_copy *copy, size_t item) {
  memset(copy, 0, sizeof *copy);
  copy->item = item;
}

void ci_copy_axis(ci_copy *copy, int64_t size, ptrdiff_t from, ptrdiff_t to) {
  const ptrdiff_t from_bytes = (ptrdiff_t)((size_t)from * copy->item), to_bytes = (ptrdiff_t)((size_t)to * copy->item);
  if (size == 1) return;
  if (copy->rank > 0) {
    const int last = copy->rank - 1;
    if ((size_t)copy->from[last] == (size_t)from_bytes * (size_t)size &&
        (size_t)copy->to[last] == (size_t)to_bytes * (size_t)size) {
      copy->dims[last] = (int64_t)((uint64_t)copy->dims[last] * (uint64_t)size);
      copy->from[last] = from_bytes;
      copy->to[last] = to_bytes;
      return;
    }
  }
  copy->dims[copy->rank] = size;
  copy->from[copy->rank] = from_bytes;
  copy->to[copy->rank] = to_bytes;
  copy->rank++;
}

void ci_copy_strides(const int64_t *dims, int rank, ptrdiff_t *strides) {
  ptrdiff_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = step;
    step = (ptrdiff_t)((size_t)step * (size_t)dims[i]); /* an empty tensor may have axes beyond all memory */
  }
}

#define COPY_LINE(T) \
  for (; n > 0; n--, to += to_step, from += from_step) memcpy(to, from, sizeof(T))

/* One axis. The sizes are constants so that the compiler makes each a load and a store. */
static void copy_line(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, int64_t n, size_t item) {
  if (to_step == (ptrdiff_t)item && from_step == to_step) {
    memcpy(to, from, (size_t)n * item);
    return;
  }
  switch (item) {
    case 1: COPY_LINE(uint8_t); break;
    case 2: COPY_LINE(uint16_t); break;
    case 4: COPY_LINE(uint32_t); break;
    case 8: COPY_LINE(uint64_t); break;
    case 16: COPY_LINE(ci_string); break;
    default:
      for (; n > 0; n--, to += to_step, from += from_step) memcpy(to, from, item);
      break;
  }
}

/* Whether the last two axes are a matrix that is to be turned; negative strides are not. */
static bool copy_turns(const ci_copy *copy) {
  const int inner = copy->rank - 1, outer = inner - 1;
  return copy->turn != NULL && copy->item == sizeof(float) && outer >= 0 && copy->to[inner] == sizeof(float) &&
         copy->from[outer] == sizeof(float) && copy->to[outer] > 0 && copy->from[inner] > 0;
}

void ci_copy_run(const ci_copy *copy, void *to, const void *from) {
  int64_t at[CI_COPY_AXES] = {0};
  char *target = to;
  const char *source = from;
  const bool turns = copy_turns(copy);
  const int last = copy->rank - 1, inner = turns ? last - 1 : last;
  if (inner < 0) {
    memcpy(target, source, copy->item);
    return;
  }
  for (int i = 0; i <= last; i++) {
    if (copy->dims[i] == 0) return;
  }
  for (;;) {
    if (turns) {
      copy->turn((float *)(void *)target, copy->to[inner] / (ptrdiff_t)sizeof(float),
                 (const float *)(const void *)source, copy->from[last] / (ptrdiff_t)sizeof(float), copy->dims[last],
                 copy->dims[inner]);
    } else {
      copy_line(target, copy->to[inner], source, copy->from[inner], copy->dims[inner], copy->item);
    }
    int axis = inner - 1;
    for (; axis >= 0; axis--) {
      target += copy->to[axis];
      source += copy->from[axis];
      if (++at[axis] < copy->dims[axis]) break;
      target -= copy->to[axis] * (ptrdiff_t)at[axis];
      source -= copy->from[axis] * (ptrdiff_t)at[axis];
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}
