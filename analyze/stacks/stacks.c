
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/pattern.h"
#include "analyze/stacks/stacks_priv.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

GP_WORD(gp_weight_name, enum gp_weight, GP_WEIGHTS, 1)
GP_WORD(gp_weight_unit, enum gp_weight, GP_WEIGHTS, 2)
GP_WORD(gp_weight_text, enum gp_weight, GP_WEIGHTS, 3)

/* ---- labels ---- */

static struct label_info *info_of(struct gp_stacks *b, gp_sid label)
{
    GP_VEC_RESERVE(&b->labels, (size_t)label + 1);
    while (b->labels.n <= label) b->labels.at[b->labels.n++] = (struct label_info){0};
    return &b->labels.at[label];
}

static bool filter_matches(struct gp_stacks *b, gp_sid text)
{
    return !regexec(&b->filter, gp_string(&b->strings, text), 0, NULL, 0);
}

gp_sid gp_stacks_label(struct gp_stacks *b, const char *text, size_t n, const char *full, size_t full_n)
{
    gp_sid label = gp_intern(&b->strings, text, n), whole = gp_intern(&b->strings, full, full_n);
    uint32_t *met = gp_map_put(&b->pairs, (uint64_t)label << 32 | whole, 0);
    if (*met) return label;
    *met = 1;
    struct label_info *info = info_of(b, label);
    if (!info->full_count++) info->full = whole;
    if (b->has_filter && !info->wanted) info->wanted = filter_matches(b, label) || filter_matches(b, whole);
    info->seen = true;
    return label;
}

gp_sid gp_stacks_plain_label(struct gp_stacks *b, const char *text, size_t n)
{
    return gp_stacks_label(b, text, n, text, n);
}

gp_sid gp_stacks_place(struct gp_stacks *b, int32_t rank, int64_t device, int64_t stream)
{
    char text[100];
    int n = snprintf(text, sizeof text, "rank %" PRId32 ", GPU %" PRId64 ", stream %" PRId64, rank, device,
                     stream);
    gp_sid name = gp_intern(&b->strings, text, (size_t)n);
    uint32_t *at = gp_map_put(&b->place_of, name, UINT32_MAX);
    if (*at == UINT32_MAX) {
        *at = (uint32_t)b->places.n;
        GP_VEC_PUSH(&b->places, (struct gp_flame_place){name, rank, device, stream});
    }
    return name;
}

static void put_duration(char *to, size_t n, int64_t ns)
{
    if (ns % 1000000000 == 0) snprintf(to, n, "%" PRId64 " s", ns / 1000000000);
    else if (ns % 1000000 == 0) snprintf(to, n, "%" PRId64 " ms", ns / 1000000);
    else if (ns % 1000 == 0) snprintf(to, n, "%" PRId64 " us", ns / 1000);
    else snprintf(to, n, "%" PRId64 " ns", ns);
}

/* ---- making and freeing ---- */

struct gp_stacks *gp_stacks_new(const struct gp_stacks_opts *opts, struct gp_err *err)
{
    struct gp_stacks *b = gp_zalloc(sizeof *b);
    b->opts = *opts;
    b->opts.filter = NULL;
    if (opts->filter) {
        char why[GP_PATTERN_WHY];
        if (gp_pattern_compile(&b->filter, opts->filter, opts->filter_ignore_case ? REG_ICASE : 0, why)) {
            gp_fail(err, GP_E_USAGE, -1, "bad regular expression '%s': %s", opts->filter, why);
            free(b);
            return NULL;
        }
        b->has_filter = true;
    }
    if (opts->min_duration_ns > 0) {
        char limit[40], text[64];
        put_duration(limit, sizeof limit, opts->min_duration_ns);
        snprintf(text, sizeof text, "[shorter than %s]", limit);
        b->short_label = gp_stacks_plain_label(b, text, strlen(text));
    }
    return b;
}

void gp_stacks_free(struct gp_stacks *b)
{
    if (!b) return;
    if (b->has_filter) regfree(&b->filter);
    gp_calltree_release(&b->tree);
    gp_strings_release(&b->strings);
    GP_VEC_FREE(&b->labels);
    gp_map_release(&b->pairs);
    gp_stackset_release(&b->folded);
    GP_RELEASE(gp_vec_free, &b->names, &b->places);
    gp_map_release(&b->place_of);
    free(b);
}

/* ---- folded text ---- */

static bool is_wanted(struct gp_stacks *b, gp_sid name)
{
    struct label_info *info = info_of(b, name);
    if (!info->seen) info->wanted = filter_matches(b, name);
    info->seen = true;
    return info->wanted;
}

/* As in calltree.c, for many stacks. False: leave it out. */
static bool shape_folded(struct gp_stacks *b)
{
    bool wanted = !b->has_filter;
    size_t n = b->names.n;
    for (size_t i = 0; i < n && !wanted; i++) wanted = is_wanted(b, b->names.at[i]);
    for (size_t i = 0; b->opts.invert && i < n / 2; i++) {
        gp_sid s = b->names.at[i];
        b->names.at[i] = b->names.at[n - 1 - i];
        b->names.at[n - 1 - i] = s;
    }
    if (b->opts.max_depth && n > b->opts.max_depth) b->names.n = b->opts.max_depth;
    return wanted;
}

