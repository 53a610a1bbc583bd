#include "analyze/view/captured.h"

#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/buf.h"

void gp_captured_init(struct gp_captured *c, const struct gp_host_stack *hs)
{
    memset(c, 0, sizeof *c);
    c->hs = hs;
}

void gp_captured_release(struct gp_captured *c)
{
    gp_strings_release(&c->labels);
    gp_map_release(&c->label_of);
    gp_map_release(&c->path_of);
    GP_VEC_FREE(&c->paths);
    GP_VEC_FREE(&c->names);
    GP_VEC_FREE(&c->around);
}

static gp_sid make_label(struct gp_captured *c, const char *text, size_t n)
{
    struct gp_buf label = {0};
    gp_name_range_label(&label, text, n);
    gp_sid sid = gp_intern(&c->labels, label.n ? label.data : "", label.n);
    gp_buf_release(&label);
    return sid;
}

static gp_sid label_of_range(struct gp_captured *c, uint32_t row)
{
    const struct gp_trace *t = c->hs->t;
    gp_sid name = t->events[GP_RANGE].name[row];
    uint32_t *known = gp_map_put(&c->label_of, name, UINT32_MAX);
    if (*known == UINT32_MAX) *known = make_label(c, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    return *known;
}

static const struct gp_captured_path *path_of(struct gp_captured *c, gp_sid captured)
{
    uint32_t *known = gp_map_put(&c->path_of, captured, UINT32_MAX);
    if (*known != UINT32_MAX) return &c->paths.at[*known];
    const struct gp_trace *t = c->hs->t;
    const char *at = gp_trace_str(t, captured), *end = at + gp_string_len(&t->strings, captured);
    struct gp_captured_path path = {.first = (uint32_t)c->names.n};
    struct gp_captured_name name;
    while ((name.text = gp_captured_next(&at, end, &name.n))) {
        name.label = make_label(c, name.text, name.n);
        GP_VEC_PUSH(&c->names, name);
    }
    path.n = (uint32_t)c->names.n - path.first;
    *known = (uint32_t)c->paths.n;
    GP_VEC_PUSH(&c->paths, path);
    return &c->paths.at[c->paths.n - 1];
}

size_t gp_captured_names(struct gp_captured *c, gp_sid captured, const struct gp_captured_name **names)
{
    const struct gp_captured_path *path = path_of(c, captured);
    *names = GP_VEC_FROM(&c->names, path->first);
    return path->n;
}

size_t gp_captured_common(struct gp_captured *c, uint32_t node, gp_sid captured)
{
    const struct gp_captured_name *names;
    size_t n = gp_captured_names(c, captured, &names), common = 0;
    c->around.n = 0; /* innermost first */
    for (; node != GP_HOST_NONE; node = c->hs->nodes[node].parent)
        if (c->hs->nodes[node].table == GP_RANGE)
            GP_VEC_PUSH(&c->around, label_of_range(c, c->hs->nodes[node].row));
    for (size_t i = c->around.n; i-- > 0 && common < n;)
        if (c->around.at[i] == names[common].label) common++;
    return common;
}
