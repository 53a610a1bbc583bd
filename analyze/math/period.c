#include "analyze/math/period.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/mem.h"

/* Candidate lengths: the distances between equal words of one or more symbols. A word that occurs once per
 * period votes for the period with the weight of the whole sequence; words of an inner loop vote for the
 * inner loop. Longer words distinguish steps from layers if only a few symbols separate two steps. */
enum { TABLE_BITS_MOST = 16, CANDIDATES = 16, DIVISORS = 12, COST_OF_DIFFERENCE = 49 };

static const size_t word_lengths[] = {1, 8, 64};

/* Where a word was last seen: collisions are forgotten, which only costs votes. */
struct seen {
    uint32_t tag, at; /* at + 1; 0: none */
};

static uint64_t mix(uint64_t h)
{
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static void vote(uint32_t *votes, size_t most, const uint32_t *s, size_t n, size_t word, struct seen *table,
                 unsigned bits)
{
    const uint64_t base = 0xd1342543de82ef95u;
    uint64_t hash = 0, drop = 1; /* base to the power of WORD */
    for (size_t i = 0; i < word; i++) drop *= base;
    memset(table, 0, sizeof *table << bits);
    for (size_t i = 0; i < n; i++) {
        hash = hash * base + s[i] + 1;
        if (i >= word) hash -= drop * ((uint64_t)s[i - word] + 1);
        if (i + 1 < word) continue;
        uint64_t h = mix(hash);
        struct seen *slot = &table[h >> (64 - bits)];
        if (slot->at && slot->tag == (uint32_t)h) {
            size_t distance = i + 1 - slot->at;
            if (distance <= most) votes[distance]++;
        }
        *slot = (struct seen){(uint32_t)h, (uint32_t)i + 1};
    }
}

/* The lengths with the most votes, most first; returns how many. */
static size_t best_lengths(const uint32_t *votes, size_t most, size_t *lengths)
{
    uint64_t weights[CANDIDATES];
    size_t n = 0;
    for (size_t d = 1; d <= most; d++) {
        uint64_t weight = (uint64_t)votes[d] * d;
        if (!weight || (n == CANDIDATES && weight <= weights[n - 1])) continue;
        size_t at = n < CANDIDATES ? n++ : n - 1;
        for (; at && weights[at - 1] < weight; at--) {
            weights[at] = weights[at - 1];
            lengths[at] = lengths[at - 1];
        }
        weights[at] = weight;
        lengths[at] = d;
    }
    return n;
}

/* The stretch that repeats with LENGTH: the piece with the largest sum, where a difference costs as much as
 * 49 equal symbols are worth. */
static bool measure(struct gp_period *p, const uint32_t *s, size_t n, size_t length)
{
    int64_t sum = 0, best = 0;
    size_t first = 0;
    *p = (struct gp_period){.length = length};
    for (size_t i = 0; i + length < n; i++) {
        if (s[i] == s[i + length]) {
            if (!sum) first = i;
            if (++sum > best) {
                best = sum;
                p->first = first;
                p->end = i + 1;
            }
        } else {
            sum = sum > COST_OF_DIFFERENCE ? sum - COST_OF_DIFFERENCE : 0;
        }
    }
    for (size_t i = p->first; i < p->end; i++) p->differences += s[i] != s[i + length];
    if (!best) return false;
    p->end += length;
    return p->end - p->first >= 3 * length;
}

static double rate(const struct gp_period *p)
{
    return (double)p->differences / (double)(p->end - p->first - p->length);
}

/* The shortest of those whose coverage and errors are close to the best. */
static const struct gp_period *choose(const struct gp_period *found, size_t n)
{
    size_t longest = 0;
    double least = 1;
    const struct gp_period *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (found[i].end - found[i].first > longest) longest = found[i].end - found[i].first;
    for (size_t i = 0; i < n; i++)
        if (found[i].end - found[i].first >= longest - longest / 10 && rate(&found[i]) < least)
            least = rate(&found[i]);
    for (size_t i = 0; i < n; i++) {
        bool covers = found[i].end - found[i].first >= longest - longest / 10;
        if (!covers || rate(&found[i]) > 2 * least + 0.001) continue;
        if (!best || found[i].length < best->length) best = &found[i];
    }
    return best;
}

/* Periods of so many symbols differ in few of them at the most, as where a library chooses another kernel for
 * another number of tokens: two in a row are not one because fewer symbols differ then. */
enum { LONG = 256 };
static const double ALIKE = 0.02;

static void cut_multiple(struct gp_period *p, const uint32_t *s)
{
    for (size_t k = 7; k > 1; k--) {
        struct gp_period part = {.length = p->length / k, .first = p->first, .end = p->end};
        if (p->length % k || part.length < LONG) continue;
        for (size_t i = part.first; i + part.length < part.end; i++)
            part.differences += s[i] != s[i + part.length];
        if (rate(&part) > ALIKE) continue;
        *p = part;
        return;
    }
}

/* What was voted for can be several periods at once. */
static size_t add_divisors(struct gp_period *found, size_t n, size_t room, const uint32_t *s, size_t count,
                           size_t length)
{
    for (size_t k = 2; k <= 7 && n < room; k++) {
        bool known = length % k != 0;
        for (size_t i = 0; i < n && !known; i++) known = found[i].length == length / k;
        if (!known && measure(&found[n], s, count, length / k)) n++;
    }
    return n;
}

bool gp_period_find(struct gp_period *p, const uint32_t *symbols, size_t n, size_t least)
{
    if (n < 3 || n > UINT32_MAX - 1) return false;
    size_t most = n / 3, lengths[CANDIDATES], found_n = 0;
    unsigned bits = 6;
    while (bits < TABLE_BITS_MOST && (size_t)1 << bits < 2 * n) bits++;
    uint32_t *votes = gp_zalloc((most + 1) * sizeof *votes);
    struct seen *table = gp_alloc(sizeof *table << bits);
    for (size_t i = 0; i < GP_COUNT(word_lengths); i++)
        vote(votes, most, symbols, n, word_lengths[i], table, bits);
    size_t candidates = best_lengths(votes, most, lengths);
    free(votes);
    free(table);
    struct gp_period found[CANDIDATES + DIVISORS];
    for (size_t i = 0; i < candidates; i++)
        if (measure(&found[found_n], symbols, n, lengths[i])) found_n++;
    if (!found_n) return false;
    found_n = add_divisors(found, found_n, CANDIDATES + DIVISORS, symbols, n, choose(found, found_n)->length);
    *p = *choose(found, found_n);
    cut_multiple(p, symbols);
    return p->length >= least && (p->end - p->first) >= n / 3;
}
