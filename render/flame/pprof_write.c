#include "render/flame/flame_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/output.h"
#include "render/draw/text.h"
#include "render/page/page_pack.h"

/* Fields of the messages of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START = 5,
};
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* The sample types, in the order in which viewers list them. */
static const struct sample_type {
    enum gp_weight weight;
    const char *type, *unit;
} types[] = {
    {GP_WEIGHT_GPU, "gpu_time", "nanoseconds"},   {GP_WEIGHT_CPU, "cpu_time", "nanoseconds"},
    {GP_WEIGHT_COUNT, "launches", "count"},       {GP_WEIGHT_BYTES, "bytes", "bytes"},
    {GP_WEIGHT_IDLE, "idle_time", "nanoseconds"}, {GP_WEIGHT_STALLS, "stalled_samples", "count"},
};
enum {
    TYPES = GP_COUNT(types),
    FLUSH = 1 << 16,
    ENDS = 512, /* frames that a stack has at either end; those between them are left out */
};

/* A function and, there being no addresses, its only location, which has the same number. */
struct function {
    gp_sid name, system_name, file; /* of writer.strings */
    uint64_t line;
};

struct writer {
    struct gp_output *out;
    const struct gp_pprof_opts *o;
    z_stream z;
    /* bytes not deflated yet, and messages under construction */
    struct gp_buf profile, message, inner;
    struct gp_strings strings;         /* the profile's table: number 0 of both is the empty string */
    struct gp_map by_name;             /* name << 8 | kind -> number of the function */
    GP_VEC(struct function) functions; /* number - 1 is the index */
    int column[TYPES];                 /* by type: its place among the values; -1: not there */
    /* of the tree that is written, by node: its function, 0 until it is asked for; its depth, 0 for the root;
     * its ancestor of depth ENDS, itself if it is not deeper */
    uint32_t *function, *depth, *outer;
    int columns;
};

/* ---- protocol buffers ---- */

static void put_int(struct gp_buf *b, int field, uint64_t v)
{
    gp_pack_u64(b, (uint64_t)field << 3 | WIRE_VARINT);
    gp_pack_u64(b, v);
}

static void put_bytes(struct gp_buf *b, int field, const void *data, size_t n)
{
    gp_pack_u64(b, (uint64_t)field << 3 | WIRE_BYTES);
    gp_pack_u64(b, n);
    gp_buf_put(b, data, n);
}

static void deflate_all(struct writer *w, int how)
{
    uint8_t piece[1 << 14];
    int status;
    w->z.next_in = (z_const Bytef *)w->profile.data;
    w->z.avail_in = (uInt)w->profile.n;
    do {
        w->z.next_out = piece;
        w->z.avail_out = sizeof piece;
        status = deflate(&w->z, how);
        gp_output_write(w->out, piece, sizeof piece - w->z.avail_out);
    } while (how == Z_FINISH ? status != Z_STREAM_END : !w->z.avail_out);
    w->profile.n = 0;
}

/* The message is complete: append it to the profile. */
static void end_message(struct writer *w, int field)
{
    put_bytes(&w->profile, field, w->message.data, w->message.n);
    w->message.n = 0;
    if (w->profile.n > FLUSH) deflate_all(w, Z_NO_FLUSH);
}

static void end_inner(struct writer *w, int field)
{
    put_bytes(&w->message, field, w->inner.data, w->inner.n);
    w->inner.n = 0;
}

/* Number of a string in the profile's table. */
static uint64_t string_of(struct writer *w, const char *s, size_t n)
{
    struct gp_buf clean = {0};
    gp_text_clean(&clean, s, n);
    return gp_intern_buf(&w->strings, &clean);
}

static uint64_t cstring_of(struct writer *w, const char *s) { return string_of(w, s, strlen(s)); }

/* ---- functions ---- */

/* "path/file.py(12): name": the file and the line; 0 if it is anything else. */
static size_t python_place(const char *s, size_t n, uint64_t *line)
{
    const char *colon = NULL;
    for (size_t i = 0; i + 1 < n && !colon; i++)
        if (s[i] == ')' && s[i + 1] == ':') colon = s + i;
    if (!colon) return 0;
    const char *at = colon;
    uint64_t value = 0, scale = 1;
    while (at > s && at[-1] >= '0' && at[-1] <= '9' && scale < 1000000000) {
        value += (uint64_t)(*--at - '0') * scale;
        scale *= 10;
    }
    if (at == colon || at == s || at[-1] != '(') return 0;
    *line = value;
    return (size_t)(at - 1 - s);
}

