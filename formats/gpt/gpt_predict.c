#include "formats/gpt/gpt_predict.h"

#include <string.h>

bool gp_pred_is_signed(enum gp_gpt_predictor pred) { return pred != GP_PRED_PLAIN && pred != GP_PRED_LAST; }

static uint64_t later(uint64_t a, uint64_t b) { return (int64_t)a > (int64_t)b ? a : b; }

static void clear_state(const struct gp_pred_rows *r, uint64_t to)
{
    for (uint32_t i = 0; i < r->nstate; i++) r->state[i] = to;
}

static bool starts_at_zero(enum gp_gpt_predictor pred)
{
    return pred == GP_PRED_KEYED || pred == GP_PRED_KEYED_CONFIG || pred == GP_PRED_FLOAT;
}

/* ---- doubles that are integers ---- */

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

/* The integer that has these bits as a double; false if there is none (fractions, -0, large, not a
 * number). */
static bool integer_of_bits(uint64_t bits, int64_t *k)
{
    double x;
    memcpy(&x, &bits, 8);
    if (!(x > -9007199254740992.0 && x < 9007199254740992.0)) return false;
    *k = (int64_t)x;
    return double_bits((double)*k) == bits;
}

/* ---- forwards ---- */

static bool last_forward(const struct gp_pred_rows *r, const uint64_t *v, uint64_t *d)
{
    uint64_t last = 0;
    for (size_t i = 0; i < r->n; i++) {
        d[i] = 0;
        if (v[i] == r->dflt) continue;
        int64_t step = (int64_t)(v[i] - last);
        if (step == INT64_MIN) return false; /* its zigzag is the largest number, so 1 cannot be added */
        d[i] = ((uint64_t)step << 1 ^ (uint64_t)(step >> 63)) + 1;
        last = v[i];
    }
    return true;
}

static bool float_forward(const struct gp_pred_rows *r, const uint64_t *v, uint64_t *d)
{
    int64_t k;
    for (size_t i = 0; i < r->n; i++) {
        if (!integer_of_bits(v[i], &k)) return false;
        d[i] = (uint64_t)k - r->state[r->key[i]];
        r->state[r->key[i]] = (uint64_t)k;
    }
    return true;
}

static void launch_forward(const struct gp_pred_rows *r, const uint64_t *v, uint64_t *d)
{
    uint64_t g = (uint64_t)r->gap, l = (uint64_t)r->latency;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t *end = &r->state[r->track[i]];
        d[i] = v[i] - later(*end + g, r->launch[i] + l);
        *end = v[i] + r->dur[i];
    }
}

bool gp_pred_forward(enum gp_gpt_predictor pred, const struct gp_pred_rows *r, const uint64_t *v, uint64_t *d)
{
    uint64_t last = r->first;
    const uint32_t *of = pred == GP_PRED_TRACK_START ? r->track : r->key;
    clear_state(r, starts_at_zero(pred) ? 0 : r->first);
    switch (pred) {
    case GP_PRED_DELTA:
        for (size_t i = 0; i < r->n; i++) d[i] = v[i] - last, last = v[i];
        return true;
    case GP_PRED_LAST: return last_forward(r, v, d);
    case GP_PRED_KEYED:
    case GP_PRED_KEYED_CONFIG:
    case GP_PRED_TRACK_START:
        for (size_t i = 0; i < r->n; i++) {
            d[i] = v[i] - r->state[of[i]];
            r->state[of[i]] = v[i];
        }
        return true;
    case GP_PRED_OTHER:
    case GP_PRED_CONFIG_NAME:
        for (size_t i = 0; i < r->n; i++) d[i] = v[i] - r->other[i];
        return true;
    case GP_PRED_TRACK_END:
        for (size_t i = 0; i < r->n; i++) {
            d[i] = v[i] - r->state[r->track[i]];
            r->state[r->track[i]] = v[i] + r->dur[i];
        }
        return true;
    case GP_PRED_LAUNCH: launch_forward(r, v, d); return true;
    case GP_PRED_FLOAT: return float_forward(r, v, d);
    default: memmove(d, v, r->n * sizeof *d); return true;
    }
}

/* ---- backwards ---- */

static void last_inverse(const struct gp_pred_rows *r, const uint64_t *s, uint64_t *v)
{
    uint64_t last = 0, dflt = r->dflt;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t step = s[i] - 1;
        uint64_t now = last + (step >> 1 ^ -(step & 1));
        bool none = !s[i];
        last = none ? last : now;
        v[i] = none ? dflt : now;
    }
}

/* Undo the zigzag if there is one. ZZ is known to the compiler. */
static inline uint64_t difference(uint64_t s, const bool zz) { return zz ? s >> 1 ^ -(s & 1) : s; }

