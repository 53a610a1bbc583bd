#include "formats/flight/flight_read.h"

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/json_scan.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/pickle/pickle.h"

/* What only such logs have near their beginning; other pickles are not ours. */
bool gp_flight_sniff(const void *head, size_t n)
{
    if (!gp_pickle_sniff(head, n)) return gp_contains(head, n, "\"inspector_output_format_version\"");
    return gp_contains(head, n, "pg_config") || gp_contains(head, n, "collective_seq_id");
}

void gp_flight_release(struct gp_flight *f)
{
    gp_strings_release(&f->strings);
    GP_VEC_FREE(&f->entries);
    GP_VEC_FREE(&f->groups);
}

/* ---- PyTorch's pickles ---- */

/* Kinds of values: a list and the name of a group as text, and the dicts that count. */
enum { SIZES = GP_PICKLE_OWN, NAME, ENTRY, GROUP };
enum { TEXT_MOST = 400 };

static const char *text_at(const struct gp_flight *f, const struct gp_pickle_value *v)
{
    return v->kind == GP_PICKLE_TEXT || v->kind == SIZES || v->kind == NAME
               ? gp_string(&f->strings, (gp_sid)v->u)
               : "";
}

/* Lists of numbers and of such lists become text; others stay what they are. */
static void add_items(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n,
                      uint64_t offset)
{
    struct gp_flight *f = ctx;
    struct gp_buf b = {0};
    (void)offset;
    if (self->kind != SIZES && self->kind != GP_PICKLE_LIST) return;
    for (size_t i = 0; i < n; i++)
        if (items[i].kind != GP_PICKLE_INT && items[i].kind != SIZES) return;
    gp_buf_puts(&b, self->kind == SIZES ? text_at(f, self) : "[]");
    for (size_t i = 0; i < n && b.n < TEXT_MOST; i++) {
        b.data[b.n - 1] = ','; /* instead of the bracket */
        if (b.n == 2) b.n = 1;
        else gp_buf_putc(&b, ' ');
        if (items[i].kind == GP_PICKLE_INT) gp_buf_put_i64(&b, items[i].i);
        else gp_buf_puts(&b, text_at(f, &items[i]));
        gp_buf_putc(&b, ']');
    }
    b.data[0] = '[';
    self->kind = SIZES;
    self->u = gp_intern_buf(&f->strings, &b);
}

/* The name of a group for people, which tells it from others: "default_pg (0)". */
static gp_sid group_name(struct gp_flight *f, const char *name, const char *description)
{
    struct gp_buf b = {0};
    bool described = *description && strcmp(description, "undefined") != 0;
    gp_buf_printf(&b, described ? "%s (%s)" : "%s%s", described ? description : "", name);
    return gp_intern_buf(&f->strings, &b);
}

static void take_tuple(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n)
{
    struct gp_flight *f = ctx;
    if (n != 2 || items[0].kind != GP_PICKLE_TEXT || items[1].kind != GP_PICKLE_TEXT) return;
    self->kind = NAME;
    self->u = group_name(f, text_at(f, &items[0]), text_at(f, &items[1]));
}

static void take_member(struct gp_flight *f, struct gp_flight_entry *e, const char *key,
                        const struct gp_pickle_value *v)
{
    const char *text = text_at(f, v);
    bool number = v->kind == GP_PICKLE_INT && v->i >= 0;
    struct gp_buf b = {0};
    if (!strcmp(key, "process_group") && v->kind == NAME) e->group = (gp_sid)v->u;
    if (!strcmp(key, "collective_seq_id") && number) e->seq = v->u;
    if (!strcmp(key, "time_created_ns") && number) e->time_ns = v->i;
    if (!strcmp(key, "is_p2p")) e->is_p2p = v->kind == GP_PICKLE_BOOL && v->i;
    if (!strcmp(key, "profiling_name"))
        e->op = gp_intern_cstr(&f->strings, gp_starts(text, "nccl:") ? text + strlen("nccl:") : text);
    if (!strcmp(key, "state"))
        e->state = !strcmp(text, "completed") ? GP_FLIGHT_COMPLETED
                   : !strcmp(text, "started") ? GP_FLIGHT_STARTED
                                              : GP_FLIGHT_SCHEDULED;
    if (strcmp(key, "input_sizes") != 0 && strcmp(key, "output_sizes") != 0) return;
    const char *other = gp_string(&f->strings, e->sizes);
    if (*key == 'i') gp_buf_printf(&b, "%s%s", text, other);
    else gp_buf_printf(&b, "%s -> %s", other, text);
    e->sizes = gp_intern_cstr(&f->strings, gp_buf_str(&b));
    gp_buf_release(&b);
}

