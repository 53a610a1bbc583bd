/* Allocation sites: names of stacks, and what their frames show of the program. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "analyze/names/name_predicates.h"
#include "formats/base/buf.h"

uint32_t gp_site_of(struct gp_memory *m, struct gp_memory_device *d, uint32_t stack, uint32_t span)
{
    if (stack) {
        if (!d->site_of_stack) d->site_of_stack = gp_zalloc(d->s->stacks.n * sizeof *d->site_of_stack);
        uint32_t *known = &d->site_of_stack[stack];
        if (*known) return *known - 1;
        GP_VEC_PUSH(&d->sites, (struct gp_memory_site){.stack = stack});
        *known = (uint32_t)d->sites.n;
        return *known - 1;
    }
    gp_sid label = span == GP_NO_SPAN ? 0 : d->spans.at[span].label;
    uint32_t *known = gp_map_put(&d->site_of_span, label, (uint32_t)d->sites.n);
    if (*known < d->sites.n) return *known;
    struct gp_buf b = {0};
    gp_buf_puts(&b, "[no stack");
    if (label) gp_buf_printf(&b, ": %s", gp_memory_str(m, label));
    gp_buf_puts(&b, "]");
    struct gp_memory_site fresh = {
        .key = gp_intern(&m->strings, b.data, b.n), .range = label, .stand_in = true};
    gp_buf_release(&b);
    GP_VEC_PUSH(&d->sites, fresh);
    return *known;
}

/* ---- frames ---- */

struct text {
    const char *p;
    size_t n;
};

static struct text text_of(const struct gp_snapshot *s, gp_sid sid)
{
    return (struct text){gp_string(&s->strings, sid), gp_string_len(&s->strings, sid)};
}

static const struct gp_snapshot_frame *frame_at(const struct gp_snapshot *s, uint32_t stack, uint32_t i)
{
    return &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + i]];
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* C++: without a line, in no file of Python. */
static bool is_native(const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    const char *file = gp_string(&s->strings, f->file);
    return f->kind == GP_SNAP_CODE && f->line <= 0 && *file != '<' && !ends_in(file, ".py");
}

/* A library's file, not the program's own. */
static bool is_library(const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    const char *file = gp_string(&s->strings, f->file);
    return !*file || gp_name_has_one_of(file, " site-packages/ dist-packages/ /lib/python3 /lib64/python3 "
                                              "^torch/ ^python3 ^<frozen ^<string> ^torchinductor/ ");
}

static void put_frame(struct gp_buf *b, const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    const char *file = gp_string(&s->strings, f->file), *slash = strrchr(file, '/');
    if (*file && strcmp(file, "??") != 0) {
        gp_buf_puts(b, slash ? slash + 1 : file);
        if (f->line > 0) gp_buf_printf(b, ":%d", (int)f->line);
        gp_buf_putc(b, ' ');
    }
    gp_buf_puts(b, gp_string(&s->strings, f->name));
}

/* Frames of the allocator and the recorder: on top of every stack. */
static bool is_allocator(const char *name)
{
    return gp_name_has_one_of(name, " torch::unwind CapturedTraceback gather CachingAllocator ");
}

/* The most informative frame: the innermost of Python, otherwise the one that asks for memory. */
static uint32_t main_frame(const struct gp_snapshot *s, uint32_t stack)
{
    uint32_t n = s->stacks.at[stack].n, i = 0;
    for (uint32_t k = 0; k < n; k++)
        if (!is_native(s, frame_at(s, stack, k))) return k;
    while (i + 1 < n && is_allocator(text_of(s, frame_at(s, stack, i)->name).p)) i++;
    return i;
}

/* The innermost frame of the program's own code from frame I on; n: none. */
static uint32_t own_frame(const struct gp_snapshot *s, uint32_t stack, uint32_t i)
{
    uint32_t n = s->stacks.at[stack].n;
    while (i < n) {
        const struct gp_snapshot_frame *f = frame_at(s, stack, i);
        if (f->kind == GP_SNAP_CODE && !is_native(s, f) && !is_library(s, f)) break;
        i++;
    }
    return i;
}

/* "at::_ops::empty_like::call(...)": append "aten::empty_like". */
static bool put_native_operator(struct gp_buf *b, const char *name)
{
    static const char space[] = "at::_ops::";
    const char *at = strstr(name, space);
    if (!at) return false;
    b->n = 0;
    gp_buf_puts(b, "aten::");
    gp_buf_put(b, at + sizeof space - 1, strcspn(at + sizeof space - 1, ":("));
    return true;
}

/* "...::AddmmBackward0::apply(...)": append "AddmmBackward0". */
static bool put_autograd_node(struct gp_buf *b, const char *name)
{
    static const char word[] = "Backward";
    const char *at = strstr(name, word), *begin = at;
    if (!at) return false;
    const char *end = at + sizeof word - 1;
    while (*end >= '0' && *end <= '9') end++;
    if (end == at + sizeof word - 1 || (*end != ':' && *end != '(' && *end != '_')) return false;
    while (begin > name && begin[-1] != ':' && begin[-1] != ' ') begin--;
    gp_buf_put(b, begin, (size_t)(end - begin));
    return true;
}

/* A stack of C++ only: "aten::mm < AddmmBackward0", the outermost operator and the node of autograd that
 * runs. */
static bool put_native(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack)
{
    struct gp_buf op = {0}, node = {0};
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++) {
        const char *name = gp_string(&s->strings, frame_at(s, stack, i)->name);
        put_native_operator(&op, name);
        if (!node.n) put_autograd_node(&node, name);
    }
    bool any = op.n || node.n;
    gp_buf_put(b, op.n ? op.data : "", op.n);
    if (op.n && node.n) gp_buf_puts(b, " < ");
    gp_buf_put(b, node.n ? node.data : "", node.n);
    gp_buf_release(&op);
    gp_buf_release(&node);
    return any;
}

