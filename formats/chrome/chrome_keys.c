#include "formats/chrome/chrome_keys.h"

#include <string.h>
#include "formats/base/intern.h"

static const char *const key_texts[] = {"", "", GP_KEYS(GP_SECOND)};

static enum gp_key find_key(const struct gp_keys *k, const char *p, size_t n, uint8_t *slot)
{
    uint8_t i = (uint8_t)gp_hash_bytes(p, n);
    for (; k->known[i]; i++) {
        const char *text = key_texts[k->known[i]];
        if (strlen(text) == n && !memcmp(text, p, n)) break;
    }
    *slot = i;
    return k->known[i] ? (enum gp_key)k->known[i] : GP_KEY_OTHER;
}

void gp_keys_init(struct gp_keys *k)
{
    memset(k, 0, sizeof *k);
    for (unsigned key = GP_KEY_OTHER + 1; key < GP_KEY_COUNT; key++) {
        uint8_t slot;
        find_key(k, key_texts[key], strlen(key_texts[key]), &slot);
        k->known[slot] = (uint8_t)key;
    }
    /* the first nodes match the end of the object wherever it stands: there is no byte that cannot */
    for (k->n = 0; k->n <= GP_KEYS_NONE; k->n++) k->nodes[k->n].literal[0] = '}';
    for (unsigned i = 0; i < GP_KEYS_NODES; i++)
        for (unsigned kind = 0; kind < GP_KEYS_KINDS; kind++)
            for (unsigned way = 0; way < GP_KEYS_WAYS; way++) k->nodes[i].next[kind][way] = GP_KEYS_NONE;
    for (unsigned i = 0; i <= GP_KEYS_NONE; i++) k->nodes[i].rest = UINT64_MAX << 1, k->nodes[i].n = 1;
}

/* The node of the literal [P, P + N), created if there is room; otherwise GP_KEYS_NONE. */
static uint16_t node_of(struct gp_keys *k, const char *p, size_t n, const struct gp_member *m)
{
    if (!n || n > GP_KEYS_LITERAL || (m->key != GP_KEY_END && m->n > 255)) return GP_KEYS_NONE;
    size_t slot = gp_hash_bytes(p, n) % GP_KEYS_HASH;
    for (; k->hash[slot]; slot = (slot + 1) % GP_KEYS_HASH) {
        const struct gp_keys_node *node = &k->nodes[k->hash[slot]];
        if (node->n == n && !memcmp(node->literal, p, n)) return k->hash[slot];
    }
    if (k->n == GP_KEYS_NODES) return GP_KEYS_NONE;
    struct gp_keys_node *node = &k->nodes[k->n];
    memcpy(node->literal, p, n);
    node->n = (uint8_t)n;
    node->rest = n == 64 ? 0 : UINT64_MAX << n;
    node->key = (uint8_t)m->key;
    node->key_at = (uint8_t)(m->key == GP_KEY_END ? 0 : m->p - p);
    node->key_n = (uint8_t)m->n;
    return k->hash[slot] = k->n++;
}

static void remember(struct gp_keys *k, uint16_t at, unsigned kind, uint16_t node)
{
    if (node == GP_KEYS_NONE) return;
    uint16_t *next = k->nodes[at].next[kind];
    memmove(next + 1, next, (GP_KEYS_WAYS - 1) * sizeof *next);
    next[0] = node;
}

const char *gp_keys_learn(struct gp_keys *k, const char *p, const char *end, uint16_t *at, unsigned kind,
                          struct gp_member *m, const char **fail)
{
    const char *begin = p;
    bool odd = false, first = *at == GP_KEYS_EVENT || *at == GP_KEYS_ARGS, comma = false;
    p = gp_json_space(p);
    for (; *p == ','; p = gp_json_space(p + 1)) comma = true;
    *fail = p;
    if (*p == '}') {
        *m = (struct gp_member){GP_KEY_END, p, 0};
        p++;
    } else {
        if (*p != '"' || (!first && !comma)) return NULL;
        const char *q = gp_json_string_end(p + 1, end, &odd);
        *fail = q;
        if (q >= end) return NULL;
        uint8_t slot;
        *m = (struct gp_member){find_key(k, p + 1, (size_t)(q - p - 1), &slot), p + 1, (size_t)(q - p - 1)};
        p = *fail = gp_json_space(q + 1);
        if (*p++ != ':') return NULL;
        p = gp_json_space(p);
    }
    uint16_t node = odd ? GP_KEYS_NONE : node_of(k, begin, (size_t)(p - begin), m);
    remember(k, *at, kind, node);
    *at = node;
    return gp_json_space(p);
}
