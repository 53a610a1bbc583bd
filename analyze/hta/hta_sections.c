/* What all sections of an answer do alike: their rows are merged, copied, saved, released, and left out, as
 * their lists say. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"

#define EACH_LIST(l, s) for (const struct gp_hta_list *l = (s)->lists; l < (s)->lists + (s)->n; l++)

static void *rows_of(const struct gp_hta *h, const struct gp_hta_list *l)
{
    return (char *)(uintptr_t)h + l->at;
}

static void *row_at(const struct gp_hta_list *l, const void *vec, size_t i)
{
    return (char *)gp_rows_at(vec) + i * l->rows->size;
}

/* ---- rows with a key ---- */

static struct gp_map *map_of(struct gp_hta *h, const struct gp_hta_list *l)
{
    return h->work && gp_record_has_key(l->rows) ? (struct gp_map *)(void *)((char *)h->work + l->map) : NULL;
}

void *gp_hta_row(struct gp_hta *h, const struct gp_hta_list *l, const void *row)
{
    void *vec = rows_of(h, l);
    size_t n = gp_rows_n(vec);
    uint32_t at = *gp_map_put(map_of(h, l), gp_record_key(l->rows, row), (uint32_t)n);
    return at == n ? gp_rows_push(l->rows, vec, row) : row_at(l, vec, at);
}

/* The rows have other places. */
static void index_rows(struct gp_hta *h, const struct gp_hta_list *l)
{
    struct gp_map *map = map_of(h, l);
    if (!map) return;
    gp_map_release(map);
    for (size_t i = 0; i < gp_rows_n(rows_of(h, l)); i++)
        gp_map_put(map, gp_record_key(l->rows, row_at(l, rows_of(h, l), i)), (uint32_t)i);
}

/* ROW, whose strings are H's, goes into the row of its key. */
static void take_row(struct gp_hta *h, const struct gp_hta_list *l, void *row)
{
    size_t n = gp_rows_n(rows_of(h, l));
    void *to = gp_hta_row(h, l, row);
    if (gp_rows_n(rows_of(h, l)) > n) return;
    gp_record_merge(l->rows, to, row);
    gp_record_release(l->rows, row);
}

/* ---- whole lists ---- */

static void sort_lists(const struct gp_hta_section *s, struct gp_hta *h)
{
    EACH_LIST(l, s)
    {
        const void *rows = rows_of(h, l);
        if (l->order) gp_sort_in(gp_rows_at(rows), gp_rows_n(rows), l->rows->size, l->order, h);
    }
    if (s->sort) s->sort(h);
}

void gp_hta_section_sort(const struct gp_hta_section *s, struct gp_hta *h)
{
    sort_lists(s, h);
    EACH_LIST(l, s) index_rows(h, l);
}

void gp_hta_section_merge(const struct gp_hta_section *s, struct gp_hta *to, struct gp_hta *from)
{
    EACH_LIST(l, s)
    {
        size_t rows = l->one ? 0 : gp_rows_n(rows_of(from, l));
        if (l->made) continue;
        void *theirs = rows_of(from, l);
        if (l->one) {
            gp_record_merge(l->rows, rows_of(to, l), theirs);
            gp_record_release(l->rows, theirs);
        } else if (map_of(to, l)) {
            for (size_t i = 0; i < gp_rows_n(theirs); i++) {
                gp_record_move(l->rows, row_at(l, theirs, i), &to->strings, &from->strings);
                take_row(to, l, row_at(l, theirs, i));
            }
            free(gp_rows_at(theirs));
            memset(theirs, 0, sizeof(struct gp_rows));
        } else {
            gp_rows_move(l->rows, rows_of(to, l), &to->strings, theirs, &from->strings);
        }
        if (s->merged) s->merged(to, rows);
    }
}

void gp_hta_section_copy(const struct gp_hta_section *s, struct gp_hta *to, const struct gp_hta *from)
{
    EACH_LIST(l, s)
    {
        void *rows = rows_of(to, l);
        const void *theirs = rows_of(from, l);
        if (l->made) continue;
        if (l->one) gp_record_copy(l->rows, rows, &to->strings, theirs, &from->strings);
        else gp_rows_copy(l->rows, rows, &to->strings, theirs, &from->strings);
        index_rows(to, l);
    }
}

void gp_hta_section_serialize(const struct gp_hta_section *s, struct gp_serializer *x, struct gp_hta *h)
{
    EACH_LIST(l, s)
    {
        if (l->made) continue;
        if (l->one) gp_record_serialize(x, l->rows, rows_of(h, l));
        else gp_rows_serialize(x, l->rows, rows_of(h, l));
        if (!x->save) index_rows(h, l);
    }
}

void gp_hta_section_release(const struct gp_hta_section *s, struct gp_hta *h)
{
    EACH_LIST(l, s)
    {
        if (l->one) gp_record_release(l->rows, rows_of(h, l));
        else gp_rows_release(l->rows, rows_of(h, l));
        if (map_of(h, l)) gp_map_release(map_of(h, l));
    }
}

/* ---- which rows stay of very many ranks ---- */