void gp_site_key(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack)
{
    uint32_t i = main_frame(s, stack), own = own_frame(s, stack, i);
    if (is_native(s, frame_at(s, stack, i)) && put_native(b, s, stack)) return;
    put_frame(b, s, frame_at(s, stack, i));
    if (own == i || own >= s->stacks.at[stack].n) return;
    gp_buf_puts(b, " < ");
    put_frame(b, s, frame_at(s, stack, own));
}

/* ---- phases by stack ---- */

static bool contains(const struct gp_snapshot *s, gp_sid sid, const char *word)
{
    return strstr(gp_string(&s->strings, sid), word) != NULL;
}

static bool named(const struct gp_snapshot *s, const struct gp_snapshot_frame *f, const char *name)
{
    return !strcmp(gp_string(&s->strings, f->name), name);
}

/* From the innermost frame that decides. */
static enum gp_phase phase_of_frame(const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    struct text name = text_of(s, f->name);
    if (f->kind == GP_SNAP_RANGE) return gp_phase_of_name(name.p, name.n);
    if (f->kind == GP_SNAP_OP) return strstr(name.p, "autograd::engine") ? GP_PHASE_BACKWARD : GP_PHASE_NONE;
    if (contains(s, f->file, "torch/optim/")) return GP_PHASE_OPTIMIZER;
    if (strstr(name.p, "autograd::Engine::") || contains(s, f->file, "torch/autograd/graph.py") ||
        contains(s, f->file, "torch/_tensor.py"))
        return named(s, f, "backward") || strstr(name.p, "Engine") ? GP_PHASE_BACKWARD : GP_PHASE_NONE;
    if (named(s, f, "_apply") || named(s, f, "__init__") || named(s, f, "reset_parameters"))
        return GP_PHASE_SETUP;
    return named(s, f, "forward") || f->kind == GP_SNAP_MODULE ? GP_PHASE_FORWARD : GP_PHASE_NONE;
}

static enum gp_phase phase_of(const struct gp_snapshot *s, uint32_t stack)
{
    enum gp_phase found = GP_PHASE_NONE;
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++) {
        enum gp_phase p = phase_of_frame(s, frame_at(s, stack, i));
        if (p == GP_PHASE_BACKWARD || p == GP_PHASE_OPTIMIZER) return p;
        if (!found) found = p;
    }
    return found;
}

static gp_sid native_operator(struct gp_memory *m, const char *name)
{
    struct gp_buf b = {0};
    gp_sid sid = put_native_operator(&b, name) ? gp_intern(&m->strings, b.data, b.n) : 0;
    gp_buf_release(&b);
    return sid;
}

/* The outermost operator that compiled code below the innermost Python frame calls; of a trace the innermost
 * recorded. */
static gp_sid operator_of(struct gp_memory *m, const struct gp_snapshot *s, uint32_t stack)
{
    gp_sid op = 0;
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++) {
        const struct gp_snapshot_frame *f = frame_at(s, stack, i);
        if (f->kind == GP_SNAP_OP) return gp_intern_from(&m->strings, &s->strings, f->name);
        if (f->kind == GP_SNAP_CODE && !is_native(s, f)) break;
        gp_sid native = native_operator(m, gp_string(&s->strings, f->name));
        if (native) op = native;
    }
    return op;
}

/* The nn.Module of a trace; of a snapshot, which has none, the program's own function that runs. */
static gp_sid module_of(struct gp_memory *m, const struct gp_snapshot *s, uint32_t stack)
{
    uint32_t n = s->stacks.at[stack].n;
    for (uint32_t i = 0; i < n; i++)
        if (frame_at(s, stack, i)->kind == GP_SNAP_MODULE)
            return gp_intern_from(&m->strings, &s->strings, frame_at(s, stack, i)->name);
    uint32_t own = own_frame(s, stack, 0);
    if (own >= n) return 0;
    struct gp_snapshot_frame f = *frame_at(s, stack, own);
    f.line = -1;
    struct gp_buf b = {0};
    put_frame(&b, s, &f);
    return gp_intern_buf(&m->strings, &b);
}

static gp_sid range_of(struct gp_memory *m, const struct gp_snapshot *s, uint32_t stack)
{
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++)
        if (frame_at(s, stack, i)->kind == GP_SNAP_RANGE)
            return gp_intern_from(&m->strings, &s->strings, frame_at(s, stack, i)->name);
    return 0;
}

/* A block without a stack, in a program whose others have one: autograd's own threads run no Python. */
static enum gp_phase phase_without_stack(const struct gp_memory *m, const struct gp_memory_device *d,
                                         const struct gp_memory_site *site)
{
    if (site->range)
        return gp_phase_of_name(gp_memory_str(m, site->range), gp_string_len(&m->strings, site->range));
    return d->s->stacks.n > 1 ? GP_PHASE_BACKWARD : GP_PHASE_NONE;
}

void gp_sites_name(struct gp_memory *m, struct gp_memory_device *d)
{
    struct gp_buf b = {0};
    GP_EACH(struct gp_memory_site, site, d->sites) {
        if (!site->stack) {
            if (site->stand_in) site->phase = (uint8_t)phase_without_stack(m, d, site);
            continue;
        }
        gp_site_key(&b, d->s, site->stack);
        site->key = gp_intern(&m->strings, b.data ? b.data : "", b.n);
        b.n = 0;
        site->phase = (uint8_t)phase_of(d->s, site->stack);
        site->op = operator_of(m, d->s, site->stack);
        site->module = module_of(m, d->s, site->stack);
        site->range = range_of(m, d->s, site->stack);
    }
    gp_buf_release(&b);
}