void gp_stacks_add_folded(struct gp_stacks *b, const char *line, size_t n, int64_t weight)
{
    b->names.n = 0;
    for (size_t i = 0; i < n;) {
        const char *sep = memchr(line + i, ';', n - i);
        size_t end = sep ? (size_t)(sep - line) : n;
        if (end > i) GP_VEC_PUSH(&b->names, gp_intern(&b->strings, line + i, end - i));
        i = end + 1;
    }
    if (shape_folded(b)) gp_stackset_add(&b->folded, b->names.at, b->names.n, weight);
    else b->stats.filtered++;
}

/* ---- the result ---- */

static void shape_tree(struct gp_stacks *b)
{
    if (!b->tree.nodes.n) return;
    uint8_t *wanted = b->has_filter ? gp_alloc(b->labels.n) : NULL;
    for (size_t i = 0; wanted && i < b->labels.n; i++) wanted[i] = b->labels.at[i].wanted;
    struct gp_calltree_shape shape = {wanted, (uint32_t)b->labels.n, b->opts.invert, b->opts.max_depth};
    if (!wanted && !shape.invert && !shape.max_depth) return;
    struct gp_calltree shaped = {0};
    b->stats.filtered += gp_calltree_reshape(&b->tree, &shape, &shaped);
    gp_calltree_release(&b->tree);
    b->tree = shaped;
    free(wanted);
}

void gp_stacks_finish(struct gp_stacks *b, size_t max_nodes, struct gp_flame *out)
{
    memset(out, 0, sizeof *out);
    shape_tree(b);
    gp_stackset_expand(&b->folded, max_nodes, &b->tree, &b->strings);
    gp_calltree_finish(&b->tree, &b->strings);
    if (b->opts.group_small_pct > 0) {
        struct gp_calltree grouped = {0};
        gp_calltree_group_small(&b->tree, b->opts.group_small_pct, &b->strings, &grouped);
        gp_calltree_finish(&grouped, &b->strings);
        gp_calltree_release(&b->tree);
        b->tree = grouped;
    }
    out->full_n = (uint32_t)b->labels.n;
    out->full = gp_alloc(b->labels.n * sizeof *out->full);
    out->full_count = gp_alloc(b->labels.n * sizeof *out->full_count);
    out->samples = gp_alloc(b->labels.n * sizeof *out->samples);
    for (size_t i = 0; i < b->labels.n; i++) {
        const struct label_info *info = &b->labels.at[i];
        out->full[i] = info->full == i && info->full_count == 1 ? 0 : info->full;
        out->full_count[i] = b->labels.at[i].full_count;
        out->samples[i] = b->labels.at[i].samples;
    }
    out->tree = b->tree;
    out->strings = b->strings;
    out->weight = b->opts.weight;
    out->stats = b->stats;
    memcpy(&out->places, &b->places, sizeof out->places);
    memset(&b->places, 0, sizeof b->places);
    memset(&b->tree, 0, sizeof b->tree);
    memset(&b->strings, 0, sizeof b->strings);
    gp_stacks_free(b);
}

void gp_flame_release(struct gp_flame *f)
{
    gp_calltree_release(&f->tree);
    gp_strings_release(&f->strings);
    GP_RELEASE(free, f->full, f->full_count, f->samples);
    GP_VEC_FREE(&f->places);
    memset(f, 0, sizeof *f);
}

static const char prefix[] = "idle: ";

/* The name of the cause that NODE stands for; NULL: none. */
static const char *cause_of(const struct gp_flame *flame, const struct gp_calltree_node *node)
{
    const char *name = gp_string(&flame->strings, node->name);
    if (node->kind != GP_FRAME_IDLE || strncmp(name, prefix, sizeof prefix - 1)) return NULL;
    return name + sizeof prefix - 1;
}

size_t gp_idle_shares(const struct gp_flame *flame, struct gp_idle_share causes[GP_IDLE_SHARES])
{
    size_t n = 0;
    for (size_t i = 1; i < flame->tree.nodes.n; i++) {
        const char *name = cause_of(flame, &flame->tree.nodes.at[i]);
        if (!name) continue;
        size_t k = 0;
        while (k < n && causes[k].name != name) k++; /* equal names are one string */
        if (k == GP_IDLE_SHARES) continue;
        if (k == n) causes[n++] = (struct gp_idle_share){name, 0};
        causes[k].ns += flame->tree.total[i];
    }
    for (size_t i = 1; i < n; i++) /* the largest first; there are few */
        for (size_t k = i; k > 0 && causes[k].ns > causes[k - 1].ns; k--) {
            struct gp_idle_share smaller = causes[k - 1];
            causes[k - 1] = causes[k];
            causes[k] = smaller;
        }
    return n;
}
