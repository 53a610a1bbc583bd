#include "analyze/hta/nccl.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/args.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/num.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/model/trace.h"

static const char DOMAIN[] = "NCCL:nccl"; /* how the names of NCCL's ranges begin */

/* ---- kinds of ranges ---- */

enum kind { NOT_NCCL, OPERATION, GROUP_BEGIN, GROUP_END, OTHER_CALL, SPLIT };

/* "AllReduce"; NULL if it is not an NCCL call. */
static const char *call_named(const char *name)
{
    return strncmp(name, DOMAIN, sizeof DOMAIN - 1) ? NULL : name + sizeof DOMAIN - 1;
}

static enum kind kind_of_name(const char *name)
{
    const char *call = call_named(name);
    if (!call) return NOT_NCCL;
    if (!strcmp(call, "GroupStart")) return GROUP_BEGIN;
    if (!strcmp(call, "GroupEnd")) return GROUP_END;
    if (!strcmp(call, "CommSplit")) return SPLIT;
    return strcmp(gp_collective_op(call, strlen(call)), "other") ? OPERATION : OTHER_CALL;
}

/* An operation that was asked for. */
struct call {
    const char *op; /* static */
    gp_sid comm;
    bool sends, receives;
    int32_t peer;
    int64_t bytes; /* as NCCL has it: the message of one rank */
};

/* Calls that are launched together. */
struct batch {
    uint32_t first, n; /* slice of calls */
};

/* A kernel that a batch launched. */
struct launched {
    uint32_t batch, row, device;
};

struct finding {
    struct gp_nccl *out;
    const struct gp_view *v;
    struct gp_strings *strings;
    struct gp_map kinds;      /* name of a range -> enum kind */
    struct gp_map ranks_of;   /* communicator -> how many ranks it has */
    struct gp_map rank_in;    /* producer and communicator -> own rank, MANY: several in the process */
    struct gp_map ranks_here; /* producer -> ranks of all its communicators, MANY: they differ */
    struct gp_map batch_of;   /* node of the host stack -> batch */
    GP_VEC(struct call) calls;
    GP_VEC(struct batch) batches;
    GP_VEC(struct launched) launched;
};

static const uint32_t MANY = UINT32_MAX;

static enum kind kind_of(struct finding *f, gp_sid name)
{
    uint32_t *kind = gp_map_put(&f->kinds, name, UINT32_MAX);
    if (*kind == UINT32_MAX) *kind = kind_of_name(gp_trace_str(f->v->t, name));
    return (enum kind) * kind;
}

static const char *args_of(const struct finding *f, uint32_t row)
{
    return gp_trace_str(f->v->t, gp_get_extra(&f->v->t->events[GP_RANGE], row));
}

/* ---- communicators ---- */

static uint64_t local_key(uint32_t producer, gp_sid comm) { return (uint64_t)producer << 32 | comm; }

static void note_fact(struct gp_map *m, uint64_t key, uint64_t value)
{
    uint32_t *known = gp_map_put(m, key, (uint32_t)value);
    if (*known != value) *known = MANY;
}

static bool is_comm(const struct gp_arg *a) { return gp_arg_is(a, "NCCL communicator ID"); }

/* Any call may describe a communicator. The size given by ncclCommSplit() is that of the parent. */
static void learn(struct finding *f, const struct gp_host_event *e, enum kind kind)
{
    uint32_t producer = gp_track_producer(f->v->t, f->v->t->events[GP_RANGE].track[e->row]);
    uint64_t v, ranks = 0, rank = MANY;
    gp_sid comm = 0;
    struct gp_arg a;
    for (const char *at = args_of(f, e->row); gp_args_next(&at, &a);) {
        if (is_comm(&a)) comm = gp_intern(f->strings, a.value, a.n);
        else if (gp_arg_is(&a, "No. of ranks")) ranks = gp_arg_u64(&a, &v) && v < MANY ? v : 0;
        else if (gp_arg_is(&a, "Rank")) rank = gp_arg_u64(&a, &v) && v < INT32_MAX ? v : MANY;
    }
    if (kind == SPLIT || !ranks) return;
    note_fact(&f->ranks_here, producer, ranks);
    if (!comm) return;
    note_fact(&f->ranks_of, comm, ranks);
    if (rank != MANY) note_fact(&f->rank_in, local_key(producer, comm), rank);
}

