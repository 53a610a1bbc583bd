/* step_name.h -- does a range call itself a step of the program? Only its name is asked.
 *
 *     uint64_t number; size_t base;
 *     if (gp_step_name_rank(name, n, &base, &number) <= 2) ...    // "step 17/100": base 4, number 17
 */
#ifndef GP_FORMATS_MODEL_STEP_NAME_H
#define GP_FORMATS_MODEL_STEP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How strongly a range's name, without its number, suggests a step: 0 the profiler's own marker, 1 "step", 2
 * "batch" and the like, 3 not at all, 4 "epoch"; GP_STEP_NEVER: a part of a step. *BASE becomes the length of
 * the name before the number, and *NUMBER the number; a name without a number has base N and number
 * GP_NO_ID. */
enum { GP_STEP_NEVER = 99 };
int gp_step_name_rank(const char *name, size_t n, size_t *base, uint64_t *number);

/* The base of NAME, its first N bytes, as it stands for all its steps: numbers inside count for nothing
 * ("epoch 1 step"), and names with a number at their end are not those without. Returns the bytes in TO. */
enum { GP_STEP_BASE = 256 };
size_t gp_step_name_base(char to[GP_STEP_BASE], const char *name, size_t n, bool numbered);
#endif
