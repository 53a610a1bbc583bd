/* chrome_keys.h -- the keys of Chrome trace events, and a cache of the text between values.
 *
 * Writers of traces repeat themselves: in every event, `"pid": 7` is followed by `, "tid": ` with the same
 * spaces. A gp_keys caches such literals as nodes, and for each node which ones came next, by kind of event.
 * Reading a key is then mostly one comparison. A new literal is read the slow way and cached; the cache
 * changes the speed, never the result.
 *
 *     struct gp_member m;
 *     uint16_t at = GP_KEYS_EVENT;                          // the beginning of an event
 *     while ((p = gp_keys_next(keys, p, &at, kind, &m)) && m.key != GP_KEY_END) p = read_value(p, m.key);
 */
#ifndef GP_FORMATS_CHROME_KEYS_H
#define GP_FORMATS_CHROME_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include "formats/base/json_scan.h"

/* Known keys. X(enum, text) */
/* clang-format off */
#define GP_KEYS(X)                                                                                           \
    X(PH, "ph") X(CAT, "cat") X(NAME, "name") X(PID, "pid") X(TID, "tid") X(TS, "ts") X(DUR, "dur")          \
    X(ID, "id") X(ID2, "id2") X(SCOPE, "s") X(FRAME, "sf") X(ARGS, "args")                                   \
    /* args */                                                                                               \
    X(CORR, "correlation") X(EXT, "External id") X(EXT_OLD, "external id") X(SEQ, "Sequence number")         \
    X(RECFN, "Record function id") X(PYID, "Python id") X(PYPARENT, "Python parent id")                      \
    X(PYMODULE, "Python module id") X(BYTES, "bytes") X(GRAPH, "graph id") X(NODE, "graph node id")          \
    X(CAPTURED, "capture ranges") X(DEVICE, "device") X(CONTEXT, "context") X(STREAM, "stream")              \
    X(GRID, "grid") X(BLOCK, "block") X(CLUSTER, "cluster") X(REGISTERS, "registers per thread")             \
    X(SHARED, "shared memory") X(ADDR, "Addr") X(SHARED_STATIC, "static shared memory")                      \
    X(LOCAL, "local memory per thread") X(RETURN, "return value") X(MEM_BYTES, "Bytes")                      \
    X(TOTAL, "Total Allocated") X(RESERVED, "Total Reserved") X(LABELS, "labels")                            \
    X(SORT_INDEX, "sort_index") X(EVENT, "event_id") X(WAIT_EVENT, "wait_on_cuda_event_id")                  \
    X(WAIT_RECORD, "wait_on_cuda_event_record_corr_id") X(WAITER, "waiting thread")                          \
    /* args of a GPU event that depend only on its launch */                                                 \
    X(QUEUED, "queued") X(PRIORITY, "priority") X(BLOCKS_PER_SM, "blocks per SM")                            \
    X(WARPS_PER_SM, "warps per SM") X(OCCUPANCY, "est. achieved occupancy %") X(KIND, "kind")                \
    X(CHANNEL, "channel") X(CHANNEL_TYPE, "channel type") X(HLO_CATEGORY, "hlo_category")                    \
    X(FLOPS, "flops") X(FLOPS_TYPE, "flops_type") X(BYTES_ACCESSED, "bytes_accessed")                        \
    /* args that are dropped */                                                                              \
    X(EV_IDX, "Ev Idx") X(PROFILER_INDEX, "Profiler Event Index") X(BANDWIDTH, "memory bandwidth (GB/s)")
/* clang-format on */

enum gp_key {
    GP_KEY_END, /* the closing brace */
    GP_KEY_OTHER,
#define X(id, text) GP_KEY_##id,
    GP_KEYS(X)
#undef X
        GP_KEY_COUNT
};

enum {
    GP_KEYS_LITERAL = 64, /* longer literals are not cached */
    GP_KEYS_NODES = 512,
    GP_KEYS_KINDS = 16, /* kinds of events that are distinguished */
    GP_KEYS_WAYS = 3,   /* successors that are cached for each */
    GP_KEYS_EVENT = 0,  /* the node after an event's opening brace */
    GP_KEYS_ARGS = 1,   /* the same of its args */
    GP_KEYS_NONE = 2,   /* nothing was seen there; like all three it matches the closing brace */
    GP_KEYS_HASH = 1024,
};

struct gp_keys_node {
    char literal[GP_KEYS_LITERAL];
    uint64_t rest; /* ones where LITERAL is ignored */
    uint16_t next[GP_KEYS_KINDS][GP_KEYS_WAYS];
    uint8_t n, key;
    uint8_t key_at, key_n; /* the key inside LITERAL, without quotes */
};

struct gp_keys {
    struct gp_keys_node nodes[GP_KEYS_NODES];
    uint16_t hash[GP_KEYS_HASH]; /* literal -> node, 0 free */
    uint8_t known[256];          /* text -> enum gp_key, 0 free */
    uint16_t n;
};

/* A key in the text. */
struct gp_member {
    enum gp_key key;
    const char *p; /* without quotes */
    size_t n;
};

void gp_keys_init(struct gp_keys *k);
/* The slow way. */
const char *gp_keys_learn(struct gp_keys *k, const char *p, const char *end, uint16_t *at, unsigned kind,
                          struct gp_member *m, const char **fail);

#if defined(__SSE2__)
/* Bit i: are the bytes i of both equal? */
static inline uint32_t equal32(const char *a, const char *b)
{
    __m128i a0 = _mm_loadu_si128((const __m128i *)(const void *)a),
            a1 = _mm_loadu_si128((const __m128i *)(const void *)(a + 16));
    __m128i b0 = _mm_loadu_si128((const __m128i *)(const void *)b),
            b1 = _mm_loadu_si128((const __m128i *)(const void *)(b + 16));
    uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a0, b0));
    return low | (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a1, b1)) << 16;
}
#endif

static inline bool gp_keys_match(const struct gp_keys_node *node, const char *p)
{
#if defined(__SSE2__)
    uint32_t low = equal32(p, node->literal);
    if ((low | (uint32_t)node->rest) != UINT32_MAX) return false;
    if (GP_LIKELY(node->n <= 32)) return true;
    return (equal32(p + 32, node->literal + 32) | (uint32_t)(node->rest >> 32)) == UINT32_MAX;
#else
    for (unsigned i = 0; i < node->n; i++)
        if (p[i] != node->literal[i]) return false;
    return node->n != 0;
#endif
}

/* P: after an opening brace or a value. Reads the comma, the key and the colon, or the closing brace, and
 * returns the position after them; NULL with *FAIL at the error (at or after END: the text is too short). *AT
 * is the current node; KIND < GP_KEYS_KINDS improves the guess. */
static inline const char *gp_keys_next(struct gp_keys *k, const char *p, const char *end, uint16_t *at,
                                       unsigned kind, struct gp_member *m, const char **fail)
{
    uint16_t *next = k->nodes[*at].next[kind];
    for (int way = 0; way < GP_KEYS_WAYS; way++) {
        uint16_t i = next[way];
        const struct gp_keys_node *node = &k->nodes[i];
        if (GP_LIKELY(gp_keys_match(node, p))) {
            if (GP_UNLIKELY(way)) {
                next[way] = next[0];
                next[0] = i;
            }
            *at = i;
            m->key = (enum gp_key)node->key;
            m->p = p + node->key_at;
            m->n = node->key_n;
            return gp_json_space(p + node->n); /* another writer may put more space here */
        }
    }
    return gp_keys_learn(k, p, end, at, kind, m, fail);
}

#endif
