/* live.c -- a library that a Python program loads to read its own stacks by collect/stacks: gp_live_stack()
 * returns them as text, outermost first, a line "file:line function" for each frame. gp_live_time()
 * measures. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/stacks/launch_stack.h"
#include "formats/base/clock.h"

enum { MOST = 1 << 18 };

struct names {
    char *name, *file;
};

/* What one thread has defined. */
struct live {
    struct gp_launch_stack *stack;
    struct names functions[MOST];
    struct {
        uint32_t parent, function, line;
    } frames[MOST];
    uint32_t functions_n, frames_n;
    char text[1 << 20];
};

static _Thread_local struct live *live;

static bool take_function(void *ctx, uint32_t number, const char *name, const char *file)
{
    struct live *l = ctx;
    if (number != l->functions_n + 1 || number >= MOST) abort();
    l->functions[++l->functions_n] = (struct names){strdup(name), strdup(file)};
    return true;
}

static bool take_place(void *ctx, uint32_t number, const char *path, uint64_t offset)
{
    char text[64];
    snprintf(text, sizeof text, "+0x%llx", (unsigned long long)offset);
    return take_function(ctx, number, text, path);
}

static bool take_stack(void *ctx, uint32_t number, uint32_t parent, uint32_t function, uint32_t line)
{
    struct live *l = ctx;
    if (number != l->frames_n + 1 || number >= MOST || parent >= number || function > l->functions_n) abort();
    l->frames_n++;
    l->frames[number].parent = parent;
    l->frames[number].function = function;
    l->frames[number].line = line;
    return true;
}

static void make_live(void)
{
    live = calloc(1, sizeof *live);
    struct gp_launch_sink sink = {take_function, take_place, take_stack, live};
    static struct gp_stack_process *_Atomic process;
    struct gp_stack_process *none = NULL, *fresh = gp_stack_process_new();
    atomic_compare_exchange_strong(&process, &none, fresh);
    live->stack = gp_launch_stack_new(process, &sink, false);
}

static size_t put_frames(char *to, size_t size, uint32_t number)
{
    if (!number) return 0;
    size_t n = put_frames(to, size, live->frames[number].parent);
    const struct names *f = &live->functions[live->frames[number].function];
    if (n < size)
        n += (size_t)snprintf(to + n, size - n, "%s:%u %s\n", f->file, live->frames[number].line, f->name);
    return n;
}

__attribute__((visibility("default"))) const char *gp_live_stack(void);
__attribute__((visibility("default"))) long gp_live_waiter(void);
__attribute__((visibility("default"))) double gp_live_time(int n);
__attribute__((visibility("default"))) void gp_live_counts(uint64_t counts[6]);

static _Thread_local int64_t waiter;

const char *gp_live_stack(void)
{
    if (!live) make_live();
    uint32_t number = gp_launch_stack_read(live->stack, &waiter);
    live->text[0] = 0;
    put_frames(live->text, sizeof live->text, number);
    return live->text;
}

long gp_live_waiter(void) { return (long)waiter; }

/* ns for one of N readings of the same stack. */
double gp_live_time(int n)
{
    if (!live) make_live();
    gp_launch_stack_read(live->stack, &waiter);
    int64_t begin_ns = gp_now_ns();
    for (int i = 0; i < n; i++) gp_launch_stack_read(live->stack, &waiter);
    return (double)(gp_now_ns() - begin_ns) / n;
}

void gp_live_counts(uint64_t counts[6])
{
    struct gp_launch_counts c = {0};
    if (live) c = gp_launch_stack_counts(live->stack);
    memcpy(counts, &c, sizeof c);
}
