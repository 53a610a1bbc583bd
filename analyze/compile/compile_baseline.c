/* Findings against those of an earlier run. */
#include <stdlib.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

void gp_compile_key(const struct gp_compile *c, enum gp_compile_finding kind, size_t index, struct gp_buf *to)
{
    if (kind == GP_FINDING_BREAK) {
        const struct gp_compile_break *b = &c->breaks.at[index];
        if (b->number >= 0) gp_buf_printf(to, "break\tGB%04d", b->number);
        else gp_buf_printf(to, "break\t%s", gp_compile_str(c, b->kind));
        gp_buf_printf(to, "\t%s\t%s", gp_base_name(gp_compile_str(c, b->file)),
                      gp_compile_str(c, b->function));
    } else if (kind == GP_FINDING_RECOMPILE) {
        const struct gp_compile_recompile *r = &c->recompiles.at[index];
        gp_buf_printf(to, "recompile\t%s\t%s\t%s", gp_recompile_kind_name(r->kind),
                      gp_compile_str(c, r->expression), gp_compile_str(c, r->function));
    } else {
        const struct gp_compile_skip *s = &c->cudagraphs.skips.at[index];
        gp_buf_printf(to, "skip\t%s\t%s", gp_compile_str(c, s->reason),
                      gp_base_name(gp_compile_str(c, s->file)));
    }
    for (size_t i = 0; i < to->n; i++)
        if (to->data[i] == '\n' || to->data[i] == '\r') to->data[i] = ' ';
}

/* As many findings of one key as the baseline has are known. */
static bool is_new(const struct gp_compile *c, enum gp_compile_finding kind, size_t index, bool *used,
                   struct gp_buf *key)
{
    key->n = 0;
    gp_compile_key(c, kind, index, key);
    const char *s = gp_buf_str(key);
    for (size_t k = 0; k < c->opts.n_known; k++)
        if (!used[k] && !strcmp(c->opts.known[k], s)) {
            used[k] = true;
            return false;
        }
    return true;
}

void gp_compile_compare_findings(struct gp_compile *c)
{
    struct gp_buf key = {0};
    if (!c->opts.against) return;
    bool *used = gp_zalloc(c->opts.n_known + 1);
    for (size_t i = 0; i < c->breaks.n; i++) {
        struct gp_compile_break *b = &c->breaks.at[i];
        b->is_new = is_new(c, GP_FINDING_BREAK, i, used, &key);
        c->added[GP_FINDING_BREAK] += b->is_new && b->caused_by == GP_CLOG_NONE;
    }
    for (size_t i = 0; i < c->recompiles.n; i++) {
        c->recompiles.at[i].is_new = is_new(c, GP_FINDING_RECOMPILE, i, used, &key);
        c->added[GP_FINDING_RECOMPILE] += c->recompiles.at[i].is_new;
    }
    for (size_t i = 0; i < c->cudagraphs.skips.n; i++) {
        c->cudagraphs.skips.at[i].is_new = is_new(c, GP_FINDING_SKIP, i, used, &key);
        c->added[GP_FINDING_SKIP] += c->cudagraphs.skips.at[i].is_new;
    }
    free(used);
    gp_buf_release(&key);
}

size_t gp_compile_findings(const struct gp_compile *c, enum gp_compile_finding kind)
{
    if (c->opts.against) return c->added[kind];
    if (kind == GP_FINDING_BREAK) return gp_compile_own_breaks(c);
    return kind == GP_FINDING_RECOMPILE ? c->recompiles.n : c->cudagraphs.skips.n;
}