static uint32_t function_of(struct writer *w, const struct gp_flame *f, const struct gp_calltree_node *node)
{
    gp_sid label = node->name, whole = label < f->full_n && f->full[label] ? f->full[label] : label;
    const char *full = gp_string(&f->strings, whole);
    size_t full_n = gp_string_len(&f->strings, whole);
    struct function fn = {0};
    fn.name = (gp_sid)(gp_string_len(&f->strings, label)
                           ? string_of(w, gp_string(&f->strings, label), gp_string_len(&f->strings, label))
                           : cstring_of(w, "(no name)"));
    uint32_t *number = gp_map_put(&w->by_name, (uint64_t)fn.name << 8 | node->kind, 0);
    if (*number) return *number;
    *number = (uint32_t)w->functions.n + 1;
    /* viewers cut a name that equals its system name as if it were a declaration */
    if (whole != label) fn.system_name = (gp_sid)string_of(w, full, full_n);
    size_t file = node->kind == GP_FRAME_PYTHON ? python_place(full, full_n, &fn.line) : 0;
    fn.file = (gp_sid)string_of(w, full, file);
    GP_VEC_PUSH(&w->functions, fn);
    return (uint32_t)w->functions.n;
}

static void write_functions(struct writer *w)
{
    for (size_t i = 0; i < w->functions.n; i++) {
        const struct function *fn = &w->functions.at[i];
        put_int(&w->message, LOCATION_ID, i + 1);
        put_int(&w->inner, LINE_FUNCTION, i + 1);
        if (fn->line) put_int(&w->inner, LINE_LINE, fn->line);
        end_inner(w, LOCATION_LINE);
        end_message(w, PROFILE_LOCATION);
    }
    for (size_t i = 0; i < w->functions.n; i++) {
        const struct function *fn = &w->functions.at[i];
        put_int(&w->message, FUNCTION_ID, i + 1);
        put_int(&w->message, FUNCTION_NAME, fn->name);
        if (fn->system_name) put_int(&w->message, FUNCTION_SYSTEM_NAME, fn->system_name);
        if (fn->file) put_int(&w->message, FUNCTION_FILE, fn->file);
        if (fn->line) put_int(&w->message, FUNCTION_START, fn->line);
        end_message(w, PROFILE_FUNCTION);
    }
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, int64_t value)
{
    char text[24];
    if (value < 0) return;
    /* pprof takes numbers for quantities, and 0 for none */
    int n = snprintf(text, sizeof text, "%" PRId64, value);
    put_int(&w->inner, LABEL_KEY, cstring_of(w, key));
    put_int(&w->inner, LABEL_STR, string_of(w, text, (size_t)n));
    end_inner(w, SAMPLE_LABEL);
}

static const struct gp_flame_place *place_of(const struct gp_flame *f, const struct gp_map *places,
                                             const struct gp_calltree_node *node)
{
    const uint32_t *at = node->kind == GP_FRAME_ROOT ? gp_map_get(places, node->name) : NULL;
    return at ? &f->places.at[*at] : NULL;
}

/* The frame that stands for those between the ends of a deep stack. */
static uint32_t left_out(struct writer *w)
{
    uint32_t *number = gp_map_put(&w->by_name, UINT64_MAX, 0);
    if (*number) return *number;
    *number = (uint32_t)w->functions.n + 1;
    struct function fn = {.name = (gp_sid)cstring_of(w, "[frames left out]"),
                          .file = (gp_sid)cstring_of(w, "")};
    GP_VEC_PUSH(&w->functions, fn);
    return (uint32_t)w->functions.n;
}

/* Parents stand before their children. */
static void measure_depths(struct writer *w, const struct gp_flame *f)
{
    size_t n = f->tree.nodes.n;
    w->function = gp_zalloc((n + 1) * sizeof *w->function);
    w->depth = gp_zalloc((n + 1) * sizeof *w->depth);
    w->outer = gp_zalloc((n + 1) * sizeof *w->outer);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = f->tree.nodes.at[i].parent;
        if (i == GP_CALLTREE_ROOT) continue;
        w->depth[i] = w->depth[parent] + 1;
        w->outer[i] = w->depth[i] <= ENDS ? i : w->outer[parent];
    }
}

/* The frames from NODE outwards, COUNT at most, into the location ids; the place among them, if any, to
 * PLACE. Returns the next. */
static uint32_t put_frames(struct writer *w, const struct gp_flame *f, const struct gp_map *places,
                           uint32_t node, uint32_t count, const struct gp_flame_place **place)
{
    for (; node != GP_CALLTREE_ROOT && count; node = f->tree.nodes.at[node].parent, count--) {
        const struct gp_calltree_node *n = &f->tree.nodes.at[node];
        const struct gp_flame_place *here = w->function[node] ? NULL : place_of(f, places, n);
        if (here) *place = here;
        else if (!w->function[node]) w->function[node] = function_of(w, f, n);
        if (!here) gp_pack_u64(&w->inner, w->function[node]);
    }
    return node;
}

