/* utf8.h -- reading, checking and cutting UTF-8. Names come from traces, so any byte can occur; nothing here
 * trusts that text is valid, and nothing depends on the locale.
 *
 *     struct gp_buf b = {0};
 *     if (!gp_utf8_valid(name, n)) gp_utf8_repair(&b, name, n);       // bad bytes become U+FFFD
 *     size_t keep = gp_utf8_fit_bytes(name, n, 20);                   // whole characters
 */
#ifndef GP_BASE_UTF8_H
#define GP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_UTF8_BAD = 0xfffd }; /* the replacement character */

/* The code point at S, which has N > 0 bytes; *USED becomes its length in bytes (1 to 4). For bytes that are
 * not valid UTF-8 (overlong forms, surrogates, beyond U+10FFFF, cut sequences) it is GP_UTF8_BAD, and *USED
 * the length of the longest start of a valid sequence, at least 1, as Unicode recommends for replacing. */
uint32_t gp_utf8_next(const char *s, size_t n, size_t *used);
/* Must CODE_POINT not reach a screen as it is? True for controls other than ASCII's, noncharacters, line
 * separators, and characters that are invisible or reorder their neighbours (bidirectional controls). Writers
 * show or escape these, and ASCII's controls in their own way; this is the only list. */
bool gp_utf8_is_hostile(uint32_t code_point);
/* The visible form of CODE_POINT: an ASCII control is its picture (U+2400 and on), a hostile
 * character U+FFFD. */
uint32_t gp_utf8_shown(uint32_t code_point);
/* Write CODE_POINT to TO and return its length in bytes; append it. */
size_t gp_utf8_encode(char to[4], uint32_t code_point);
void gp_utf8_put(struct gp_buf *to, uint32_t code_point);
/* Append N bytes at S to TO, each character as gp_utf8_shown() has it: every text of a file or a network that
 * goes to a terminal. */
void gp_utf8_clean(struct gp_buf *to, const char *s, size_t n);
/* Is all of it valid? An encoded U+FFFD is valid. */
bool gp_utf8_valid(const char *s, size_t n);
/* Append N bytes at S to TO with U+FFFD for invalid bytes. */
void gp_utf8_repair(struct gp_buf *to, const char *s, size_t n);
/* Columns of a terminal or a monospaced picture: 2 for East Asian wide characters and emoji, 0 for combining
 * marks and control characters, otherwise 1. */
int gp_utf8_columns_of(uint32_t code_point);
/* Columns of N bytes at S; a bad sequence counts 1. */
size_t gp_utf8_width(const char *s, size_t n);
/* How many of the N bytes at S can be kept in at most MAX bytes without cutting a code point. */
size_t gp_utf8_fit_bytes(const char *s, size_t n, size_t max);

#endif
