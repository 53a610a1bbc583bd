#include "collect/stacks/stack_numbers.h"

#include <stdlib.h>
#include "collect/stacks/stacks_priv.h"
#include "collect/unwind/unwind.h"
#include "formats/model/trace.h"

enum { FIRST_TABLE = 1024 };

/* The stack of a frame below PARENT. */
struct gp_known_stack {
    uint64_t code, ip, mark;
    uint32_t parent, number; /* 0: free */
};

static uint64_t hash_known(uint32_t parent, uint64_t code, uint64_t ip)
{
    uint64_t h = (code ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= ip + (h >> 29);
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

static struct gp_known_stack *slot_of(struct gp_known_stack *table, uint32_t mask, uint32_t parent,
                                      const struct gp_frame *f)
{
    uint32_t i = (uint32_t)hash_known(parent, f->code, f->ip) & mask;
    for (;; i = (i + 1) & mask) {
        struct gp_known_stack *k = &table[i];
        if (!k->number || (k->code == f->code && k->ip == f->ip && k->parent == parent && k->mark == f->mark))
            return k;
    }
}

static bool grow(struct gp_stack_numbers *s)
{
    uint32_t size = s->table ? (s->mask + 1) * 2 : FIRST_TABLE;
    struct gp_known_stack *bigger = calloc(size, sizeof *bigger);
    if (!bigger) return false;
    for (uint32_t i = 0; s->table && i <= s->mask; i++) {
        const struct gp_known_stack *k = &s->table[i];
        struct gp_frame f = {0, k->code, k->ip, k->mark};
        if (k->number) *slot_of(bigger, size - 1, k->parent, &f) = *k;
    }
    free(s->table);
    s->table = bigger;
    s->mask = size - 1;
    return true;
}

/* What native code belongs to. */
static bool put_place(struct gp_stack_numbers *s, uint32_t number, uint64_t ip)
{
    struct gp_unwind_module m = {.path = ""};
    bool known = s->process->unwinder && gp_unwind_module(s->process->unwinder, ip, &m);
    return s->sink.place(s->sink.ctx, number, known ? m.path : "", known ? ip - m.bias : 0);
}

/* The function of F, whose code object is C; 0: the sink has no room. */
static uint32_t function_of(struct gp_stack_numbers *s, const struct gp_frame *f, const struct gp_py_code *c)
{
    uint32_t *at = gp_map_put(&s->function_at, f->code, UINT32_MAX), number = s->functions_used + 1;
    if (*at != UINT32_MAX && s->functions.at[*at].mark == f->mark) return s->functions.at[*at].number;
    bool ok = c ? s->sink.function(s->sink.ctx, number, gp_string(&s->strings, c->name),
                                   gp_string(&s->strings, c->file))
              : f->ip == GP_FRAME_NATIVE
                  ? put_place(s, number, f->code)
                  : s->sink.function(s->sink.ctx, number, (const char *)(uintptr_t)f->code, "");
    if (!ok) {
        s->counts.refused++;
        return 0;
    }
    s->functions_used = number;
    if (*at == UINT32_MAX) {
        *at = (uint32_t)s->functions.n;
        GP_VEC_PUSH(&s->functions, ((struct gp_known_function){f->mark, number}));
    } else {
        s->functions.at[*at] = (struct gp_known_function){f->mark, number};
    }
    return number;
}

static uint32_t define(struct gp_stack_numbers *s, uint32_t parent, uint32_t function, uint32_t line)
{
    if (!s->sink.stack(s->sink.ctx, s->used + 1, parent, function, line)) {
        s->counts.refused++;
        return 0;
    }
    return ++s->used;
}

/* A frame that was not met below PARENT before. */
static uint32_t add_frame(struct gp_stack_numbers *s, uint32_t parent, const struct gp_frame *f)
{
    if (s->used >= GP_LAUNCH_STACKS_MOST || (s->used * 2 >= s->mask && !grow(s))) {
        s->counts.many++;
        return 0;
    }
    const struct gp_py_code *c = NULL;
    bool ok = true;
    uint32_t line = 0;
    if (f->ip != GP_FRAME_NATIVE && f->ip != GP_FRAME_TEXT) {
        const uint32_t *at = gp_map_get(&s->function_at, f->code);
        if (at && *at != UINT32_MAX && s->functions.at[*at].mark != f->mark)
            gp_py_code_forget(&s->codes, f->code);
        gp_py_codes_trim(&s->codes);
        c = gp_py_code(&s->codes, f->code);
        ok = c && gp_py_codes_check(&s->codes, &c, 1);
        line = ok ? gp_py_code_line(&s->codes, c, f->ip, &ok) : 0;
    }
    if (!ok) {
        s->counts.broken++;
        return 0;
    }
    uint32_t function = function_of(s, f, c);
    uint32_t number = function ? define(s, parent, function, line) : 0;
    if (number)
        *slot_of(s->table, s->mask, parent, f) =
            (struct gp_known_stack){f->code, f->ip, f->mark, parent, number};
    return number;
}

uint32_t gp_stack_numbers_below(struct gp_stack_numbers *s, uint32_t parent, const struct gp_frame *f)
{
    const struct gp_known_stack *k = s->table ? slot_of(s->table, s->mask, parent, f) : NULL;
    return k && k->number ? k->number : add_frame(s, parent, f);
}

uint32_t gp_stack_numbers_autograd(struct gp_stack_numbers *s, uint32_t parent)
{
    static const char name[] = GP_STACK_AUTOGRAD;
    struct gp_frame f = {0, (uint64_t)(uintptr_t)name, GP_FRAME_TEXT, 0};
    return gp_stack_numbers_below(s, parent, &f);
}

uint32_t gp_stack_numbers_unknown(struct gp_stack_numbers *s)
{
    struct gp_frame f = {0, 1, GP_FRAME_NATIVE, 0}; /* no code lies there */
    return gp_stack_numbers_below(s, 0, &f);
}

const char *gp_stack_numbers_file(struct gp_stack_numbers *s, uint64_t code)
{
    const struct gp_py_code *c = gp_py_code(&s->codes, code);
    return c ? gp_string(&s->strings, c->file) : "";
}

void gp_stack_numbers_release(struct gp_stack_numbers *s)
{
    gp_py_codes_release(&s->codes);
    gp_strings_release(&s->strings);
    gp_map_release(&s->function_at);
    GP_VEC_FREE(&s->functions);
    free(s->table);
}