/* The stack of NODE, the innermost frame first, and where it ran. */
static void put_stack(struct writer *w, const struct gp_flame *f, const struct gp_map *places, uint32_t node)
{
    const struct gp_flame_place *place = NULL;
    bool deep = w->depth[node] > 2 * ENDS;
    uint32_t next = put_frames(w, f, places, node, deep ? ENDS : UINT32_MAX, &place);
    if (deep) {
        gp_pack_u64(&w->inner, left_out(w));
        put_frames(w, f, places, w->outer[next], UINT32_MAX, &place);
    }
    end_inner(w, SAMPLE_LOCATION);
    if (!place) return;
    put_label(w, "rank", place->rank);
    put_label(w, "device", place->device);
    put_label(w, "stream", place->stream);
}

/* The own weight of NODE by each type; false: nothing. */
static bool values_of(const struct writer *w, const struct gp_flame *f, uint32_t node, int64_t *values)
{
    struct gp_calltree_extra extra = gp_calltree_extra_of(&f->tree, node);
    bool any = false;
    for (int i = 0; i < TYPES; i++) {
        int64_t v = types[i].weight == f->weight ? f->tree.nodes.at[node].self
                    : types[i].weight == GP_WEIGHT_COUNT && f->weight == GP_WEIGHT_GPU ? extra.events
                    : types[i].weight == GP_WEIGHT_BYTES && f->weight == GP_WEIGHT_GPU ? extra.bytes
                                                                                       : 0;
        if (w->column[i] < 0) continue;
        values[w->column[i]] = v;
        any |= v > 0;
    }
    return any;
}

static void write_samples(struct writer *w, const struct gp_flame *f)
{
    struct gp_map places = {0};
    int64_t values[TYPES];
    measure_depths(w, f);
    for (size_t i = 0; i < f->places.n; i++) *gp_map_put(&places, f->places.at[i].name, 0) = (uint32_t)i;
    for (uint32_t node = 0; node < f->tree.nodes.n; node++) {
        if (!values_of(w, f, node, values)) continue;
        struct gp_buf packed = {0};
        for (int i = 0; i < w->columns; i++) gp_pack_u64(&packed, (uint64_t)values[i]);
        put_stack(w, f, &places, node);
        put_bytes(&w->message, SAMPLE_VALUE, packed.data, packed.n);
        gp_buf_release(&packed);
        end_message(w, PROFILE_SAMPLE);
    }
    gp_map_release(&places);
    GP_RELEASE(free, w->function, w->depth, w->outer);
}

/* ---- the profile ---- */

static bool has_type(const struct gp_flame *flames, size_t n, enum gp_weight weight)
{
    for (size_t i = 0; i < n; i++) {
        bool beside = weight == GP_WEIGHT_COUNT || weight == GP_WEIGHT_BYTES;
        if (flames[i].weight == weight) return true;
        if (beside && flames[i].weight == GP_WEIGHT_GPU && flames[i].tree.extra.n) return true;
    }
    return false;
}

static const char *name_of_type(const struct writer *w, int type)
{
    return w->o->samples ? "samples" : types[type].type;
}

static void write_types(struct writer *w, const struct gp_flame *flames, size_t n)
{
    for (int i = 0; i < TYPES; i++) {
        w->column[i] = has_type(flames, n, types[i].weight) ? w->columns++ : -1;
        if (w->column[i] < 0) continue;
        put_int(&w->message, TYPE_TYPE, cstring_of(w, name_of_type(w, i)));
        put_int(&w->message, TYPE_UNIT, cstring_of(w, w->o->samples ? "count" : types[i].unit));
        end_message(w, PROFILE_SAMPLE_TYPE);
    }
}

static void write_rest(struct writer *w)
{
    write_functions(w);
    for (int i = 0; i < TYPES; i++)
        if (w->column[i] >= 0 && types[i].weight == w->o->opened)
            put_int(&w->profile, PROFILE_DEFAULT_TYPE, cstring_of(w, name_of_type(w, i)));
    if (w->o->comment) put_int(&w->profile, PROFILE_COMMENT, cstring_of(w, w->o->comment));
    for (gp_sid sid = 0; sid < w->strings.n; sid++) {
        put_bytes(&w->profile, PROFILE_STRING, gp_string(&w->strings, sid), gp_string_len(&w->strings, sid));
        if (w->profile.n > FLUSH) deflate_all(w, Z_NO_FLUSH);
    }
    deflate_all(w, Z_FINISH);
}

void gp_pprof_write(struct gp_output *out, const struct gp_flame *flames, size_t n,
                    const struct gp_pprof_opts *opts)
{
    enum { GZIP = 16, MEMORY = 8, LEVEL = 6 };
    struct writer w = {.out = out, .o = opts};
    if (deflateInit2(&w.z, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        gp_out_of_memory(sizeof w.z);
    write_types(&w, flames, n);
    for (size_t i = 0; i < n; i++) write_samples(&w, &flames[i]);
    write_rest(&w);
    deflateEnd(&w.z);
    GP_RELEASE(gp_buf_release, &w.profile, &w.message, &w.inner);
    gp_strings_release(&w.strings);
    gp_map_release(&w.by_name);
    GP_VEC_FREE(&w.functions);
}