/* What the collector kept of ranges that it did not record. */
static void learn_from_meta(struct finding *f)
{
    const struct gp_trace *t = f->v->t;
    for (size_t i = 0; i < t->meta.n; i++) {
        const char *key = gp_trace_str(t, t->meta.at[i].key), *value = gp_trace_str(t, t->meta.at[i].value);
        uint64_t ranks;
        if (!gp_starts(key, GP_META_NCCL_RANKS)) continue;
        if (!gp_u64_from_text(value, strlen(value), &ranks) || !ranks || ranks >= MANY) continue;
        note_fact(&f->ranks_of, gp_intern_cstr(f->strings, key + strlen(GP_META_NCCL_RANKS)), ranks);
    }
}

static uint32_t fact(const struct gp_map *m, uint64_t key)
{
    const uint32_t *v = gp_map_get(m, key);
    return v ? *v : MANY;
}

/* ---- calls and batches ---- */

static struct call read_call(struct finding *f, const struct gp_host_event *e)
{
    const char *name = call_named(gp_trace_str(f->v->t, f->v->t->events[GP_RANGE].name[e->row]));
    struct call c = {.op = gp_collective_op(name, strlen(name)), .peer = -1, .bytes = -1};
    c.sends = !strcmp(name, "Send");
    c.receives = !strcmp(name, "Recv");
    struct gp_arg a;
    uint64_t v;
    for (const char *at = args_of(f, e->row); gp_args_next(&at, &a);) {
        if (is_comm(&a)) c.comm = gp_intern(f->strings, a.value, a.n);
        else if (gp_arg_is(&a, "Message size [bytes]") || gp_arg_is(&a, "Bytes"))
            c.bytes = gp_arg_u64(&a, &v) && v <= INT64_MAX ? (int64_t)v : -1;
        else if (gp_arg_is(&a, "Peer rank")) c.peer = gp_arg_u64(&a, &v) && v <= INT32_MAX ? (int32_t)v : -1;
    }
    return c;
}

static uint32_t new_batch(struct finding *f)
{
    GP_VEC_PUSH(&f->batches, (struct batch){(uint32_t)f->calls.n, 0});
    return (uint32_t)f->batches.n - 1;
}

/* The batch of the innermost event around NODE, itself included, that has one; MANY: none. */
static uint32_t batch_around(const struct finding *f, uint32_t node)
{
    const uint32_t *batch = NULL;
    for (; node != GP_HOST_NONE && !batch; node = f->v->hs.nodes[node].parent)
        batch = gp_map_get(&f->batch_of, node);
    return batch ? *batch : MANY;
}

/* The calls of one thread, in order of time. The end of a group launches its calls; all others launch
 * themselves. NCCL also puts its own groups around calls. */
static void read_thread(struct finding *f, uint32_t begin, uint32_t end)
{
    uint32_t depth = 0, batch = MANY;
    for (uint32_t i = begin; i < end; i++) {
        const struct gp_host_event *e = &f->v->hs.nodes[i];
        enum kind kind = e->table == GP_RANGE ? kind_of(f, f->v->t->events[GP_RANGE].name[e->row]) : NOT_NCCL;
        if (kind == NOT_NCCL) continue;
        learn(f, e, kind);
        if (kind == GROUP_BEGIN && !depth++) {
            batch = batch_around(f, e->parent);
            if (batch == MANY || batch + 1 != f->batches.n) batch = new_batch(f);
        }
        if (kind == OPERATION) {
            if (!depth) batch = new_batch(f);
            GP_VEC_PUSH(&f->calls, read_call(f, e));
            f->batches.at[batch].n++;
        }
        if (kind == GROUP_END) {
            if (!depth) batch = new_batch(f); /* it began before the trace did */
            else depth--;
        }
        if (kind == OPERATION || kind == GROUP_END) *gp_map_put(&f->batch_of, i, batch) = batch;
    }
}

static void find_launches(struct finding *f)
{
    const struct gp_view *v = f->v;
    for (size_t i = 0; i < v->devices.n; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        for (size_t k = d->first; k < d->first + d->n; k++) {
            uint32_t row = v->rows[k], batch;
            if (gp_view_class(v, row) != GP_CLASS_COMMUNICATION || v->at.how[row] != GP_BY_CORRELATION)
                continue;
            batch = batch_around(f, v->at.node[row]);
            if (batch != MANY) GP_VEC_PUSH(&f->launched, (struct launched){batch, row, (uint32_t)i});
        }
    }
}

/* ---- from calls to kernels ---- */

static bool is_p2p(const struct call *c) { return c->sends || c->receives; }

