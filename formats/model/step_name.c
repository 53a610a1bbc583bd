#include "formats/model/step_name.h"

#include <string.h>
#include "formats/base/count.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/model/trace.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* "step 17/100" is number 17 of "step"; closing brackets and the like after the number are not part of it. */
static size_t split_number(const char *name, size_t n, uint64_t *number)
{
    size_t end = n;
    *number = GP_NO_ID;
    while (end && strchr(" )]}:.", name[end - 1])) end--;
    size_t first = end;
    while (first && is_digit(name[first - 1])) first--;
    if (first == end) return n;
    if (first > 1 && name[first - 1] == '/' && is_digit(name[first - 2])) {
        end = --first;
        while (first && is_digit(name[first - 1])) first--;
    }
    if (!gp_u64_from_text(name + first, end - first, number) || *number == GP_NO_ID) {
        *number = GP_NO_ID;
        return n;
    }
    while (first && strchr(" #_-:=/([{", name[first - 1])) first--;
    return first;
}

/* The last word of a name, and how strongly it suggests a step. */
static const struct {
    const char *word;
    int rank;
} words[] = {
    {"step", 1},    {"steps", 1},   {"iter", 1},   {"iteration", 1}, {"batch", 2},   {"token", 2},
    {"request", 2}, {"frame", 2},   {"sample", 2}, {"query", 2},     {"prompt", 2},  {"epoch", 4},
    {"layer", 99},  {"block", 99},  {"head", 99},  {"stage", 99},    {"module", 99}, {"level", 99},
    {"bucket", 99}, {"stream", 99}, {"rank", 99},  {"gpu", 99},      {"device", 99}, {"worker", 99},
    {"expert", 99}, {"chunk", 99},  {"shard", 99}, {"thread", 99},   {"node", 99},   {"seq", 99},
    {"id", 99},     {"dim", 99},    {"size", 99},  {"conv", 99},     {"linear", 99},
};
/* What is named so is part of a step although it may call itself one. */
static const char *const parts[] = {"optim", "sched", "zero_grad", "backward", "forward", "dataload"};

/* How vLLM calls a step of its engine: "execute_context_1(888)_generation_0(0)", or with a number after the
 * first word. Its layers may be launched as equal graphs, which must not be taken for steps. */
static bool is_engine_step(const char *name, size_t n, const char *lower)
{
    static const char first[] = "execute_";
    return n >= sizeof first && !memcmp(name, first, sizeof first - 1) && strstr(lower, "context_") &&
           strstr(lower, "generation_");
}

int gp_step_name_rank(const char *name, size_t n, size_t *base, uint64_t *number)
{
    char lower[128];
    *base = split_number(name, n, number);
    size_t end = *base, k = 0;
    if (*number != GP_NO_ID && gp_is(name, end, "ProfilerStep")) return 0;
    for (size_t i = end > sizeof lower - 1 ? end - (sizeof lower - 1) : 0; i < end; i++)
        lower[k++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i] ? name[i] : ' ';
    lower[k] = 0;
    if (is_engine_step(name, n, lower)) {
        *base = strlen("execute");
        *number = GP_NO_ID;
        return 0;
    }
    bool letters = false;
    for (size_t i = 0; i < k; i++) letters |= is_letter(lower[i]);
    if (!letters) return GP_STEP_NEVER;
    for (size_t i = 0; i < GP_COUNT(parts); i++)
        if (strstr(lower, parts[i])) return GP_STEP_NEVER;
    for (size_t i = 0; i < GP_COUNT(words); i++) {
        size_t len = strlen(words[i].word);
        if (k >= len && !memcmp(lower + k - len, words[i].word, len)) return words[i].rank;
    }
    return 3;
}

size_t gp_step_name_base(char to[GP_STEP_BASE], const char *name, size_t n, bool numbered)
{
    size_t k = 0;
    for (size_t i = 0; i < n && k < GP_STEP_BASE - 1; i++) {
        bool digit = is_digit(name[i]);
        if (!digit || !i || !is_digit(name[i - 1])) to[k++] = digit ? '0' : name[i];
    }
    to[k++] = numbered ? '#' : ' ';
    return k;
}
