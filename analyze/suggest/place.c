#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/model/stack_tree.h"

/* A line of a function that calls stand at or below, or all lines of a function. */
struct line {
    bool whole;           /* all of them */
    uint32_t entry;       /* one of them in trace->stacks */
    uint32_t calls, last; /* how many; 1 + the last one */
    int64_t size;         /* of them */
    uint32_t above;       /* the fewest frames that are inside it */
};

struct lines {
    const struct gp_rule_ctx *c;
    bool own; /* of the user's own code only */
    struct gp_map of, of_place;
    GP_VEC(struct line) v;
    int64_t size;  /* of all calls */
    uint8_t *code; /* by entry: 0 not looked at yet, 1 own, 2 another's */
};

enum { MOST_FRAMES = 256 }; /* of a stack */

/* Did the package that its name begins with write this file, "package.module_XXXX.py", and call it? */
static bool is_generated(const struct gp_trace *t, const struct gp_stack *s)
{
    const char *file = gp_trace_str(t, s->file), *slash = strrchr(file, '/'),
               *name = slash ? slash + 1 : file, *dot = strchr(name, '.');
    if (!dot || dot == strrchr(name, '.')) return false;
    const struct gp_stack *by = s;
    for (int n = 0; n < MOST_FRAMES && by->file == s->file && by->parent < t->stacks.n; n++)
        by = &t->stacks.at[by->parent];
    const char *package = strstr(gp_trace_str(t, by->file), "-packages/");
    if (!package) return false;
    package += strlen("-packages/");
    return !strncmp(package, name, (size_t)(dot - name)) && package[dot - name] == '/';
}

/* Code that is neither a library's nor the interpreter's. */
static bool is_own(const struct gp_trace *t, const struct gp_stack *s)
{
    const char *file = gp_trace_str(t, s->file);
    return *file && *file != '<' && !is_generated(t, s) &&
           !gp_name_has_one_of(file, " /site-packages/ /dist-packages/ /lib/python3 /usr/include/ /usr/lib/ "
                                     "/usr/local/cuda /torchinductor_ ");
}

static struct line *line_of(struct lines *l, uint32_t entry, bool whole)
{
    const struct gp_stack *s = &l->c->t->stacks.at[entry];
    uint32_t function = *gp_map_put(&l->of, (uint64_t)s->name << 32 | s->file, (uint32_t)l->of.n);
    uint64_t place = (uint64_t)function << 33 | (uint64_t)s->line << 1;
    uint32_t *at = gp_map_put(&l->of_place, whole ? (uint64_t)function << 33 | 1 : place, (uint32_t)l->v.n);
    if (*at == l->v.n) GP_VEC_PUSH(&l->v, ((struct line){whole, entry, 0, 0, 0, UINT32_MAX}));
    return &l->v.at[*at];
}

static void add_call(struct lines *l, uint32_t call, int64_t size)
{
    const struct gp_trace *t = l->c->t;
    uint32_t stack = gp_get_stack(&t->events[GP_API], l->c->p->calls.at[call].row), above = 0;
    l->size += size;
    for (; stack && stack < t->stacks.n && above < MOST_FRAMES; stack = t->stacks.at[stack].parent, above++) {
        const struct gp_stack *s = &t->stacks.at[stack];
        if (l->own && !l->code[stack]) l->code[stack] = is_own(t, s) ? 1 : 2;
        if (!*gp_trace_str(t, s->file) || (l->own && l->code[stack] != 1)) continue;
        for (int whole = 0; whole < 2; whole++) {
            struct line *line = line_of(l, stack, whole);
            if (above < line->above) line->above = above;
            if (line->last == call + 1) continue; /* it calls itself */
            line->last = call + 1;
            line->calls++, line->size += size;
        }
    }
}