static bool are_equal(const struct call *c, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (c[i].op != c->op || c[i].comm != c->comm || c[i].bytes != c->bytes || c[i].sends != c->sends)
            return false;
    return true;
}

/* Do the sends, or the receives, of C go to each of RANKS ranks once? */
static bool reach_all(const struct call *c, size_t n, bool sends, uint32_t ranks)
{
    size_t k = 0;
    int32_t *peers = gp_alloc((n + 1) * sizeof *peers);
    for (size_t i = 0; i < n; i++)
        if (sends ? c[i].sends : c[i].receives) peers[k++] = c[i].peer;
    qsort(peers, k, sizeof *peers, gp_order_i32);
    bool all = k == ranks;
    for (size_t i = 0; i < k && all; i++) all = peers[i] == (int32_t)i;
    free(peers);
    return all;
}

/* Bytes of all calls, with RANKS ranks in the communicator: bytes sent and received at the same time count
 * once. */
static int64_t sum_bytes(const struct call *c, size_t n, uint32_t ranks)
{
    int64_t sum[3] = {0}; /* sent, received, everything else */
    for (size_t i = 0; i < n; i++) {
        bool of_each = !is_p2p(&c[i]) && strcmp(c[i].op, "all_reduce") && strcmp(c[i].op, "broadcast") &&
                       strcmp(c[i].op, "reduce");
        int64_t *to = &sum[c[i].sends ? 0 : c[i].receives ? 1 : 2], times = of_each ? ranks : 1;
        if (c[i].bytes < 0 || !times || c[i].bytes > (INT64_MAX / 4 - *to) / times) return -1;
        *to += c[i].bytes * times;
    }
    return (sum[0] > sum[1] ? sum[0] : sum[1]) + sum[2];
}

/* The kinds of the calls, each once, in order of the alphabet. */
static gp_sid name_ops(struct gp_strings *strings, const struct call *c, size_t n)
{
    struct gp_buf b = {0};
    const char **ops = gp_alloc((n + 1) * sizeof *ops);
    for (size_t i = 0; i < n; i++) ops[i] = c[i].op;
    qsort(ops, n, sizeof *ops, gp_order_text);
    for (size_t i = 0; i < n; i++) {
        if (i && !strcmp(ops[i], ops[i - 1])) continue;
        if (b.n) gp_buf_putc(&b, '+');
        gp_buf_puts(&b, ops[i]);
    }
    free(ops);
    return gp_intern_buf(strings, &b);
}

/* What a kernel did that served N calls. */
static struct gp_nccl_work work_for(struct finding *f, const struct call *c, size_t n, uint32_t producer)
{
    struct gp_nccl_work w = {.bytes = -1, .rank = -1, .peer = -1, .calls = (uint32_t)n};
    if (!n) return w;
    bool p2p = true, one_peer = true;
    w.comm = c->comm;
    for (size_t i = 0; i < n; i++) {
        if (c[i].comm != w.comm) w.comm = 0;
        p2p = p2p && is_p2p(&c[i]);
        one_peer = one_peer && c[i].peer == c->peer;
    }
    uint32_t ranks = w.comm ? fact(&f->ranks_of, w.comm) : c->comm ? MANY : fact(&f->ranks_here, producer);
    w.ranks = ranks == MANY ? 0 : ranks;
    w.bytes = sum_bytes(c, n, w.ranks);
    bool all_to_all = p2p && w.ranks && reach_all(c, n, true, w.ranks) && reach_all(c, n, false, w.ranks);
    w.op = all_to_all ? gp_intern_cstr(f->strings, "all_to_all") : name_ops(f->strings, c, n);
    uint32_t rank = w.comm ? fact(&f->rank_in, local_key(producer, w.comm)) : MANY;
    if (p2p && one_peer && c->peer >= 0 && rank != MANY) {
        w.rank = (int32_t)rank;
        w.peer = c->peer;
    }
    return w;
}

/* What is known of a kernel that served some of these calls, when it is unknown which. */
static struct gp_nccl_work some_work(struct finding *f, const struct call *c, size_t n, uint32_t producer)
{
    struct gp_nccl_work w = work_for(f, c, n, producer);
    for (size_t i = 1; i < n; i++)
        if (c[i].op != c->op) w.op = 0;
    if (!n) w.op = 0;
    w.calls = 0;
    w.bytes = -1;
    w.rank = w.peer = -1;
    return w;
}

/* Does a kernel of that operation serve the call? Operations without their own kernels use sends and
 * receives. */
