#include "formats/gpt_predict.h"

#include <string.h>

bool gp_pred_is_signed(enum gp_gpt_predictor pred)
{
    return pred != GP_PRED_PLAIN && pred != GP_PRED_LAST;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return (int64_t)a > (int64_t)b ? a : b;
}

static void clear_state(const struct gp_pred_rows *r, uint64_t to)
{
    for (uint32_t i = 0; i < r->nstate; i++) r->state[i] = to;
}

/* ---- doubles that are integers ---- */

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

/* The integer whose double has these bits; false when there is none (fractions, -0, large, not a number). */
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
    uint64_t last = r->first;
    for (size_t i = 0; i < r->n; i++) {
        d[i] = 0;
        if (v[i] == r->dflt) continue;
        int64_t step = (int64_t)(v[i] - last);
        if (step == INT64_MIN)
            return false; /* its zigzag is the largest number, to which 1 cannot be added */
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
    clear_state(r, pred == GP_PRED_KEYED || pred == GP_PRED_KEYED_CONFIG || pred == GP_PRED_FLOAT ? 0
                                                                                                  : r->first);
    switch (pred) {
    case GP_PRED_DELTA:
        for (size_t i = 0; i < r->n; i++) d[i] = v[i] - last, last = v[i];
        return true;
    case GP_PRED_LAST:
        return last_forward(r, v, d);
    case GP_PRED_KEYED:
    case GP_PRED_KEYED_CONFIG:
        for (size_t i = 0; i < r->n; i++) {
            d[i] = v[i] - r->state[r->key[i]];
            r->state[r->key[i]] = v[i];
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
    case GP_PRED_TRACK_START:
        for (size_t i = 0; i < r->n; i++) {
            d[i] = v[i] - r->state[r->track[i]];
            r->state[r->track[i]] = v[i];
        }
        return true;
    case GP_PRED_LAUNCH:
        launch_forward(r, v, d);
        return true;
    case GP_PRED_FLOAT:
        return float_forward(r, v, d);
    default:
        memmove(d, v, r->n * sizeof *d);
        return true;
    }
}

/* ---- backwards ---- */

static void last_inverse(const struct gp_pred_rows *r, const uint64_t *d, uint64_t *v)
{
    uint64_t last = r->first;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t s = d[i] - 1;
        if (!d[i]) {
            v[i] = r->dflt;
            continue;
        }
        last += s >> 1 ^ -(s & 1);
        v[i] = last;
    }
}

static void float_inverse(const struct gp_pred_rows *r, const uint64_t *d, uint64_t *v)
{
    for (size_t i = 0; i < r->n; i++) {
        uint64_t k = r->state[r->key[i]] + d[i];
        r->state[r->key[i]] = k;
        v[i] = double_bits((double)(int64_t)k);
    }
}

static void launch_inverse(const struct gp_pred_rows *r, const uint64_t *d, uint64_t *v)
{
    uint64_t g = (uint64_t)r->gap, l = (uint64_t)r->latency;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t *end = &r->state[r->track[i]];
        v[i] = d[i] + later(*end + g, r->launch[i] + l);
        *end = v[i] + r->dur[i];
    }
}

void gp_pred_inverse(enum gp_gpt_predictor pred, const struct gp_pred_rows *r, const uint64_t *d, uint64_t *v)
{
    uint64_t last = r->first;
    clear_state(r, pred == GP_PRED_KEYED || pred == GP_PRED_KEYED_CONFIG || pred == GP_PRED_FLOAT ? 0
                                                                                                  : r->first);
    switch (pred) {
    case GP_PRED_DELTA:
        for (size_t i = 0; i < r->n; i++) v[i] = last += d[i];
        break;
    case GP_PRED_LAST:
        last_inverse(r, d, v);
        break;
    case GP_PRED_KEYED:
    case GP_PRED_KEYED_CONFIG:
        for (size_t i = 0; i < r->n; i++) v[i] = r->state[r->key[i]] += d[i];
        break;
    case GP_PRED_OTHER:
    case GP_PRED_CONFIG_NAME:
        for (size_t i = 0; i < r->n; i++) v[i] = d[i] + r->other[i];
        break;
    case GP_PRED_TRACK_END:
        for (size_t i = 0; i < r->n; i++) {
            v[i] = d[i] + r->state[r->track[i]];
            r->state[r->track[i]] = v[i] + r->dur[i];
        }
        break;
    case GP_PRED_TRACK_START:
        for (size_t i = 0; i < r->n; i++) v[i] = r->state[r->track[i]] += d[i];
        break;
    case GP_PRED_LAUNCH:
        launch_inverse(r, d, v);
        break;
    case GP_PRED_FLOAT:
        float_inverse(r, d, v);
        break;
    default:
        if (v != d) memcpy(v, d, r->n * sizeof *v);
    }
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

int gp_dict_inverse(const uint64_t *codes, size_t n, uint32_t ndict, const uint32_t *context, uint32_t *local,
                    uint32_t *next, size_t nnext)
{
    uint32_t before = 0, fresh = 0, bad = !ndict;
    memset(next, 0, nnext * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        uint64_t code = codes[i];
        uint32_t *guess = &next[context ? context[i] : before];
        uint64_t now = code ? code == 1 ? fresh++ : code - 2 : *guess;
        if (now >= ndict) now = 0, bad = 1;
        local[i] = before = *guess = (uint32_t)now;
    }
    return bad ? -1 : 0;
}
