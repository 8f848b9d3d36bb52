/* bits_board.c - bits.c for a Cortex-M4 without a system: models are arrays in flash, memory is an arena of the
 * program, there is no heap and no file. Output and the exit status go by semihosting.
 *
 * board_models is made by tools/bits_matrix.py; board.ld has the memory layout. */
#include "bits_run.h"

typedef struct board_model {
  const void *model, *model_end;
  const void *inputs, *inputs_end;
  const char *name;
  uint32_t modes;
} board_model;
extern const board_model board_models[];
extern const uint32_t board_model_count, board_repeats;

/* ---- the machine ---- */

extern uint32_t board_data[], board_data_end[], board_data_from[], board_bss[], board_bss_end[], board_stack_top[];
int main(void);
void board_start(void);

static int board_call(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static _Noreturn void board_exit(int status) {
  const uint32_t reason[2] = {0x20026, (uint32_t)status}; /* the program has ended by itself */
  for (;;) board_call(0x20, reason);
}

void board_start(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf00000; /* CPACR: the FPU on */
  __asm__ volatile("dsb\n\tisb");
  memcpy(board_data, board_data_from, (size_t)((char *)board_data_end - (char *)board_data));
  memset(board_bss, 0, (size_t)((char *)board_bss_end - (char *)board_bss));
  board_exit(main());
}

static void board_fault(void) { bits_die("a fault of the processor"); }

__attribute__((section(".vectors"), used)) static void *const board_vectors[16] = {
    board_stack_top,     (void *)board_start, (void *)board_fault, (void *)board_fault,
    (void *)board_fault, (void *)board_fault, (void *)board_fault,
};

/* The C library asks here for a heap. */
void *_sbrk(ptrdiff_t more);
void *_sbrk(ptrdiff_t more) {
  (void)more;
  bits_die("malloc was called: the board has no heap");
  return NULL;
}

void bits_say(const char *line) { board_call(0x04, line); }

void bits_die(const char *what) {
  bits_say(what);
  bits_say("\n");
  board_exit(1);
}

/* ---- memory: the arena is empty again down to the model when all that came after it has been released ---- */

enum { ARENA_BYTES = 16 << 20 };
__attribute__((section(".bss.arena"), aligned(64))) static uint8_t arena[ARENA_BYTES];
static size_t arena_used, arena_most, arena_blocks;
static size_t model_used, model_blocks; /* when the model had been opened */

static void *arena_alloc(void *user, size_t bytes, size_t align) {
  (void)user;
  const size_t start = (arena_used + align - 1) / align * align;
  if (bytes > ARENA_BYTES || start > ARENA_BYTES - bytes) return NULL;
  arena_blocks++;
  arena_used = start + bytes;
  if (arena_used > arena_most) arena_most = arena_used;
  return arena + start;
}

static void arena_release(void *user, void *memory, size_t bytes) {
  (void)user;
  const size_t start = (size_t)((uint8_t *)memory - arena);
  if (--arena_blocks == model_blocks) arena_used = model_used;
  else if (start + bytes == arena_used) arena_used = start;
}

static const ci_allocator board_allocator = {NULL, arena_alloc, arena_release};

/* ---- the runs ---- */

static size_t board_size(const void *from, const void *to) { return (size_t)((const char *)to - (const char *)from); }

static void board_run(const board_model *m) {
  static bits_inputs inputs;
  ci_options options = ci_defaults();
  ci_model *model;
  ci_error error;
  char line[160];
  arena_used = arena_most = arena_blocks = model_used = model_blocks = 0;
  options.allocator = board_allocator;
  options.borrow = 1;
  bits_read_inputs(&inputs, (uint8_t *)(uintptr_t)m->inputs, board_size(m->inputs, m->inputs_end));
  must(ci_open_memory(m->model, board_size(m->model, m->model_end), &options, &model, &error), &error);
  model_used = arena_used;
  model_blocks = arena_blocks;
  run_model(model, m->name, &board_allocator, &inputs, (int)board_repeats, (int)m->modes);
  ci_close(model);
  snprintf(line, sizeof line, "# %s: a file of %lu bytes, %lu taken by the open model, %lu at most in a run\n", m->name,
           (unsigned long)board_size(m->model, m->model_end), (unsigned long)model_used,
           (unsigned long)arena_most); /* newlib may lack %zu */
  bits_say(line);
}

int main(void) {
  for (uint32_t i = 0; i < board_model_count; i++) board_run(&board_models[i]);
  return 0;
}