static void take_pairs(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *pairs, size_t n,
                       uint64_t offset)
{
    struct gp_flight *f = ctx;
    gp_sid name = 0, description = 0, ranks = 0;
    (void)offset;
    for (size_t i = 0; i < n; i++) {
        const struct gp_pickle_value *v = &pairs[2 * i + 1];
        const char *key = text_at(f, &pairs[2 * i]);
        if (self->kind == GP_PICKLE_DICT && !strcmp(key, "collective_seq_id")) {
            self->kind = ENTRY;
            self->u = f->entries.n;
            GP_VEC_PUSH(&f->entries, ((struct gp_flight_entry){.rank = -1}));
        }
        if (v->kind != GP_PICKLE_TEXT) continue;
        if (!strcmp(key, "name")) name = (gp_sid)v->u;
        if (!strcmp(key, "desc")) description = (gp_sid)v->u;
        if (!strcmp(key, "ranks")) ranks = (gp_sid)v->u;
    }
    for (size_t i = 0; i < n && self->kind == ENTRY; i++)
        take_member(f, &f->entries.at[self->u], text_at(f, &pairs[2 * i]), &pairs[2 * i + 1]);
    if (self->kind != GP_PICKLE_DICT || !ranks) return;
    self->kind = GROUP;
    struct gp_flight_group g = {
        group_name(f, gp_string(&f->strings, name), gp_string(&f->strings, description)), ranks, 0};
    GP_VEC_PUSH(&f->groups, g);
}

/* ---- NCCL Inspector ---- */

/* The member KEY of object V; ABSENT if it has none. */
static struct gp_json_value member(const struct gp_json_value *v, const char *key)
{
    struct gp_json_value k, found = {0};
    const char *p = v->kind == GP_JSON_OBJECT ? v->p + 1 : NULL, *end = p ? v->p + v->n : NULL;
    while (p && gp_json_next(&p, end, &k, &found))
        if (gp_is(k.p, k.n, key)) return found;
    return (struct gp_json_value){.kind = GP_JSON_ABSENT};
}

static uint64_t number(const struct gp_json_value *object, const char *key)
{
    struct gp_json_value v = member(object, key);
    uint64_t n = 0;
    return v.kind == GP_JSON_NUMBER && gp_u64_from_text(v.p, v.n, &n) ? n : 0;
}

static void take_object(struct gp_flight *f, const struct gp_json_value *v)
{
    struct gp_json_value header = member(v, "header"), perf = member(v, "coll_perf"), id, op, bytes;
    struct gp_json_value metadata = member(v, "metadata");
    id = member(&header, "id");
    op = member(&perf, "coll");
    bytes = member(&perf, "coll_msg_size_bytes");
    if (id.kind != GP_JSON_STRING || op.kind != GP_JSON_STRING) return;
    struct gp_flight_entry e = {
        .group = gp_intern(&f->strings, id.p, id.n),
        .op = gp_intern(&f->strings, op.p, op.n),
        .sizes = gp_intern(&f->strings, bytes.kind == GP_JSON_NUMBER ? bytes.p : "",
                           bytes.kind == GP_JSON_NUMBER ? bytes.n : 0),
        .seq = number(&perf, "coll_sn"),
        .time_ns = (int64_t)(number(&metadata, "dump_timestamp_us") % (INT64_MAX / 1000) * 1000),
        .rank = (int32_t)(number(&header, "rank") & INT32_MAX),
        .state = GP_FLIGHT_COMPLETED,
    };
    GP_VEC_PUSH(&f->entries, e);
    struct gp_flight_group g = {e.group, 0, (uint32_t)(number(&header, "n_ranks") & 0xffff)};
    if (!f->groups.n || f->groups.at[f->groups.n - 1].name != g.name) GP_VEC_PUSH(&f->groups, g);
}

static int read_objects(struct gp_flight *f, struct gp_input *in, struct gp_err *err)
{
    static const size_t most = (size_t)1 << 31;
    struct gp_buf text = {0};
    struct gp_json_value v;
    const char *at;
    int failed = gp_input_rest(in, most, &text, err);
    size_t n = text.n;
    memset(gp_buf_reserve(&text, GP_JSON_PAD), 0, GP_JSON_PAD);
    const char *p = gp_json_space(text.data), *end = text.data + n;
    while (!failed && p && p < end && *p == '{' && (p = gp_json_value(p, end, &v, &at))) {
        take_object(f, &v);
        p = gp_json_space(p);
    }
    gp_buf_release(&text);
    return failed;
}

/* ---- both ---- */

static int32_t last_number(const char *path)
{
    path = gp_base_name(path);
    size_t end = strlen(path);
    uint64_t n;
    while (end && !gp_is_digit(path[end - 1])) end--;
    size_t from = end;
    while (from && gp_is_digit(path[from - 1])) from--;
    return gp_u64_from_text(path + from, end - from, &n) && n <= INT32_MAX ? (int32_t)n : -1;
}

int gp_flight_read(struct gp_flight *f, struct gp_input *in, struct gp_err *err)
{
    enum { HEAD = 4096 };
    size_t n, before = f->entries.n;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    struct gp_pickle_sink sink = {.ctx = f,
                                  .dicts = 1u << ENTRY | 1u << GROUP,
                                  .items = add_items,
                                  .pairs = take_pairs,
                                  .tuple = take_tuple};
    struct gp_pickle_end end;
    gp_intern(&f->strings, "", 0);
    f->rank = last_number(gp_input_path(in));
    bool pickle = gp_pickle_sniff(head, n);
    if (pickle ? gp_pickle_read(in, &f->strings, &sink, &end, err) : read_objects(f, in, err)) return -1;
    if (f->entries.n > before || f->groups.n) return 0;
    return gp_fail(err, GP_E_FORMAT, 0, "no log of collectives: no collective is in it");
}
