/* pattern.h -- regular expressions that users and files give: compiled only if that takes little time and
 * memory. The C library copies what is repeated ("a{1,30000}" takes 7 GB), recurses into parentheses, and
 * tries all ways to match a back-reference.
 *
 *     char why[GP_PATTERN_WHY];
 *     if (gp_pattern_compile(&regex, text, REG_ICASE, why)) ... // "repetition makes it longer than 1,000"
 *     regexec(&regex, name, 0, NULL, 0);
 *     regfree(&regex);
 */
#ifndef GP_ANALYZE_PATTERN_H
#define GP_ANALYZE_PATTERN_H

#include <regex.h>
#include "formats/base/declare.h"

enum {
    GP_PATTERN_WHY = 128,
    GP_PATTERN_LONGEST = 4096,  /* bytes */
    GP_PATTERN_REPEATED = 1000, /* elements that {n,m} and + add */
    GP_PATTERN_LOOPS = 10,      /* endless repetitions of what may be empty, such as (a*)* */
    GP_PATTERN_STEPS = 100000,  /* of the compiler, if there is such a repetition */
    GP_PATTERN_COPIES =
        4000000, /* behind an anchor: forks, times the square of the choices; about 30 bytes each */
    GP_PATTERN_DEEPEST = 100 /* groups in groups */
};

/* Compile TEXT, a POSIX extended regular expression, into TO, with FLAGS besides REG_EXTENDED and REG_NOSUB.
 * -1 with the reason in WHY, of GP_PATTERN_WHY bytes. */
GP_MUST_CHECK int gp_pattern_compile(regex_t *to, const char *text, int flags, char *why);

#endif
