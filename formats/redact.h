/* redact.h -- takes the program's own texts out of a trace and leaves all that an analysis needs. Names of
 * ranges, marks, processes and threads, frames of stacks with their files and libraries, and texts among the
 * args of events and in the metadata, become hashes: the same text has the same hash in every trace, so that
 * traces stay comparable. Not changed: times, numbers, kernels, operators, calls, devices' models, and the
 * known words (redact_words.h) of names that libraries give to ranges (ProfilerStep#, NCCL:). A hash hides a
 * text from a reader, not from somebody with a guess to test. Knows no file format.
 *
 *     gp_redact_trace(&trace);                                // a finished trace
 *     gp_redact_name(&b, GP_TEXT("encrypt layer 12"));        // "r-0123456789ab#12"
 *     gp_redact_args(&b, args, strlen(args));    // {"path":"/x"} becomes {"path":"r-0123456789ab"}
 */
#ifndef GP_FORMATS_REDACT_H
#define GP_FORMATS_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/model/trace.h"

/* Append the replacement of the name in the N bytes at S; a number at its end stays, since it counts steps or
 * layers. Nothing for an empty name; names of libraries stay. */
void gp_redact_name(struct gp_buf *to, const char *s, size_t n);
/* Append JSON text, or the inside of an object, with hashes for texts; keys, numbers and the names of data
 * types and of collectives stay. */
void gp_redact_args(struct gp_buf *to, const char *s, size_t n);
/* N bytes of TEXT as a string of T, or, if REDACT, what HOW, one of those, makes of them. */
gp_sid gp_redact_intern(struct gp_trace *t, bool redact, const char *text, size_t n,
                        void (*how)(struct gp_buf *to, const char *s, size_t n));
/* Do that to all of T, which is finished. The command line, serial numbers and what a collection was told to
 * look for are removed; no removed text stays in T's strings. */
void gp_redact_trace(struct gp_trace *t);

/* ---- words that stay ----
 * Words that libraries use and that say nothing about a program: operators, optimizers,
 * collectives, data types, parts of the names of tracks. Everything that is not among them may be the
 * program's own. Knows no traces.
 *
 *     gp_words_public(GP_TEXT("SingleProcessDataLoaderIter.__next__"));    // true
 *     gp_words_public(GP_TEXT("MyLoader"));                                // false
 */

/* The length of the word at S: letters, digits and _; 0: none begins there. */
size_t gp_word_length(const char *s, size_t n);
/* Is the word of N bytes at S a number, or one that libraries use? Case, _ and a final "Backward0" do not
 * matter. */
bool gp_word_public(const char *s, size_t n);
/* Are all words in the N bytes at S? */
bool gp_words_public(const char *s, size_t n);

#endif
