/* args.h -- reads the members of a flat JSON object, as the `extra` columns of traces hold them. Knows
 * nothing of their meaning. Readers have checked the text, so truncated or invalid JSON only ends the walk.
 *
 *     struct gp_arg a;
 *     for (const char *at = text; gp_args_next(&at, &a);)
 *         if (gp_arg_is(&a, "dtype")) use(a.value, a.n);
 */
#ifndef GP_ANALYZE_ARGS_H
#define GP_ANALYZE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gp_arg {
    const char *key, *value; /* into the text; strings without their quotes, escapes as they stand */
    size_t key_n, n;
    bool is_text; /* the value is a string */
};

/* The next member of the NUL-terminated object at *AT, which begins at its brace and is moved on. False at
 * the end. Values that are arrays or objects are given whole. O(length of the member). */
bool gp_args_next(const char **at, struct gp_arg *a);

static inline bool gp_arg_is(const struct gp_arg *a, const char *key)
{
    return a->key_n == strlen(key) && !memcmp(a->key, key, a->key_n);
}

/* The value as an integer, from a number or a string of digits. Returns false, with V unchanged, for other
 * values. */
bool gp_arg_u64(const struct gp_arg *a, uint64_t *v);

/* The device of a row of GP_MEMORY, from the number and type in its args; -1: the host. */
int64_t gp_memory_device(const char *args);

#endif