/* The innermost line, or else function, that more than half of the calls, by size, are in; NULL: none. */
static const struct line *innermost(const struct lines *l)
{
    const struct line *best = NULL;
    for (size_t i = 0; i < l->v.n; i++) {
        const struct line *line = &l->v.at[i];
        if (gp_mul_saturated(line->size, 2) <= l->size) continue;
        if (best && line->above != best->above
                ? line->above < best->above
                : !best || (line->whole == best->whole ? line->size > best->size : best->whole))
            best = line;
    }
    return best;
}

static uint32_t call_of(const struct gp_rule_ctx *c, const struct gp_edit *e)
{
    return e->kind <= GP_EDIT_ASIDE ? c->p->items.at[e->index].call : e->index;
}

/* The frames of CALL with a file other than PyTorch's or CuPy's, the innermost first; at most MOST_FRAMES. */
static uint32_t frames_of(const struct gp_rule_ctx *c, uint32_t call, const struct gp_stack **frames)
{
    const struct gp_trace *t = c->t;
    uint32_t n = 0;
    for (uint32_t at = gp_get_stack(&t->events[GP_API], c->p->calls.at[call].row);
         at && at < t->stacks.n && n < MOST_FRAMES; at = t->stacks.at[at].parent) {
        const char *file = gp_trace_str(t, t->stacks.at[at].file);
        if (*file && !gp_name_has_one_of(file, " -packages/torch/ -packages/cupy/ "))
            frames[n++] = &t->stacks.at[at];
    }
    return n;
}

bool gp_rule_same_line(const struct gp_rule_ctx *c, uint32_t one, uint32_t other)
{
    const struct gp_stack *a[MOST_FRAMES], *b[MOST_FRAMES];
    return frames_of(c, one, a) && frames_of(c, other, b) && is_own(c->t, a[0]) && a[0]->line &&
           a[0]->line == b[0]->line && a[0]->name == b[0]->name && a[0]->file == b[0]->file;
}

/* Whose function makes the call? Of PyTorch's or CuPy's, the next function around is asked. */
enum gp_code gp_rule_code_of_call(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_stack *frames[MOST_FRAMES];
    uint32_t n = frames_of(c, call, frames);
    for (uint32_t i = 0; i < n; i++) {
        if (is_own(c->t, frames[i])) return GP_CODE_OWN;
        if (strstr(gp_trace_str(c->t, frames[i]->file), "-packages/")) return GP_CODE_LIBRARY;
    }
    return GP_CODE_UNKNOWN;
}

enum gp_code gp_rule_code_of(const struct gp_rule_ctx *c, const struct gp_suggestion *s)
{
    size_t n[GP_CODE_COUNT] = {0};
    for (size_t i = 0; i < s->high.n && c->t->events[GP_API].stack; i++)
        n[gp_rule_code_of_call(c, call_of(c, &s->high.at[i]))]++;
    if (n[GP_CODE_LIBRARY] > n[GP_CODE_OWN] + n[GP_CODE_UNKNOWN]) return GP_CODE_LIBRARY;
    return n[GP_CODE_OWN] > n[GP_CODE_LIBRARY] + n[GP_CODE_UNKNOWN] ? GP_CODE_OWN : GP_CODE_UNKNOWN;
}

/* A loop of one line is in the last frame that its calls share; one of several lines is in the next. */
bool gp_rule_library_loops(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    const struct gp_stack *of_first[MOST_FRAMES], *of_one[MOST_FRAMES];
    uint32_t from = c->p->items.at[gp_loop_item(c->loops, loop, 0, 0)].call,
             to = c->p->items.at[gp_loop_item(c->loops, loop, loop->count - 1, loop->period - 1)].call;
    if (!c->t->events[GP_API].stack) return false;
    uint32_t n = frames_of(c, from, of_first), lines = n, functions = n;
    for (uint32_t call = from; call < to; call++) {
        uint32_t of = frames_of(c, call, of_one), k = 0;
        bool function = false; /* they are in the same, at another line */
        for (; k < functions && k < of; k++, function = false) {
            const struct gp_stack *a = of_first[n - 1 - k], *b = of_one[of - 1 - k];
            function = a->name == b->name && a->file == b->file;
            if (!function || k == lines || a->line != b->line) break;
        }
        if (!of) continue;
        lines = k;
        functions = k + function;
    }
    return functions && !is_own(c->t, of_first[n - functions]) &&
           (!lines || !is_own(c->t, of_first[n - lines]));
}

