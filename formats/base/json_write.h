/* json_write.h -- pieces of JSON text, appended to a buffer: strings, numbers, times, and a check of JSON
 * text that came from elsewhere. The output is always valid JSON in valid UTF-8. Knows nothing about traces
 * or layout: braces, commas and keys are up to the caller.
 *
 *     gp_buf_puts(&b, "{\"name\":");
 *     gp_json_put_string(&b, name, strlen(name));
 *     gp_buf_puts(&b, ",\"ts\":");
 *     gp_json_put_us(&b, 123456);                  // 123.456
 *     gp_buf_puts(&b, "}");
 */
#ifndef GP_BASE_JSON_WRITE_H
#define GP_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* N bytes at S as a JSON string, quotes included. Every byte that is not part of well-formed UTF-8 becomes
 * U+FFFD (one for each longest piece that could have begun a character); the characters of
 * gp_utf8_is_hostile() are escaped, so that no terminal or editor obeys it. S may be NULL if N is 0. */
void gp_json_put_string(struct gp_buf *b, const char *s, size_t n);
/* The N bytes of JSON text at S, which gp_json_is_valid() accepts, or a part of it, with the same escapes in
 * its strings. */
void gp_json_put_valid(struct gp_buf *b, const char *s, size_t n);
/* Would gp_json_put_string copy the bytes unchanged? For callers that write the same string repeatedly. */
bool gp_json_is_clean(const char *s, size_t n);
/* NS in microseconds, exactly: 123456 is 123.456, 5000 is 5, -1 is -0.001. */
void gp_json_put_us(struct gp_buf *b, int64_t ns);
/* The shortest decimal that reads back as V; whole numbers without a point. `null` for NaN and infinities. */
void gp_json_put_double(struct gp_buf *b, double v);

/* Is the text one JSON value (with white space around it), nested at most 64 deep, all of it UTF-8, also what
 * is escaped (no single surrogates)? O(n), no memory. */
bool gp_json_is_valid(const char *s, size_t n);
/* The members of the JSON object at S without its braces: "a": 1, "b": 2. *LEN is 0 if there are none. NULL
 * if S is not one valid object. The result points into S. */
const char *gp_json_members(const char *s, size_t n, size_t *len);

#endif
