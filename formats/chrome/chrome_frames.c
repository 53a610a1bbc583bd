/* The member "stackFrames" of the outer object, which the "sf" of events refer to: a frame is its name, its
 * category and the frame that called it. Our own have the form "function (file:line)", and further members
 * only where that text would be read in another way. */
#include <stdlib.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/map.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/chrome/chrome_priv.h"

/* "function (file:line)"; without a file, all of it is the function. */
struct label {
    const char *function, *file;
    size_t function_n, file_n;
    uint64_t line;
};

static struct label split_label(const char *s, size_t n)
{
    struct label whole = {.function = s, .function_n = n}, l = whole;
    if (!n || s[n - 1] != ')') return whole;
    size_t colon = n - 1;
    while (colon && gp_is_digit(s[colon - 1])) colon--;
    if (colon == n - 1 || !colon || s[--colon] != ':') return whole;
    if (!gp_u64_from_text(s + colon + 1, n - 2 - colon, &l.line) || l.line > UINT32_MAX) return whole;
    size_t open = colon;
    while (open >= 2 && (s[open - 2] != ' ' || s[open - 1] != '(')) open--;
    if (open < 2 || open == colon) return whole;
    l.file = s + open;
    l.file_n = colon - open;
    l.function_n = open - 2;
    return l;
}

/* ---- reading ---- */

static gp_sid text_of(struct gp_chrome_parser *c, const struct gp_json_value *v)
{
    if (v->kind != GP_JSON_ODD_STRING) return gp_intern(&c->local.strings, v->p, v->n);
    c->text.n = 0;
    gp_json_decode(&c->text, v->p, v->n);
    return gp_intern(&c->local.strings, c->text.n ? c->text.data : "", c->text.n);
}

uint32_t gp_chrome_frame_id(struct gp_chrome_parser *c, const struct gp_json_value *v)
{
    uint64_t n;
    bool plain = v->n && gp_is_digit(*v->p) && (*v->p != '0' || v->n == 1);
    if (plain && gp_u64_from_text(v->p, v->n, &n) && n < GP_CHROME_NUMBERED)
        return GP_CHROME_NUMBERED | (uint32_t)n;
    return text_of(c, v);
}

static void read_label(struct gp_chrome_parser *c, struct gp_chrome_frame *f, const struct gp_json_value *v)
{
    gp_sid sid = text_of(c, v);
    struct label l = split_label(gp_trace_str(&c->local, sid), gp_string_len(&c->local.strings, sid));
    f->name = l.file_n ? gp_intern(&c->local.strings, l.function, l.function_n) : sid;
    f->file = l.file_n ? gp_intern(&c->local.strings, l.file, l.file_n) : 0;
    f->line = (uint32_t)l.line;
}

static void read_frame(struct gp_chrome_parser *c, struct gp_chrome_frame *f, const char *p)
{
    struct gp_json_value key, v, label = {0}, function = {0}, file = {0};
    uint64_t line = 0;
    while (gp_json_next(&p, c->end, &key, &v)) {
        if (gp_is(key.p, key.n, "name")) label = v;
        else if (gp_is(key.p, key.n, "parent")) f->parent = gp_chrome_frame_id(c, &v);
        else if (gp_is(key.p, key.n, "category")) f->native = gp_is(v.p, v.n, "native");
        else if (gp_is(key.p, key.n, "function")) function = v;
        else if (gp_is(key.p, key.n, "file")) file = v;
        else if (gp_is(key.p, key.n, "module")) f->module = text_of(c, &v);
        else if (gp_is(key.p, key.n, "line")) gp_u64_from_text(v.p, v.n, &line);
        else if (gp_is(key.p, key.n, "offset")) gp_u64_from_text(v.p, v.n, &f->offset);
    }
    if (function.kind == GP_JSON_ABSENT) {
        if (label.kind != GP_JSON_ABSENT) read_label(c, f, &label);
        return;
    }
    f->name = text_of(c, &function);
    f->file = file.kind != GP_JSON_ABSENT ? text_of(c, &file) : 0;
    f->line = line <= UINT32_MAX ? (uint32_t)line : 0;
}

bool gp_chrome_read_frames(struct gp_chrome_parser *c, const struct gp_json_value *object)
{
    const char *p = object->p + 1;
    struct gp_json_value key, v;
    while (gp_json_next(&p, c->end, &key, &v)) {
        struct gp_chrome_frame f = {.id = gp_chrome_frame_id(c, &key)};
        if (!f.id || v.kind != GP_JSON_OBJECT) continue;
        read_frame(c, &f, v.p + 1);
        GP_VEC_PUSH(&c->out->frames, f);
    }
    return gp_json_space(p) == object->p + object->n - 1;
}

static uint32_t add_stack(struct gp_trace *t, const struct gp_chrome_frame *f, uint32_t parent)
{
    struct gp_stack s = {.parent = parent, .name = f->name, .file = f->file, .line = f->line};
    if (f->native)
        s.symbol = gp_trace_symbol(t, &(struct gp_symbol){.module = f->module, .offset = f->offset});
    return gp_trace_stack(t, &s);
}

