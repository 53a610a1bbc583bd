/* How the segments lie when the snapshot is taken, and why an allocation failed. */
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/base/hash.h"

struct pools {
    struct gp_memory_fragmentation *f;
    struct gp_map of; /* place of what tells pools apart -> index */
};

static bool is_of(const struct gp_memory_pool *p, const struct gp_snapshot_segment *g)
{
    return p->id[0] == g->pool[0] && p->id[1] == g->pool[1] && p->stream == g->stream &&
           p->large == g->large && p->expandable == g->expandable;
}

static struct gp_memory_pool *pool_of(struct pools *p, const struct gp_snapshot_segment *g)
{
    struct gp_memory_fragmentation *f = p->f;
    uint64_t parts[] = {g->pool[0], g->pool[1], g->stream, g->large, g->expandable};
    for (uint64_t key = gp_hash_place(parts, sizeof parts, gp_hash_seed());; key++) {
        uint32_t *at = gp_map_put(&p->of, key, (uint32_t)f->pools.n);
        if (*at == f->pools.n) break;
        if (is_of(&f->pools.at[*at], g)) return &f->pools.at[*at];
    }
    struct gp_memory_pool fresh = {
        .id = {g->pool[0], g->pool[1]}, .stream = g->stream, .large = g->large, .expandable = g->expandable};
    GP_VEC_PUSH(&f->pools, fresh);
    return &f->pools.at[f->pools.n - 1];
}

static void add_segment(struct pools *pools, const struct gp_snapshot *s, const struct gp_snapshot_segment *g)
{
    struct gp_memory_fragmentation *f = pools->f;
    struct gp_memory_pool *p = pool_of(pools, g);
    int64_t active = 0, free = 0, largest = 0;
    for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) {
        const struct gp_snapshot_block *b = &s->blocks.at[k];
        if (b->state == GP_BLOCK_INACTIVE) {
            free += b->size;
            if (b->size > largest) largest = b->size;
            continue;
        }
        active += b->size;
        if (b->state == GP_BLOCK_PENDING) continue;
        f->allocated += b->size;
        if (b->requested_size > 0 && b->requested_size < b->size) f->rounding += b->size - b->requested_size;
    }
    bool whole = !active;
    p->segments++;
    p->whole += whole;
    p->reserved += g->total_size;
    p->active += active;
    *(whole ? &p->free_whole : &p->free_split) += free;
    if (largest > p->largest_free) p->largest_free = largest;
}

void gp_fragments_find(const struct gp_memory *m, struct gp_memory_device *d)
{
    struct gp_memory_fragmentation *f = &d->fragmentation;
    struct pools pools = {.f = f};
    size_t n;
    const struct gp_snapshot_segment *segments = gp_snapshot_segments(d->s, d->number, &n);
    for (size_t i = 0; i < n; i++) add_segment(&pools, d->s, &segments[i]);
    gp_map_release(&pools.of);
    GP_EACH(struct gp_memory_pool, p, f->pools) {
        p->device = gp_memory_index(m, d);
        f->known = true;
        f->segments += p->segments;
        f->whole_segments += p->whole;
        f->reserved += p->reserved;
        f->active += p->active;
        f->free_whole += p->free_whole;
        f->free_split += p->free_split;
        if (p->largest_free > f->largest_free) f->largest_free = p->largest_free;
    }
}

/* What devices of data centres report as their memory, in tenths of a GiB. */
static const int sizes_tenths[] = {148, 158, 222,  238,  318,  396,  445,  475, 640,
                                   795, 945, 1200, 1398, 1780, 1920, 2560, 2880};

static bool is_beyond_devices(int64_t bytes)
{
    return bytes > ((int64_t)1 << 30) / 10 * sizes_tenths[GP_COUNT(sizes_tenths) - 1];
}

/* Is HELD about all of such a device? The context of the process and its libraries are missing of it: a
 * twentieth. */
static bool is_whole_device(int64_t held)
{
    const int64_t tenth = ((int64_t)1 << 30) / 10;
    for (size_t i = 0; i < GP_COUNT(sizes_tenths); i++) {
        int64_t size = sizes_tenths[i] * tenth;
        if (held <= size && held >= size - size / 20) return true;
    }
    return false;
}

static gp_sid key_of(struct gp_memory *m, const struct gp_snapshot *s, uint32_t stack)
{
    struct gp_buf b = {0};
    if (!s->stacks.at[stack].n) return 0;
    gp_site_key(&b, s, stack);
    return gp_intern_buf(&m->strings, &b);
}

/* Who asked; and of what the device has, how much could this process have had at most: all, unless others
 * hold some. */
void gp_ooms_judge(struct gp_memory *m, struct gp_memory_device *d)
{
    GP_EACH(struct gp_memory_oom, o, d->ooms) {
        o->device = gp_memory_index(m, d);
        o->key = key_of(m, d->s, o->stack);
        int64_t cached = o->reserved - o->active, reach = o->device_free + o->reserved;
        if (o->requested <= cached) {
            o->verdict = GP_OOM_FRAGMENTATION;
            continue;
        }
        o->guessed = d->total_bytes <= 0 && !is_beyond_devices(o->requested);
        if (d->total_bytes <= 0 && !o->guessed) {
            o->verdict = GP_OOM_TOO_LARGE;
            continue;
        }
        bool others = o->guessed ? !is_whole_device(reach) : o->requested <= d->total_bytes - o->active;
        o->verdict = others ? GP_OOM_OTHERS : GP_OOM_TOO_LARGE;
    }
}

