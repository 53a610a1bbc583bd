/* redact_words.h -- words that libraries use and that say nothing about a program: operators, optimizers,
 * collectives, data types, parts of the names of tracks. Everything that is not among them may be the
 * program's own. Knows no traces.
 *
 *     gp_words_public(GP_TEXT("SingleProcessDataLoaderIter.__next__"));    // true
 *     gp_words_public(GP_TEXT("MyLoader"));                                // false
 */
#ifndef GP_FORMATS_REDACT_WORDS_H
#define GP_FORMATS_REDACT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the word at S: letters, digits and _; 0: none begins there. */
size_t gp_word_length(const char *s, size_t n);
/* Is the word of N bytes at S a number, or one that libraries use? Case, _ and a final "Backward0" do not
 * matter. */
bool gp_word_public(const char *s, size_t n);
/* Are all words in the N bytes at S? */
bool gp_words_public(const char *s, size_t n);

#endif