/* By frame: its stack, 0: none. The last frame with an id counts; one that calls itself has no caller. */
static uint32_t *make_stacks(struct gp_chrome_merge *m, struct gp_map *frame_of)
{
    const struct gp_chrome_frame *frames = m->frames.at;
    const uint32_t open = UINT32_MAX;
    uint32_t *stack_of = gp_zalloc((m->frames.n + 1) * sizeof *stack_of);
    GP_VEC(uint32_t) path = {0};
    for (uint32_t i = 0; i < m->frames.n; i++) *gp_map_put(frame_of, frames[i].id, i) = i;
    for (size_t i = 0; i < m->frames.n; i++) {
        const uint32_t *at = gp_map_get(frame_of, frames[i].id);
        while (at && !stack_of[*at]) {
            stack_of[*at] = open;
            GP_VEC_PUSH(&path, *at);
            at = gp_map_get(frame_of, frames[*at].parent);
        }
        uint32_t stack = at && stack_of[*at] != open ? stack_of[*at] : 0;
        while (path.n) {
            uint32_t k = path.at[--path.n];
            stack = stack_of[k] = add_stack(m->t, &frames[k], stack);
        }
    }
    GP_VEC_FREE(&path);
    return stack_of;
}

void gp_chrome_take_stacks(struct gp_chrome_merge *m)
{
    struct gp_map frame_of = {0};
    uint32_t *stack_of = NULL;
    for (int k = 0; k < GP_TABLE_COUNT; k++) {
        struct gp_events *e = &m->t->events[k];
        if (!e->stack || e->n == m->first_row[k]) continue;
        if (!stack_of) stack_of = make_stacks(m, &frame_of);
        for (size_t i = m->first_row[k]; i < e->n; i++) {
            const uint32_t *frame = gp_map_get(&frame_of, e->stack[i]);
            e->stack[i] = frame ? stack_of[*frame] : 0;
        }
    }
    gp_map_release(&frame_of);
    free(stack_of);
}

/* ---- writing ---- */

static void put_member(struct gp_buf *b, const char *key, const struct gp_trace *t, gp_sid sid)
{
    gp_buf_printf(b, ",\"%s\":", key);
    gp_json_put_string(b, gp_trace_str(t, sid), gp_string_len(&t->strings, sid));
}

static bool is_text(const struct gp_trace *t, gp_sid sid, const char *s, size_t n)
{
    return gp_string_len(&t->strings, sid) == n && !memcmp(gp_trace_str(t, sid), s, n);
}

static void put_frame(struct gp_buf *b, struct gp_buf *text, const struct gp_trace *t, uint32_t i)
{
    const struct gp_stack *s = &t->stacks.at[i];
    const struct gp_symbol *native = s->symbol ? &t->symbols.at[s->symbol] : NULL;
    text->n = 0;
    gp_buf_put(text, gp_trace_str(t, s->name), gp_string_len(&t->strings, s->name));
    if (s->file) {
        gp_buf_puts(text, " (");
        gp_buf_put(text, gp_trace_str(t, s->file), gp_string_len(&t->strings, s->file));
        gp_buf_printf(text, ":%u)", (unsigned)s->line);
    }
    const char *label = text->n ? text->data : "";
    gp_buf_printf(b, "\"%u\":{\"name\":", (unsigned)i);
    gp_json_put_string(b, label, text->n);
    gp_buf_printf(b, ",\"category\":\"%s\"", native ? "native" : "python");
    if (s->parent) gp_buf_printf(b, ",\"parent\":%u", (unsigned)s->parent);
    struct label l = split_label(label, text->n);
    if (!is_text(t, s->name, l.function, l.function_n) ||
        !is_text(t, s->file, l.file ? l.file : "", l.file_n) || l.line != s->line) {
        put_member(b, "function", t, s->name);
        if (s->file) put_member(b, "file", t, s->file);
        if (s->line) gp_buf_printf(b, ",\"line\":%u", (unsigned)s->line);
    }
    if (native && native->module) put_member(b, "module", t, native->module);
    if (native && native->offset) gp_buf_printf(b, ",\"offset\":%llu", (unsigned long long)native->offset);
    gp_buf_putc(b, '}');
}

void gp_chrome_put_frames(struct gp_buf *b, const struct gp_trace *t)
{
    uint8_t *used = gp_zalloc(t->stacks.n + 1);
    struct gp_buf text = {0};
    bool any = false;
    for (int k = 0; k < GP_TABLE_COUNT; k++)
        for (size_t i = 0; t->events[k].stack && i < t->events[k].n; i++) used[t->events[k].stack[i]] = 1;
    for (size_t i = t->stacks.n; i-- > 1;) used[t->stacks.at[i].parent] |= used[i];
    for (size_t i = 1; i < t->stacks.n; i++) {
        if (!used[i]) continue;
        gp_buf_puts(b, any ? ",\n" : "\"" GP_CHROME_FRAMES "\":{");
        put_frame(b, &text, t, (uint32_t)i);
        any = true;
    }
    if (any) gp_buf_puts(b, "},\n");
    gp_buf_release(&text);
    free(used);
}