/* ---- fields of pools ---- */

#define AT(member) offsetof(struct gp_memory_pool, member)

GP_GETTER_OF(get_name, struct gp_memory_pool, p)
{
    struct gp_buf b = {0};
    if (p->id[0] || p->id[1]) gp_buf_printf(&b, "private %u.%u, ", (unsigned)p->id[0], (unsigned)p->id[1]);
    gp_buf_printf(&b, "%s%s", p->large ? "large" : "small", p->expandable ? ", expandable" : "");
    gp_cell_take(c, &b, x);
}

GP_GETTER(get_id) { gp_cell_list(c, ((const struct gp_memory_pool *)row)->id, 2); }

/* Streams are addresses, and the first is the default one. */
GP_GETTER_OF(get_stream, struct gp_memory_pool, p)
{
    struct gp_buf text = {0}, label = {0};
    gp_buf_put_u64(&text, p->stream);
    if (p->stream) gp_buf_printf(&label, "0x%llx", (unsigned long long)p->stream);
    else gp_buf_puts(&label, "default");
    gp_cell_text(c, gp_arena_strndup(x->mem, text.data, text.n));
    gp_cell_shown(c, &label, x);
    gp_buf_release(&text);
}

GP_GETTER(get_type) { gp_cell_text(c, ((const struct gp_memory_pool *)row)->large ? "large" : "small"); }

static const char *const types[] = {"small", "large", NULL};
static const struct gp_field id_fields[] = {{.type = GP_CELL_ID, .get = gp_member_u32}};
static const struct gp_record ids = {"pool", "Pool", GP_FIELDS(id_fields), .size = sizeof(uint32_t)};

static const struct gp_field pool_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"name", "Pool", GP_CELL_TEXT, get_name, 0, .help = "private pools belong to CUDA graphs",
     .flags = GP_FIELD_TABLES},
    {"pool", NULL, GP_CELL_LIST, get_id, 0, .help = "0, 0: the default one; others belong to CUDA graphs",
     .rows = &ids},
    {"stream", NULL, GP_CELL_ID, gp_member_u64, AT(stream), .help = "its address; 0: the default one"},
    {"stream", "Stream", GP_CELL_TEXT, get_stream, 0, .flags = GP_FIELD_TABLES},
    {"type", "Type", GP_CELL_TEXT, get_type, 0, .flags = GP_COLUMN_RAW, .words = types},
    {"expandable", "Expandable", GP_CELL_BOOL, gp_member_bool, AT(expandable), .flags = GP_COLUMN_RAW},
    {"segments", "Segments", GP_CELL_COUNT, gp_member_u32, AT(segments), .help = "as the device gave them"},
    {"whole_segments", "Unused", GP_CELL_COUNT, gp_member_u32, AT(whole),
     .help = "segments that nothing uses", .flags = GP_COLUMN_RAW},
    {"reserved_bytes", "Reserved", GP_CELL_BYTES, gp_member_i64, AT(reserved),
     .help = "taken from the device"},
    {"active_bytes", "In use", GP_CELL_BYTES, gp_member_i64, AT(active),
     .help = "allocated, or freed and still used by a stream"},
    {"free_whole_segments_bytes", "Free, whole", GP_CELL_BYTES, gp_member_i64, AT(free_whole),
     .flags = GP_COLUMN_RAW},
    {"free_split_bytes", "Free, split", GP_CELL_BYTES, gp_member_i64, AT(free_split), .flags = GP_COLUMN_RAW},
    {"largest_free_bytes", "Largest free", GP_CELL_BYTES, gp_member_i64, AT(largest_free),
     .help = "the largest free block"},
};
#undef AT

const struct gp_record gp_memory_pools = {"pools", "Pools of segments", GP_FIELDS(pool_fields),
                                          sizeof(struct gp_memory_pool),
                                          .note = "segments of one pool, stream and kind"};

/* ---- fields of all segments ---- */

#define AT(member) offsetof(struct gp_memory_fragmentation, member)

