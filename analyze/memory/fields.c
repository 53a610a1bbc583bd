/* What the records of this folder share. */
#include "analyze/memory/memory_priv.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"

/* ---- names ---- */

GP_WORD(gp_oom_verdict_name, enum gp_oom_verdict, GP_VERDICTS, 1)
GP_WORD(gp_oom_verdict_text, enum gp_oom_verdict, GP_VERDICTS, 2)
GP_WORD(gp_memory_key_name, enum gp_memory_key, GP_MEMORY_KEYS, 1)

void gp_memory_device_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d)
{
    gp_buf_puts(b, gp_memory_str(m, d->label));
    if (d->kind) {
        gp_buf_putc(b, ' ');
        for (const char *k = gp_memory_str(m, d->kind); *k; k++)
            gp_buf_putc(b, *k >= 'A' && *k <= 'Z' ? (char)(*k + 32) : *k);
        gp_buf_puts(b, " memory");
    }
    bool several_inputs = m->devices.at[0].input != m->devices.at[m->devices.n - 1].input;
    if (several_inputs) {
        const char *path = gp_memory_str(m, m->inputs.at[d->input].path), *slash = strrchr(path, '/');
        gp_buf_printf(b, " of %s", slash && slash[1] ? slash + 1 : path);
    }
}

void gp_memory_frame_path_put(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack, uint32_t number)
{
    const struct gp_snapshot_frame *f = &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + number]];
    const char *file = gp_string(&s->strings, f->file), *cut = strstr(file, "site-packages/");
    if (*file && strcmp(file, "??") != 0) {
        gp_buf_puts(b, cut ? cut + strlen("site-packages/") : file);
        if (f->line > 0) {
            gp_buf_putc(b, ':');
            gp_buf_put_i64(b, f->line);
        }
        gp_buf_putc(b, ' ');
    }
    gp_buf_put(b, gp_string(&s->strings, f->name), gp_string_len(&s->strings, f->name));
}

/* ---- cells ---- */

void gp_memory_cell_known(struct gp_cell *c, bool known, uint64_t v)
{
    c->none = !known;
    c->i = v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

/* A cell as it is: the values of lists. */
GP_GETTER(get_cell) { *c = *(const struct gp_cell *)row; }

static const struct gp_field frame_fields[] = {{.type = GP_CELL_NAME, .get = get_cell}};
const struct gp_record gp_memory_frames = {"frames", "Frames", GP_FIELDS(frame_fields),
                                           .size = sizeof(struct gp_cell)};

void gp_memory_cell_stack(struct gp_cell *c, const struct gp_row_of *x, const struct gp_snapshot *s,
                          uint32_t stack)
{
    uint32_t n = s->stacks.at[stack].n;
    struct gp_cell *frames = gp_arena_alloc(x->mem, (n + 1) * sizeof *frames);
    struct gp_buf b = {0};
    for (uint32_t i = 0; i < n; i++) {
        size_t begin = b.n;
        gp_memory_frame_path_put(&b, s, stack, i);
        frames[i] = (struct gp_cell){.type = GP_CELL_NAME, .text_len = (uint32_t)(b.n - begin)};
        gp_buf_putc(&b, '\0');
    }
    const char *text = n ? gp_arena_strndup(x->mem, b.data, b.n) : "";
    for (uint32_t i = 0; i < n; i++) {
        gp_cell_label(&frames[i], text, frames[i].text_len, NULL, 0);
        text += frames[i].text_len + 1;
    }
    gp_cell_list(c, frames, n);
    gp_buf_release(&b);
}

void gp_memory_cell_site(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d,
                         uint32_t site)
{
    gp_memory_cell_stack(c, x, d->s, site == UINT32_MAX ? 0 : d->sites.at[site].stack);
}

void gp_memory_cell_device(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d)
{
    const struct gp_memory *m = gp_memory_of(x);
    struct gp_buf b = {0};
    if (x->labels) gp_memory_device_put(&b, m, d);
    gp_cell_text(c, gp_memory_str(m, d->label));
    gp_cell_shown(c, &b, x);
}

void gp_memory_get_device(struct gp_cell *c, const struct gp_field *f, const void *row,
                          const struct gp_row_of *x)
{
    gp_memory_cell_device(c, x, gp_memory_device_at(x, *(const uint32_t *)gp_member_at(row, f)));
}

void gp_memory_get_ns(struct gp_cell *c, const struct gp_field *f, const void *row,
                      GP_UNUSED const struct gp_row_of *x)
{
    c->i = *(const int64_t *)gp_member_at(row, f);
    c->none = c->i == INT64_MIN;
}