/* SIZES: by call; 0: it is none of them. */
static gp_sid place_among(const struct gp_rule_ctx *c, const int64_t *sizes, bool own)
{
    struct lines l = {.c = c, .own = own, .code = gp_zalloc(c->t->stacks.n + 1)};
    gp_sid place = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (sizes[k]) add_call(&l, k, sizes[k]);
    const struct line *best = innermost(&l);
    if (best) {
        const struct gp_stack *s = &c->t->stacks.at[best->entry];
        uint64_t steps = c->n_steps ? c->n_steps : 1, times = (best->calls + steps / 2) / steps;
        struct gp_buf b = {0};
        gp_buf_puts(&b, gp_stack_short_path(gp_trace_str(c->t, s->file)));
        if (s->line && !best->whole) gp_buf_printf(&b, ":%u", (unsigned)s->line);
        gp_buf_printf(&b, " %s", gp_trace_str(c->t, s->name));
        if (times > 1) gp_buf_printf(&b, ", %llu times per step", (unsigned long long)times);
        place = gp_intern(&c->s->strings, b.data, b.n);
        gp_buf_release(&b);
    }
    gp_map_release(&l.of);
    gp_map_release(&l.of_place);
    GP_VEC_FREE(&l.v);
    free(l.code);
    return place;
}

static gp_sid place_of(const struct gp_rule_ctx *c, const int64_t *sizes)
{
    gp_sid place = place_among(c, sizes, true);
    return place ? place : place_among(c, sizes, false);
}

gp_sid gp_rule_place_between(struct gp_rule_ctx *c, const int64_t *by_call)
{
    gp_sid at[2] = {0};
    for (uint32_t after = 0; after < 2 && c->t->events[GP_API].stack; after++) {
        int64_t *sizes = gp_zalloc((c->p->calls.n + 1) * sizeof *sizes);
        for (uint32_t k = 1; k < c->p->calls.n; k++) sizes[k - 1 + after] |= by_call[k] > 0;
        at[after] = place_of(c, sizes);
        free(sizes);
    }
    if (!at[0] || !at[1] || at[0] == at[1]) return at[0] ? at[0] : at[1];
    const struct gp_suggest *s = c->s;
    return gp_rule_text(c, "between %s and %s", gp_suggest_str(s, at[0]), gp_suggest_str(s, at[1]));
}

/* Of kernels that change, forward ones count, if there are any, by their time: no line of the program is
 * that of a backward one. Otherwise all calls count alike. */
gp_sid gp_rule_place(const struct gp_rule_ctx *c, const struct gp_suggestion *s)
{
    bool by_time = s->rule && (s->rule->type == GP_SUGGEST_FUSION || s->rule->type == GP_SUGGEST_MEMORY);
    const struct gp_edit *edits = by_time ? s->free.at : s->high.at;
    const struct gp_replay_call *calls = c->p->replay.calls.at;
    if (!c->t->events[GP_API].stack) return 0;
    int64_t *sizes = gp_zalloc((c->p->calls.n + 1) * sizeof *sizes);
    bool forward = false;
    for (size_t i = 0; i < (by_time ? s->free.n : s->high.n); i++) {
        uint32_t call = call_of(c, &edits[i]);
        if (call >= c->p->calls.n) continue;
        if (by_time && edits[i].kind <= GP_EDIT_ASIDE) sizes[call] += gp_rule_dur(c, edits[i].index);
        if (!sizes[call]) sizes[call] = 1;
        forward |= by_time && !(calls[call].n && c->items[calls[call].first].backward);
    }
    for (uint32_t k = 0; k < c->p->calls.n && forward; k++)
        if (calls[k].n && c->items[calls[k].first].backward) sizes[k] = 0;
    gp_sid place = place_of(c, sizes);
    free(sizes);
    return place;
}