static const struct gp_field fragment_fields[] = {
    {"reserved_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(reserved), .help = "taken from the device"},
    {"allocated_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(allocated), .help = "in blocks"},
    {"active_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(active),
     .help = "allocated, or freed and still used by a stream"},
    {"free_whole_segments_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(free_whole),
     .help = "in segments that nothing uses: empty_cache() returns them"},
    {"free_split_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(free_split),
     .help = "free inside used segments"},
    {"rounding_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(rounding), .help = "allocated less requested"},
    {"largest_free_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(largest_free),
     .help = "the largest free block"},
};
#undef AT

const struct gp_record gp_memory_fragments = {
    "fragmentation", "What was reserved at the end", GP_FIELDS(fragment_fields),
    sizeof(struct gp_memory_fragmentation),
    .note =
        "of all devices, when the snapshot was taken. reserved = active + free_whole_segments + free_split"};

/* ---- fields of failed allocations ---- */

#define AT(member) offsetof(struct gp_memory_oom, member)

const char *gp_memory_oom_metadata(const struct gp_memory_device *d, const struct gp_memory_oom *o)
{
    return gp_string(&d->s->strings, d->s->contexts.at[o->context].metadata);
}

GP_GET(get_since_begin, struct gp_memory_oom, c->i = r->time_ns - gp_memory_device_at(x, r->device)->begin_ns)

GP_GETTER_OF(get_verdict, struct gp_memory_oom, o)
{
    struct gp_buf label = {0};
    gp_buf_printf(&label, "%s%s", gp_oom_verdict_text(o->verdict), o->guessed ? "?" : "");
    gp_cell_text(c, gp_oom_verdict_name(o->verdict));
    gp_cell_shown(c, &label, x);
}

GP_GET(get_verdict_from, struct gp_memory_oom, gp_cell_text(c, r->guessed ? "guess" : "recorded"))

GP_GETTER_OF(get_metadata, struct gp_memory_oom, o)
{
    gp_cell_text(c, gp_memory_oom_metadata(gp_memory_device_at(x, o->device), o));
    c->none = x->labels && !c->text_len;
}

GP_GET(get_stack, struct gp_memory_oom,
       gp_memory_cell_stack(c, x, gp_memory_device_at(x, r->device)->s, r->stack))

GP_GETTER_OF(get_stack_text, struct gp_memory_oom, o)
{
    const struct gp_snapshot *s = gp_memory_device_at(x, o->device)->s;
    struct gp_buf b = {0};
    for (uint32_t i = 0; i < s->stacks.at[o->stack].n; i++) {
        if (i) gp_buf_puts(&b, " < ");
        gp_memory_frame_path_put(&b, s, o->stack, i);
    }
    gp_cell_take(c, &b, x);
}

GP_GETTER_OF(get_holders, struct gp_memory_oom, o)
{
    gp_memory_holders all = {0};
    gp_memory_holders_at(gp_memory_of(x), o->device, o->position, GP_BY_STACK, &all);
    struct gp_memory_holder *own = gp_arena_alloc(x->mem, (all.n + 1) * sizeof *own);
    if (all.n) memcpy(own, all.at, all.n * sizeof *own);
    gp_cell_list(c, own, all.n);
    GP_VEC_FREE(&all);
}

static const char *const verdicts[] = {GP_VERDICTS(GP_SECOND) NULL};

static const struct gp_field oom_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"since_begin_ns", "At", GP_CELL_NS, get_since_begin, 0, .help = "since the history begins",
     .flags = GP_FIELD_TABLES | GP_FIELD_TIMED},
    {"time_ns", "Time", GP_CELL_NS, gp_member_i64, AT(time_ns), .help = "clock of the input",
     .flags = GP_COLUMN_RAW | GP_FIELD_SIGNED},
    {"requested_bytes", "Requested", GP_CELL_BYTES, gp_member_i64, AT(requested),
     .help = "by the allocation that failed"},
    {"device_free_bytes", "Free", GP_CELL_BYTES, gp_member_i64, AT(device_free), .help = "of the device",
     .after = "reserved_bytes"},
    {"reserved_bytes", "Reserved", GP_CELL_BYTES, gp_member_i64, AT(reserved),
     .help = "taken from the device"},
    {"allocated_bytes", "Allocated", GP_CELL_BYTES, gp_member_i64, AT(allocated), .after = "requested_bytes"},
    {"active_bytes", "In use", GP_CELL_BYTES, gp_member_i64, AT(active), .flags = GP_COLUMN_RAW},
    {"verdict", "Why", GP_CELL_TEXT, get_verdict, 0, .words = verdicts},
    {"verdict_from", "Verdict from", GP_CELL_TEXT, get_verdict_from, 0,
     .help = "guess: the size of the device is not known", .flags = GP_COLUMN_RAW, .words = gp_memory_froms},
    {"asked_by", "Asked by", GP_CELL_NAME, gp_member_name, AT(key),
     .flags = GP_COLUMN_BELOW | GP_FIELD_TABLES},
    {"stack", "Stack", GP_CELL_NAME, get_stack_text, 0, .help = "innermost frame first",
     .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES},
    {"metadata", "Metadata", GP_CELL_NAME, get_metadata, 0,
     .help = "what the program recorded with its entries", .flags = GP_COLUMN_WIDE},
    {"stack", NULL, GP_CELL_LIST, get_stack, 0, .help = GP_MEMORY_STACK, .rows = &gp_memory_frames},
    {"holders", NULL, GP_CELL_ROWS, get_holders, 0, .rows = &gp_memory_oom_holders},
};
#undef AT

const struct gp_record gp_memory_ooms = {"ooms", "Out of memory", GP_FIELDS(oom_fields),
                                         sizeof(struct gp_memory_oom), .note = "an allocation that failed"};