static bool serves(const char *kernel_op, const struct call *c)
{
    if (!strcmp(kernel_op, "send_recv"))
        return is_p2p(c) || !strcmp(c->op, "all_to_all") || !strcmp(c->op, "gather") ||
               !strcmp(c->op, "scatter");
    return !strcmp(kernel_op, c->op);
}

static const char *kernel_op(const struct finding *f, uint32_t row)
{
    const char *name = gp_trace_str(f->v->t, gp_gpu_config(f->v->t, row)->name);
    return gp_collective_op(name, strlen(name));
}

static void give(struct finding *f, uint32_t row, struct gp_nccl_work w)
{
    *gp_map_put(&f->out->work_of, row, 0) = (uint32_t)f->out->works.n;
    GP_VEC_PUSH(&f->out->works, w);
}

/* Does each of N kernels serve a kind of call that no other does? Sorts CALLS in the order of the kernels and
 * counts those of each. */
static bool part_by_kind(struct finding *f, const struct launched *k, size_t n, const struct call *c,
                         size_t n_calls, struct call *parted, size_t *counts)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        counts[i] = 0;
        for (size_t j = 0; j < n_calls; j++)
            if (serves(kernel_op(f, k[i].row), &c[j])) {
                if (all == n_calls) return false; /* one that fits two kernels */
                parted[all++] = c[j];
                counts[i]++;
            }
        if (!counts[i]) return false;
        for (size_t j = 0; j < i; j++)
            if (!strcmp(kernel_op(f, k[i].row), kernel_op(f, k[j].row))) return false;
    }
    return all == n_calls;
}

/* The N kernels of one device that were launched for N_CALLS calls. */
static void share(struct finding *f, const struct launched *k, size_t n, const struct call *c, size_t n_calls)
{
    uint32_t producer = f->v->devices.at[k->device].producer;
    bool single = n == 1, one_each = n == n_calls && are_equal(c, n_calls);
    struct call *parted = gp_alloc((n_calls + 1) * sizeof *parted);
    size_t *counts = gp_alloc((n + 1) * sizeof *counts), at = 0;
    bool by_kind =
        !single && !one_each && n <= n_calls && n <= 8 && part_by_kind(f, k, n, c, n_calls, parted, counts);
    for (size_t i = 0; i < n; i++) {
        struct gp_nccl_work w;
        if (single) {
            w = work_for(f, c, n_calls, producer);
        } else if (one_each) {
            w = work_for(f, c, 1, producer);
        } else if (by_kind) {
            w = work_for(f, parted + at, counts[i], producer);
            at += counts[i];
        } else {
            w = some_work(f, c, n_calls, producer);
        }
        give(f, k[i].row, w);
    }
    free(parted);
    free(counts);
}

GP_COMPARE(compare_launched, struct launched, GP_UP(batch) GP_UP(device) GP_UP(row))

/* The kernels K of one batch. On several devices, each served its part of the calls if all calls are the
 * same. */
static void share_batch(struct finding *f, const struct launched *k, size_t n)
{
    const struct batch *b = &f->batches.at[k->batch];
    const struct call *c = b->n ? &f->calls.at[b->first] : NULL;
    size_t devices = 1;
    for (size_t i = 1; i < n; i++) devices += k[i].device != k[i - 1].device;
    bool even = devices == 1 || (b->n % devices == 0 && are_equal(c, b->n));
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && k[end].device == k[i].device;) end++;
        if (even) share(f, k + i, end - i, c, b->n / devices);
        else
            for (size_t j = i; j < end; j++)
                give(f, k[j].row, some_work(f, c, b->n, f->v->devices.at[k->device].producer));
    }
}

static bool has_ranges(const struct gp_trace *t)
{
    for (gp_sid sid = 0; sid < t->strings.n; sid++)
        if (kind_of_name(gp_string(&t->strings, sid)) != NOT_NCCL) return true;
    return false;
}

void gp_nccl_find(struct gp_nccl *n, const struct gp_view *v, struct gp_strings *strings)
{
    struct finding f = {.out = n, .v = v, .strings = strings};
    memset(n, 0, sizeof *n);
    if (!has_ranges(v->t)) return;
    learn_from_meta(&f);
    for (uint32_t track = 0; track < v->t->tracks.n; track++)
        read_thread(&f, v->hs.first[track], v->hs.end[track]);
    find_launches(&f);
    if (f.launched.n) qsort(f.launched.at, f.launched.n, sizeof *f.launched.at, compare_launched);
    for (size_t i = 0, end; i < f.launched.n; i = end) {
        for (end = i + 1; end < f.launched.n && f.launched.at[end].batch == f.launched.at[i].batch;) end++;
        share_batch(&f, &f.launched.at[i], end - i);
    }
    GP_RELEASE(gp_map_release, &f.kinds, &f.ranks_of, &f.rank_in, &f.ranks_here, &f.batch_of);
    GP_RELEASE(gp_vec_free, &f.calls, &f.batches, &f.launched);
}