static void leave_ranks(struct gp_hta *h, const struct gp_hta_list *l, gp_hta_keeps_rank *keeps,
                        const void *ctx)
{
    const struct gp_hta_kept *k = &l->kept;
    struct gp_rows v = gp_rows_of(rows_of(h, l));
    size_t n = 0, run = 0;
    char *begin = gp_zalloc(k->run); /* of the row before */
    for (size_t i = 0; i < v.n; i++) {
        char *row = row_at(l, &v, i);
        int32_t rank;
        if (!i || memcmp(begin, row, k->run) != 0) run = 0;
        memcpy(begin, row, k->run);
        memcpy(&rank, row, sizeof rank);
        if (rank < 0 ? run < k->unranked : keeps(ctx, rank) && run < k->most) {
            if (n < i) memcpy(row_at(l, &v, n), row, l->rows->size);
            n++, run++;
            continue;
        }
        gp_record_release(l->rows, row);
    }
    free(begin);
    if (k->left) *(uint64_t *)(void *)((char *)&h->bound + k->left) += v.n - n;
    v.n = n;
    memcpy(rows_of(h, l), &v, sizeof v);
}

enum { NAMES_MOST = 768, NAME_BYTES_MOST = 96 << 10 };

/* What a name is known by, with the shapes if the key of the rows has these, too; never 0 and never 1: these
 * mean no limit. */
struct name_hash {
    uint64_t hash;
    size_t bytes;
};

static bool is_string_of_key(const struct gp_field *f)
{
    return f->merge == GP_MERGE_KEY && f->keep == GP_KEEP_STR;
}

/* False for what has its row in any case: no name, and that of the others. */
static bool hash_name(const struct gp_hta *h, const struct gp_hta_list *l, const void *row,
                      struct name_hash *to)
{
    uint64_t times = 1;
    *to = (struct name_hash){0};
    GP_EACH_OF(const struct gp_field, f, l->rows->fields, l->rows->n) {
        if (!is_string_of_key(f)) continue;
        gp_sid sid = *(const gp_sid *)gp_member_at(row, f);
        if (times == 1 && (!sid || !strcmp(gp_hta_str(h, sid), GP_HTA_OTHER))) return false;
        if (sid) to->hash ^= gp_string_hash(&h->strings, sid) * times;
        to->bytes += gp_string_len(&h->strings, sid);
        times = 0x9e3779b97f4a7c15u;
    }
    if (to->hash < 2) to->hash = 2;
    return true;
}

GP_COMPARE(by_hash, struct name_hash, GP_UP(hash) GP_UP(bytes))

/* Lower *LIMIT to where the others begin. Returns false where all stay. */
static bool find_limit(struct gp_hta *h, const struct gp_hta_list *l, uint64_t *limit)
{
    size_t rows = gp_rows_n(rows_of(h, l)), n = 0, bytes = 0, kept = 0;
    struct name_hash *names = gp_alloc((rows + 1) * sizeof *names);
    uint64_t before = *limit;
    for (size_t i = 0; i < rows; i++) n += hash_name(h, l, row_at(l, rows_of(h, l), i), &names[n]);
    if (n) qsort(names, n, sizeof *names, by_hash);
    for (; kept < n && (!*limit || names[kept].hash < *limit); kept++) {
        bytes += names[kept].bytes;
        if (kept >= NAMES_MOST || bytes > NAME_BYTES_MOST) *limit = names[kept].hash;
    }
    bool any = *limit && n && names[n - 1].hash >= *limit;
    free(names);
    return any || *limit != before;
}

static void rename_other(struct gp_hta *h, const struct gp_hta_list *l, char *row)
{
    gp_sid other = gp_intern_cstr(&h->strings, GP_HTA_OTHER);
    GP_EACH_OF(const struct gp_field, f, l->rows->fields, l->rows->n) {
        if (!is_string_of_key(f)) continue;
        *(gp_sid *)(void *)(row + f->at) = other;
        other = 0; /* which have no shapes */
    }
}

static void leave_names(struct gp_hta *h, const struct gp_hta_list *l)
{
    uint64_t *limit = (uint64_t *)(void *)((char *)&h->bound + l->limit);
    struct name_hash name;
    if (!find_limit(h, l, limit)) return;
    struct gp_rows all = gp_rows_of(rows_of(h, l));
    memset(rows_of(h, l), 0, sizeof all);
    gp_map_release(map_of(h, l));
    for (size_t i = 0; i < all.n; i++) {
        char *row = row_at(l, &all, i);
        if (hash_name(h, l, row, &name) && *limit && name.hash >= *limit) rename_other(h, l, row);
        take_row(h, l, row);
    }
    free(all.at);
}

void gp_hta_section_leave(const struct gp_hta_section *s, struct gp_hta *h, gp_hta_keeps_rank *keeps,
                          const void *ctx)
{
    bool sorted = false;
    EACH_LIST(l, s)
    {
        if (l->kept.run && !sorted) sort_lists(s, h);
        sorted |= l->kept.run != 0;
        if (l->kept.run) leave_ranks(h, l, keeps, ctx);
        if (l->limit) leave_names(h, l);
    }
}