static inline __attribute__((always_inline)) void inverse(enum gp_gpt_predictor pred,
                                                          const struct gp_pred_rows *r, const uint64_t *s,
                                                          uint64_t *v, const bool zz)
{
    uint64_t last = r->first, *state = r->state;
    uint64_t g = (uint64_t)r->gap, l = (uint64_t)r->latency;
    const size_t n = r->n;
    switch (pred) {
    case GP_PRED_DELTA:
        for (size_t i = 0; i < n; i++) v[i] = last += difference(s[i], zz);
        break;
    case GP_PRED_KEYED:
    case GP_PRED_KEYED_CONFIG:
        for (size_t i = 0; i < n; i++) v[i] = state[r->key[i]] += difference(s[i], zz);
        break;
    case GP_PRED_OTHER:
    case GP_PRED_CONFIG_NAME:
        for (size_t i = 0; i < n; i++) v[i] = r->other[i] + difference(s[i], zz);
        break;
    case GP_PRED_TRACK_END:
        for (size_t i = 0; i < n; i++) {
            v[i] = state[r->track[i]] + difference(s[i], zz);
            state[r->track[i]] = v[i] + r->dur[i];
        }
        break;
    case GP_PRED_TRACK_START:
        for (size_t i = 0; i < n; i++) v[i] = state[r->track[i]] += difference(s[i], zz);
        break;
    case GP_PRED_LAUNCH:
        for (size_t i = 0; i < n; i++) {
            v[i] = later(state[r->track[i]] + g, r->launch[i] + l) + difference(s[i], zz);
            state[r->track[i]] = v[i] + r->dur[i];
        }
        break;
    case GP_PRED_FLOAT:
        for (size_t i = 0; i < n; i++) {
            uint64_t k = state[r->key[i]] += difference(s[i], zz);
            v[i] = double_bits((double)(int64_t)k);
        }
        break;
    default: break;
    }
}

void gp_pred_inverse(enum gp_gpt_predictor pred, const struct gp_pred_rows *r, const uint64_t *s, uint64_t *v,
                     bool zigzag)
{
    clear_state(r, starts_at_zero(pred) ? 0 : r->first);
    if (pred == GP_PRED_LAST) last_inverse(r, s, v);
    else if (pred == GP_PRED_PLAIN) memmove(v, s, v == s ? 0 : r->n * sizeof *v);
    else if (zigzag) inverse(pred, r, s, v, true);
    else inverse(pred, r, s, v, false);
}

/* ---- dictionaries ---- */

uint32_t gp_dict_number(const uint64_t *v, size_t n, uint32_t *local, uint64_t *dict, uint32_t *slots,
                        size_t nslots)
{
    uint32_t ndict = 0;
    memset(slots, 0, nslots * sizeof *slots);
    for (size_t i = 0; i < n; i++) {
        uint64_t h = v[i] * UINT64_C(0x9e3779b97f4a7c15);
        size_t at = (size_t)(h >> 32) & (nslots - 1);
        while (slots[at] && dict[slots[at] - 1] != v[i]) at = (at + 1) & (nslots - 1);
        if (!slots[at]) {
            dict[ndict] = v[i];
            slots[at] = ++ndict;
        }
        local[i] = slots[at] - 1;
    }
    return ndict;
}

size_t gp_dict_forward(const uint32_t *local, size_t n, const uint32_t *context, uint64_t *codes,
                       uint32_t *next, size_t nnext)
{
    uint32_t before = 0, fresh = 0;
    size_t misses = 0;
    memset(next, 0, nnext * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        uint32_t now = local[i], *guess = &next[context ? context[i] : before];
        if (now == fresh) codes[i] = 1, fresh++;
        else codes[i] = *guess == now ? 0 : now + 2;
        misses += codes[i] != 0;
        *guess = before = now;
    }
    return misses;
}

static bool eight_zeros(const uint64_t *v)
{
    return !(v[0] | v[1] | v[2] | v[3] | v[4] | v[5] | v[6] | v[7]);
}

/* One code to a number. No branches: the three kinds of code cannot be predicted. */
static inline uint32_t decode_code(uint64_t code, uint32_t guess, uint32_t ndict, uint32_t *fresh,
                                   uint32_t *bad)
{
    uint64_t now = code ? code - 2 : guess;
    now = code == 1 ? *fresh : now;
    *fresh += code == 1;
    *bad |= now >= ndict;
    return now < ndict ? (uint32_t)now : 0;
}

static uint32_t inverse_by_context(const uint64_t *codes, size_t n, uint32_t ndict, const uint32_t *context,
                                   uint32_t *local, uint32_t *next)
{
    uint32_t fresh = 0, bad = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + 8 < n ? i + 8 : n;
        if (end - i == 8 && eight_zeros(codes + i)) { /* nothing is learned: the eight are independent */
            for (; i < end; i++) local[i] = next[context[i]];
            continue;
        }
        for (; i < end; i++)
            local[i] = next[context[i]] = decode_code(codes[i], next[context[i]], ndict, &fresh, &bad);
    }
    return bad;
}

static uint32_t inverse_by_order(const uint64_t *codes, size_t n, uint32_t ndict, uint32_t *local,
                                 uint32_t *next)
{
    uint32_t before = 0, fresh = 0, bad = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + 8 < n ? i + 8 : n;
        if (next[before] == before && end - i == 8 && eight_zeros(codes + i)) { /* a run continues */
            for (; i < end; i++) local[i] = before;
            continue;
        }
        for (; i < end; i++) {
            uint32_t now = decode_code(codes[i], next[before], ndict, &fresh, &bad);
            next[before] = now;
            local[i] = before = now;
        }
    }
    return bad;
}

int gp_dict_inverse(const uint64_t *codes, size_t n, uint32_t ndict, const uint32_t *context, uint32_t *local,
                    uint32_t *next, size_t nnext)
{
    if (!ndict) return -1;
    memset(next, 0, nnext * sizeof *next);
    uint32_t bad = context ? inverse_by_context(codes, n, ndict, context, local, next)
                           : inverse_by_order(codes, n, ndict, local, next);
    return bad ? -1 : 0;
}