const struct gp_nccl_work *gp_nccl_work_of(const struct gp_nccl *n, uint32_t row)
{
    const uint32_t *at = gp_map_get(&n->work_of, row);
    return at ? &n->works.at[*at] : NULL;
}

void gp_nccl_release(struct gp_nccl *n)
{
    gp_map_release(&n->work_of);
    GP_VEC_FREE(&n->works);
}

/* ---- operations ---- */

/* How bus bandwidth follows from algorithm bandwidth for n ranks. */
enum bus { BUS_ONE, BUS_SHARE /* (n-1)/n */, BUS_TWICE /* 2(n-1)/n */ };

/* What a name contains, without case and underscores; the first that fits counts. */
static const struct operation {
    const char *part, *op;
    enum bus bus;
    bool symmetric;
} operations[] = {
    {"allreduce", "all_reduce", BUS_TWICE, true},
    {"crossdevicereduce", "all_reduce", BUS_TWICE, true},
    {"reducescatter", "reduce_scatter", BUS_SHARE, true},
    {"allgather", "all_gather", BUS_SHARE, true},
    {"alltoall", "all_to_all", BUS_SHARE, true},
    {"broadcast", "broadcast", BUS_ONE, false},
    {"bcast", "broadcast", BUS_ONE, false},
    {"sendrecv", "send_recv", BUS_ONE, false},
    {"barrier", "barrier", BUS_ONE, true},
    {"dispatch", "dispatch", BUS_ONE, false},
    {"combine", "combine", BUS_ONE, false},
    {"gather", "gather", BUS_ONE, false},
    {"scatter", "scatter", BUS_ONE, false},
    {"reduce", "reduce", BUS_ONE, false},
    {"send", "send_recv", BUS_ONE, false},
    {"recv", "send_recv", BUS_ONE, false},
};

static const struct operation *operation_named(const char *op)
{
    for (size_t i = 0; i < GP_COUNT(operations); i++)
        if (!strcmp(operations[i].op, op)) return &operations[i];
    return NULL;
}

const char *gp_collective_op(const char *name, size_t n)
{
    char plain[256];
    size_t k = 0;
    for (size_t i = 0; i < n && k < sizeof plain - 1; i++) {
        char c = name[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c != '_') plain[k++] = c;
    }
    plain[k] = 0;
    for (size_t i = 0; i < GP_COUNT(operations); i++)
        if (strstr(plain, operations[i].part)) return operations[i].op;
    return "other";
}

double gp_collective_bus_factor(const char *op, uint32_t n)
{
    const struct operation *o = operation_named(op);
    if (strchr(op, '+')) return 0; /* several kinds: no such figure exists */
    if (!o || o->bus == BUS_ONE) return 1;
    if (!n) return 0;
    double share = (double)(n - 1) / n;
    return o->bus == BUS_TWICE ? 2 * share : share;
}

bool gp_collective_is_symmetric(const char *op)
{
    const struct operation *o = operation_named(op);
    return o && o->symmetric;
}

double gp_collective_bandwidth(int64_t bytes, int64_t ns)
{
    return bytes > 0 && ns > 0 ? (double)bytes / (double)ns : 0;
}

/* ---- types ---- */

/* PyTorch's and NCCL's names in lower case. */
static const struct {
    uint32_t size;
    const char *names;
} dtypes[] = {
    {1, " f8e4m3 f8e5m2 u8 i8 int8 uint8 byte char bool float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
        "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 qint8 quint8 "},
    {2, " f16 bf16 half bfloat16 int16 uint16 short float16 "},
    {4, " f32 u32 i32 float int32 uint32 int complexhalf qint32 float32 "},
    {8, " f64 u64 i64 double int64 uint64 long complexfloat float64 "},
    {16, " complexdouble "},
};

uint32_t gp_dtype_bytes(const char *name, size_t n)
{
    char lower[32];
    if (n >= sizeof lower) return 0;
    for (size_t i = 0; i < n; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    for (size_t i = 0; i < GP_COUNT(dtypes); i++)
        if (gp_is_one_of(lower, n, dtypes[i].names)) return dtypes[i].size;
    return 0;
}
