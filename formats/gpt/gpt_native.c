/* What native frames are called: found out after the run, so known only when the whole input was read. */
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/gpt/gpt_decode_priv.h"

enum {
    CALLERS_MOST = 64,     /* functions that one is inlined into */
    INLINED_SPARE = 65536, /* further entries for them: these, and INLINED_EACH for each stack */
    INLINED_EACH = 4,
};

void gp_gpt_link_symbols(struct gp_gpt_names *names, struct gp_trace *t)
{
    const struct gp_id_map *m = &names->symbols;
    for (size_t id = 0; id < m->n; id++) {
        if (m->at[id] == GP_ID_MISSING) continue;
        struct gp_symbol *s = &t->symbols.at[m->at[id]];
        uint32_t caller = gp_id_map_get(m, s->caller);
        s->caller = caller == GP_ID_MISSING ? 0 : caller;
    }
    uint32_t lost = 0; /* code that nothing is known of */
    for (size_t i = 0; i < names->native.n; i++) {
        uint32_t *symbol = &t->stacks.at[names->native.at[i]].symbol;
        *symbol = gp_id_map_get(m, *symbol);
        if (*symbol != GP_ID_MISSING) continue;
        if (!lost && !t->symbols.n) GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
        if (!lost) {
            lost = (uint32_t)t->symbols.n;
            GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
        }
        *symbol = lost;
    }
}

static gp_sid name_of(struct gp_trace *t, const struct gp_symbol *s)
{
    const char *module = gp_trace_str(t, s->module), *slash = strrchr(module, '/');
    struct gp_buf b = {0};
    if (s->name) return s->name;
    if (!*module) return gp_trace_intern(t, GP_TEXT(GP_STACK_UNKNOWN));
    gp_buf_printf(&b, "%s+0x%llx", slash ? slash + 1 : module, (unsigned long long)s->offset);
    gp_sid sid = gp_trace_intern(t, b.data, b.n);
    gp_buf_release(&b);
    return sid;
}

static bool is_unnamed(const struct gp_stack *s) { return s->symbol && !s->name; }

uint32_t *gp_gpt_name_native(struct gp_trace *t)
{
    GP_VEC(struct gp_stack) named = {0};
    size_t n = t->stacks.n, i = 0, spare = INLINED_SPARE + INLINED_EACH * n;
    while (i < n && !is_unnamed(&t->stacks.at[i])) i++;
    if (i == n) return NULL;
    uint32_t *moved = gp_zalloc(n * sizeof *moved);
    for (i = 0; i < n; i++) {
        struct gp_stack s = t->stacks.at[i];
        uint32_t chain[CALLERS_MOST], depth = 0;
        s.parent = moved[s.parent];
        for (uint32_t k = s.symbol; is_unnamed(&s) && k && depth < CALLERS_MOST;) {
            chain[depth++] = k;
            k = spare ? t->symbols.at[k].caller : 0;
            spare -= k && depth < CALLERS_MOST;
        }
        if (!depth) GP_VEC_PUSH(&named, s);
        while (depth) {
            const struct gp_symbol *k = &t->symbols.at[s.symbol = chain[--depth]];
            s.name = name_of(t, k);
            s.file = k->file;
            s.line = k->line;
            GP_VEC_PUSH(&named, s);
            s.parent = (uint32_t)named.n - 1;
        }
        moved[i] = (uint32_t)named.n - 1;
    }
    GP_VEC_FREE(&t->stacks);
    GP_VEC_RESERVE(&t->stacks, named.n);
    memcpy(t->stacks.at, named.at, named.n * sizeof *named.at);
    t->stacks.n = named.n;
    GP_VEC_FREE(&named);
    for (i = 0; i < t->node_runs.n; i++) t->node_runs.at[i].stack = moved[t->node_runs.at[i].stack];
    return moved;
}

void gp_gpt_move_stacks(struct gp_gpt_names *names, const uint32_t *moved)
{
    struct gp_id_map *m = &names->stacks;
    for (size_t id = 0; id < m->n; id++)
        if (m->at[id] != GP_ID_MISSING) m->at[id] = moved[m->at[id]];
}
