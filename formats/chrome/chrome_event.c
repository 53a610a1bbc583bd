/* The text of one event: its fields and args. chrome_add.c turns them into rows. */
#include <string.h>
#include "formats/base/num.h"
#include "formats/chrome/chrome_priv.h"

#define BIT(key) (1ull << (key))

/* ---- numbers ---- */

/* Eight digits at P as a number, or false if there are fewer. */
static inline bool read8(const char *p, uint64_t *v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t x;
    memcpy(&x, p, 8);
    uint64_t d = x - 0x3030303030303030u;
    if ((d | (d + 0x7676767676767676u)) & 0x8080808080808080u) return false;
    d = d * 10 + (d >> 8); /* pairs, then fours, then all eight */
    *v = ((d & 0x000000ff000000ffu) * 0x000f424000000064u +
          (d >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
         32;
    *v &= 0xffffffffu;
    return true;
#else
    uint64_t r = 0;
    for (int i = 0; i < 8; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        r = r * 10 + (uint64_t)(p[i] - '0');
    }
    *v = r;
    return true;
#endif
}

static inline bool ends_number(char c) { return c == ',' || c == '}' || (unsigned char)c <= ' ' || c == ']'; }

/* A plain integer of at most 18 digits, the most common number; NULL for everything else. */
static inline const char *read_digits(const char *p, uint64_t *v)
{
    uint64_t r = 0, eight;
    const char *q = p;
    while (read8(q, &eight) && q - p < 16) {
        r = r * 100000000 + eight;
        q += 8;
    }
    for (unsigned d; (d = (unsigned char)*q - (unsigned)'0') < 10; q++) {
        if (q - p >= 18) return NULL;
        r = r * 10 + d;
    }
    *v = r;
    return q > p ? q : NULL;
}

static inline const char *read_u64(const char *p, uint64_t *v)
{
    uint64_t r;
    const char *q = read_digits(p, &r);
    if (!q || !ends_number(*q)) return NULL;
    *v = r;
    return q;
}

static inline const char *read_i64(const char *p, int64_t *v)
{
    bool negative = *p == '-';
    uint64_t r;
    const char *q = read_u64(p + negative, &r);
    if (q) *v = negative ? -(int64_t)r : (int64_t)r;
    return q;
}

static inline const char *read_u32(const char *p, uint32_t *v)
{
    uint64_t r;
    const char *q = read_u64(p, &r);
    if (!q || r > UINT32_MAX) return NULL;
    *v = (uint32_t)r;
    return q;
}

/* "[1, 2, 3]" */
static const char *read_triple(const char *p, uint32_t v[3])
{
    uint32_t r[3];
    if (*p++ != '[') return NULL;
    for (int i = 0; i < 3; i++) {
        p = gp_json_space(p);
        if (!(p = read_u32(p, &r[i]))) return NULL;
        p = gp_json_space(p);
        if (*p++ != (i < 2 ? ',' : ']')) return NULL;
    }
    memcpy(v, r, sizeof r);
    return p;
}

/* Microseconds with at most three decimals, the usual form; NULL for all other forms. */
static inline const char *read_us(const char *p, int64_t *ns)
{
    static const unsigned scale[] = {1000, 100, 10, 1};
    bool negative = *p == '-';
    uint64_t whole;
    const char *q = read_digits(p + negative, &whole);
    if (!q || whole > INT64_MAX / 1000 - 1) return NULL;
    uint64_t fraction = 0;
    unsigned decimals = 0;
    if (*q == '.') {
        q++;
        for (unsigned d; decimals < 3 && (d = (unsigned char)*q - (unsigned)'0') < 10; q++, decimals++)
            fraction = fraction * 10 + d;
        if (!decimals) return NULL;
    }
    if (!ends_number(*q)) return NULL;
    int64_t v = (int64_t)(whole * 1000 + fraction * scale[decimals]);
    *ns = negative ? -v : v;
    return q;
}

/* ---- slow paths for unusual values ---- */

static const char *value(struct gp_chrome_parser *c, const char *p, struct gp_json_value *v)
{
    return gp_json_value(p, c->end, v, &c->fail);
}

static const char *read_time(struct gp_chrome_parser *c, const char *p, int64_t *ns, bool *has, bool *bad)
{
    const char *q = read_us(p, ns);
    *bad = false;
    *has = true;
    if (q) return q;
    struct gp_json_value v;
    if (!(q = value(c, p, &v))) return NULL;
    *has = (gp_json_is_string(&v) || v.kind == GP_JSON_NUMBER) && gp_ns_from_us(v.p, v.n, ns);
    *bad = !*has;
    return q;
}

/* A pid or tid: *NUMBER, or V if it is text. */
static const char *read_row(struct gp_chrome_parser *c, const char *p, int64_t *number,
                            struct gp_json_value *v, bool *bad)
{
    const char *q = read_i64(p, number);
    v->kind = GP_JSON_ABSENT;
    if (q) return q;
    if (!(q = value(c, p, v))) return NULL;
    int64_t ns;
    if ((gp_json_is_string(v) || v->kind == GP_JSON_NUMBER) && gp_i64_from_text(v->p, v->n, number)) {
        v->kind = GP_JSON_ABSENT;
    } else if (v->kind == GP_JSON_NUMBER && gp_ns_from_us(v->p, v->n, &ns) && ns % 1000 == 0) {
        *number = ns / 1000; /* 7.0 and 7e0 are 7 */
        v->kind = GP_JSON_ABSENT;
    } else if (!gp_json_is_string(v)) {
        *bad = true;
        *number = 0;
        v->kind = GP_JSON_ABSENT;
    }
    return q;
}

/* ---- args ---- */

static bool is_event_record(const struct gp_chrome_fields *f)
{
    static const char category[] = "cuda_event";
    return f->table == GP_SYNC && f->category->n == sizeof category - 1 &&
           !memcmp(f->category->text, category, sizeof category - 1);
}

static uint64_t *id_field(struct gp_chrome_fields *f, enum gp_key key)
{
    switch (key) {
    case GP_KEY_CORR: return &f->corr;
    case GP_KEY_EXT:
    case GP_KEY_EXT_OLD: return &f->ext;
    case GP_KEY_SEQ: return &f->seq;
    case GP_KEY_RECFN: return &f->recfn;
    case GP_KEY_PYID: return &f->py_id;
    case GP_KEY_PYPARENT: return &f->py_parent;
    case GP_KEY_PYMODULE: return &f->py_module;
    case GP_KEY_GRAPH: return &f->graph;
    case GP_KEY_NODE: return &f->node;
    case GP_KEY_EVENT: return is_event_record(f) ? &f->event : NULL;
    case GP_KEY_WAIT_EVENT: return f->table == GP_SYNC && !is_event_record(f) ? &f->event : NULL;
    case GP_KEY_WAIT_RECORD: return f->table == GP_SYNC ? &f->source : NULL;
    default: return NULL;
    }
}

static bool on_gpu(const struct gp_chrome_fields *f)
{
    return f->table == GP_GPU || f->table == GP_GPU_RANGE || f->table == GP_SYNC;
}

static const char *read_config_arg(struct gp_chrome_fields *f, enum gp_key key, const char *p)
{
    const char *q = NULL;
    uint32_t has = 0;
    switch (key) {
    case GP_KEY_GRID: has = GP_HAS_GRID, q = read_triple(p, f->grid); break;
    case GP_KEY_BLOCK: has = GP_HAS_BLOCK, q = read_triple(p, f->block); break;
    case GP_KEY_CLUSTER: has = GP_HAS_CLUSTER, q = read_triple(p, f->cluster); break;
    case GP_KEY_REGISTERS: has = GP_HAS_REGS, q = read_u32(p, &f->registers); break;
    case GP_KEY_SHARED: has = GP_HAS_SHARED, q = read_u32(p, &f->shared_bytes); break;
    case GP_KEY_SHARED_STATIC: q = read_u32(p, &f->shared_static); break;
    case GP_KEY_LOCAL: q = read_u32(p, &f->local); break;
    default: break;
    }
    if (q) f->has |= has;
    else f->has &= ~has;
    return q;
}

static const char *read_memory_arg(struct gp_chrome_fields *f, enum gp_key key, const char *p)
{
    switch (key) {
    case GP_KEY_MEM_BYTES: return read_i64(p, &f->bytes);
    case GP_KEY_TOTAL: return read_i64(p, &f->total);
    case GP_KEY_RESERVED: return read_i64(p, &f->reserved);
    case GP_KEY_ADDR: return read_u64(p, &f->addr);
    default: return NULL;
    }
}

/* An array of strings only. */
static const char *read_names(struct gp_chrome_parser *c, struct gp_json_value *names, const char *p)
{
    struct gp_json_value array, name = {0};
    const char *end = value(c, p, &array);
    if (!end || array.kind != GP_JSON_ARRAY) return NULL;
    p = array.p + 1;
    do {
        p = value(c, p, &name);
        if (!p || !gp_json_is_string(&name)) return NULL;
        p = gp_json_space(p);
    } while (*p++ == ',');
    if (p != end) return NULL;
    *names = array;
    return end;
}

static const char *read_label_arg(struct gp_chrome_parser *c, struct gp_chrome_fields *f, enum gp_key key,
                                  const char *p)
{
    if (key == GP_KEY_SORT_INDEX) return read_i64(p, &f->sort_index);
    if (key == GP_KEY_NAME || key == GP_KEY_LABELS) return value(c, p, &f->text_arg);
    return NULL;
}

/* A known arg with a value that fits its column; NULL: keep it as written. */
static const char *read_known_arg(struct gp_chrome_parser *c, struct gp_chrome_fields *f, enum gp_key key,
                                  const char *p)
{
    uint64_t *id = id_field(f, key);
    if (id) {
        const char *q = read_u64(p, id);
        if (!q) *id = GP_NO_ID;
        if (id == &f->ext) f->old_ext = q && key == GP_KEY_EXT_OLD;
        return q;
    }
    int64_t ret;
    const char *q;
    switch (key) {
    case GP_KEY_BYTES: return read_i64(p, &f->bytes);
    case GP_KEY_ADDR: return f->table == GP_COUNTER ? NULL : read_u64(p, &f->addr);
    case GP_KEY_DEVICE: return on_gpu(f) ? read_i64(p, &f->device) : NULL;
    case GP_KEY_CONTEXT: return on_gpu(f) ? read_i64(p, &f->context) : NULL;
    case GP_KEY_STREAM: return on_gpu(f) ? read_i64(p, &f->stream) : NULL;
    case GP_KEY_WAITER: return f->table == GP_API ? read_u64(p, &f->waiter) : NULL;
    case GP_KEY_CAPTURED: return f->table == GP_GPU ? read_names(c, &f->captured, p) : NULL;
    case GP_KEY_RETURN:
        if (f->table != GP_API || !(q = read_i64(p, &ret)) || ret != (int32_t)ret) return NULL;
        f->ret = ret;
        return q;
    default: break;
    }
    if (f->table == GP_GPU) return read_config_arg(f, key, p);
    if (f->table == GP_MEMORY) return read_memory_arg(f, key, p);
    return f->phase == 'M' ? read_label_arg(c, f, key, p) : NULL;
}

static bool is_dropped(enum gp_key key) { return key >= GP_KEY_EV_IDX && key <= GP_KEY_BANDWIDTH; }

static bool is_config_arg(const struct gp_chrome_fields *f, enum gp_key key)
{
    return f->table == GP_GPU && key >= GP_KEY_QUEUED && key <= GP_KEY_BYTES_ACCESSED;
}

static struct gp_chrome_arg *find_arg(struct gp_chrome_arg *args, size_t n, const struct gp_member *m)
{
    enum { LOOKED_AT = 64 }; /* so that an event with very many args stays linear */
    for (size_t i = 0; i < n && i < LOOKED_AT; i++)
        if (args[i].key_n == m->n && !memcmp(args[i].key, m->p, m->n)) return &args[i];
    return NULL;
}

/* Keep the arg for the `extra` text of the event or of its configuration. The last arg with a key wins. */
static void keep_arg(struct gp_chrome_parser *c, struct gp_chrome_fields *f, const struct gp_member *m,
                     const struct gp_json_value *v)
{
    struct gp_chrome_arg arg = {m->p, m->n, *v};
    struct gp_chrome_arg *old;
    if (is_config_arg(f, m->key)) {
        if ((old = find_arg(c->config_args.at, c->config_args.n, m))) *old = arg;
        else GP_VEC_PUSH(&c->config_args, arg);
    } else {
        old = find_arg(c->args.at, c->args.n, m);
        f->duplicate |= old != NULL;
        if (old) *old = arg;
        else GP_VEC_PUSH(&c->args, arg);
    }
}

/* The key occurred before: its earlier value no longer counts. */
static void forget_arg(struct gp_chrome_parser *c, const struct gp_member *m)
{
    struct gp_chrome_arg *old = find_arg(c->args.at, c->args.n, m);
    if (!old) return;
    memmove(old, old + 1, (size_t)(c->args.at + c->args.n - (old + 1)) * sizeof *old);
    c->args.n--;
}

/* An event that ends another one need not repeat its category and name. The class of a kernel of XLA needs
 * the category of its operation. */
static bool needs_arg(const struct gp_chrome_parser *c, const struct gp_chrome_fields *f, enum gp_key key)
{
    if (f->table == GP_COUNTER || (is_config_arg(f, key) && key >= GP_KEY_HLO_CATEGORY)) return true;
    return gp_needs_extra(c->need, f->table) || (c->need & GP_NEED_EXTRA_WORK && f->phase == 'E');
}

static const char *read_arg(struct gp_chrome_parser *c, struct gp_chrome_fields *f, const struct gp_member *m,
                            const char *p)
{
    struct gp_json_value v;
    const char *q;
    if (m->key != GP_KEY_OTHER) {
        if (GP_UNLIKELY(f->seen & BIT(m->key))) {
            f->duplicate = true;
            forget_arg(c, m);
        }
        f->seen |= BIT(m->key);
        if (is_dropped(m->key)) return value(c, p, &v);
        c->fail = p;
        if (f->table != GP_COUNTER && (q = read_known_arg(c, f, m->key, p))) return q;
    }
    if (!(q = value(c, p, &v))) return NULL;
    if (needs_arg(c, f, m->key)) keep_arg(c, f, m, &v);
    return q;
}

/* P: after the opening brace. */
static const char *read_args(struct gp_chrome_parser *c, struct gp_chrome_fields *f, unsigned kind,
                             const char *p)
{
    uint16_t at = GP_KEYS_ARGS;
    struct gp_member m;
    for (;;) {
        if (!(p = gp_keys_next(&c->keys, p, c->end, &at, kind, &m, &c->fail))) return NULL;
        if (m.key == GP_KEY_END) return p;
        if (!(p = read_arg(c, f, &m, p))) return NULL;
    }
}

/* ---- fields ---- */

/* Is the table known before the event ends? */
static bool knows_table(const struct gp_chrome_fields *f)
{
    switch (f->phase) {
    case 'M':
    case 'C':
    case 's':
    case 't':
    case 'f': return true;
    case 0: return false;
    case 'X':
    case 'B': return f->cat.kind != GP_JSON_ABSENT;
    default: return f->name.kind != GP_JSON_ABSENT;
    }
}

static void classify(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    static const char memory[] = "[memory]";
    if (f->classified) return;
    f->classified = true;
    f->category = gp_json_is_string(&f->cat) ? gp_chrome_category_of(c, &f->cat, f) : NULL;
    f->bad_value |= f->cat.kind != GP_JSON_ABSENT && !gp_json_is_string(&f->cat);
    f->table = GP_OTHER;
    if (f->phase == 'X' || f->phase == 'B' || f->phase == 'E') {
        if (f->category) f->table = f->category->table;
    } else if (f->phase == 'C') {
        f->table = GP_COUNTER;
    } else if (f->phase == 's' || f->phase == 't' || f->phase == 'f') {
        f->table = GP_FLOW;
    } else if (f->phase == 'i' || f->phase == 'I' || f->phase == 'R') {
        bool allocation = f->name.n == sizeof memory - 1 && !memcmp(f->name.p, memory, f->name.n);
        f->table = allocation ? GP_MEMORY : GP_MARK;
    }
    f->needed = c->need >> f->table & 1 || f->phase == 'M' || f->phase == 'B' || f->phase == 'E';
}

/* id2 is {"local": ...} or {"global": ...}. */
static void unwrap_id(struct gp_chrome_parser *c, struct gp_json_value *id)
{
    if (id->kind != GP_JSON_OBJECT) return;
    const char *p = id->p + 1;
    struct gp_json_value key, v;
    id->kind = GP_JSON_ABSENT;
    if (gp_json_next(&p, c->end, &key, &v)) *id = v;
}

struct reading {
    struct gp_chrome_fields f;
    uint64_t seen;
    const char *args; /* read at the end, when the table is known */
    unsigned kind;    /* guess for gp_keys_next */
};

static const char *read_phase(struct gp_chrome_parser *c, struct reading *r, const char *p)
{
    struct gp_json_value v;
    if (p[0] == '"' && (unsigned char)p[1] > ' ' && p[1] != '"' && p[1] != '\\' && p[2] == '"') {
        r->f.phase = p[1];
        p += 3;
    } else if ((p = value(c, p, &v))) {
        r->f.phase = v.kind == GP_JSON_STRING && v.n == 1 ? v.p[0] : '?';
    }
    r->kind = r->f.phase == 'X' ? 1 : 2;
    return p;
}

static const char *read_category(struct gp_chrome_parser *c, struct reading *r, const char *p)
{
    if (!(p = value(c, p, &r->f.cat))) return NULL;
    if (r->f.phase == 'X' && r->f.cat.kind == GP_JSON_STRING) {
        const struct gp_chrome_category *k = gp_chrome_category_of(c, &r->f.cat, &r->f);
        r->kind = k ? 3 + (unsigned)k->table : 3;
    }
    return p;
}

static const char *read_event_args(struct gp_chrome_parser *c, struct reading *r, const char *p)
{
    struct gp_json_value v;
    p = gp_json_space(p);
    if (*p != '{') {
        const char *q = value(c, p, &v);
        if (q) r->f.bad_value |= !(v.kind == GP_JSON_WORD && *v.p == 'n');
        return q;
    }
    if (r->seen & BIT(GP_KEY_ARGS)) { /* the last one wins */
        r->args = p;
        return gp_json_container_end(p, c->end, &c->fail);
    }
    bool now = knows_table(&r->f);
    if (now) classify(c, &r->f);
    if (now && r->f.needed) return read_args(c, &r->f, r->kind, p + 1);
    if (!now) r->args = p;
    return gp_json_container_end(p, c->end, &c->fail);
}

static const char *read_field(struct gp_chrome_parser *c, struct reading *r, enum gp_key key, const char *p)
{
    struct gp_chrome_fields *f = &r->f;
    struct gp_json_value v;
    switch (key) {
    case GP_KEY_PH: return read_phase(c, r, p);
    case GP_KEY_CAT: return read_category(c, r, p);
    case GP_KEY_NAME: return value(c, p, &f->name);
    case GP_KEY_PID: return read_row(c, p, &f->pid_number, &f->pid, &f->bad_value);
    case GP_KEY_TID: return read_row(c, p, &f->tid_number, &f->tid, &f->bad_value);
    case GP_KEY_TS: return read_time(c, p, &f->ts_ns, &f->has_ts, &f->bad_ts);
    case GP_KEY_DUR: return read_time(c, p, &f->dur_ns, &f->has_dur, &f->bad_dur);
    case GP_KEY_ARGS: return read_event_args(c, r, p);
    case GP_KEY_ID:
    case GP_KEY_ID2:
        if (!(p = value(c, p, &f->id))) return NULL;
        unwrap_id(c, &f->id);
        return p;
    case GP_KEY_FRAME: return value(c, p, &f->frame);
    case GP_KEY_SCOPE:
        p = value(c, p, &v);
        if (p && gp_json_is_string(&v) && v.n == 1) f->scope = v.p[0];
        return p;
    default: return value(c, p, &v);
    }
}

const char *gp_chrome_event(struct gp_chrome_parser *c, const char *p, int64_t offset)
{
    struct reading r;
    memset(&r, 0, offsetof(struct reading, f.corr));
    memset((char *)&r + offsetof(struct reading, f.corr), 0xff,
           offsetof(struct reading, f.has) - offsetof(struct reading, f.corr));
    memset((char *)&r + offsetof(struct reading, f.has), 0, sizeof r - offsetof(struct reading, f.has));
    r.f.offset = offset;
    r.f.device = r.f.context = r.f.stream = -1;
    c->args.n = c->config_args.n = 0;
    uint16_t at = GP_KEYS_EVENT;
    struct gp_member m;
    for (p++;;) {
        if (!(p = gp_keys_next(&c->keys, p, c->end, &at, r.kind, &m, &c->fail))) return NULL;
        if (m.key == GP_KEY_END) break;
        if (!(p = read_field(c, &r, m.key, p))) return NULL;
        if (m.key == GP_KEY_OTHER) continue;
        if (GP_UNLIKELY(r.seen & BIT(m.key))) r.f.duplicate = true;
        r.seen |= BIT(m.key);
    }
    classify(c, &r.f);
    if (r.args && r.f.needed) {
        uint64_t seen = r.f.seen;
        r.f.seen = 0;
        c->args.n = c->config_args.n = 0;
        if (!read_args(c, &r.f, r.kind, r.args + 1)) return NULL;
        r.f.seen |= seen;
    }
    if (gp_chrome_add(c, &r.f)) return p;
    c->fail = p - 1;
    return NULL;
}
