// Regular expressions from outside: what they match, and which ones are refused for what they would cost.
#include <stdlib.h>
#include <string.h>
#include "analyze/names/pattern.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

static void assert_matches(const char *pattern, const char *text)
{
    regex_t r;
    char why[GP_PATTERN_WHY] = "";
    assert_int_equal(gp_pattern_compile(&r, pattern, 0, why), 0);
    assert_int_equal(regexec(&r, text, 0, NULL, 0), 0);
    regfree(&r);
}

static void assert_refused(const char *pattern, const char *reason)
{
    regex_t r;
    char why[GP_PATTERN_WHY] = "";
    assert_int_equal(gp_pattern_compile(&r, pattern, 0, why), -1);
    assert_string_equal(why, reason);
}

/* N times FIRST, then MIDDLE, then N times LAST: the caller's. */
static char *nest(const char *first, const char *middle, const char *last, size_t n)
{
    struct gp_buf b = {0};
    for (size_t i = 0; i < n; i++) gp_buf_puts(&b, first);
    gp_buf_puts(&b, middle);
    for (size_t i = 0; i < n; i++) gp_buf_puts(&b, last);
    gp_buf_putc(&b, 0);
    return b.data;
}

TEST(what_people_write_is_compiled)
{
    static const char *const pairs[][2] = {
        {"my_(all|reduce).*kernel", "my_reduce_f32_kernel"},
        {"^step [0-9]+$", "step 12"},
        {"^a{2,3}b{1,}c{2}$", "aabbbcc"},
        {"^a{,2}$", "aa"},
        {"^([ab]{1,4}x){1,100}$", "abxbaax"},
        {"^[]{}()+*]{1,1000}$", "]{}()+*"},
        {"^[[:alpha:]]+[^]]+$", "ab{"},
        {"^x\\{1,30000\\}$", "x{1,30000}"},
        {"^(((a+)+)+)+$", "aaaa"},
        {"^a{1,1000}$", "aaa"},
        {"^(((a|b+)*)?){60}(.*?c)+$", "abcc"},
        {"^(a?*?){10}$", "aa"},
        {"^(a*)*b?c?d?e?f?g?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?$", "abyz"},
        {"^(a*|b*){40}$", "abab"},
        {"^(x{0,50}y{0,50}){0,9}(z*)*$", "xyxz"},
        {"^(a*?b){100}(c*)*|d$", "d"},
        {"^a?{400}$", "aaa"},
        {"^.*?a.*?b.*?c.*?$", "xaybzc"},
        {"(^|,)(ab|cd|ef|gh|ij|kl|mn|op|qr|st|uv|wx|yz){1,20}(,|$)", "1,abyz"},
        {"\\(\\\\[(]", "(\\("},
    };
    for (size_t i = 0; i < GP_COUNT(pairs); i++) assert_matches(pairs[i][0], pairs[i][1]);
    char *deep = nest("(", "a", ")", 100);
    assert_matches(deep, "a");
    free(deep);
}

TEST(what_costs_too_much_is_refused)
{
    static const char repetition[] = "repetition makes it longer than 1,000";
#define OPTIONS "??????????????????????????????"
    static const char *const repeated[] = {"((((a{1,255}){1,255}){1,255}){1,255})",
                                           "a{1,30000}",
                                           "a{1002}",
                                           "a{1001,}",
                                           "(a{1,100}){1,100}",
                                           "a{500}b{500}c{500}",
                                           "a{1,99999999999999999999999}",
                                           "[]]{2000}",
                                           "[[:alpha:]]{2000}",
                                           "(ab|cd){400}",
                                           "((((((((((a+)+)+)+)+)+)+)+)+)+)+",
                                           "x{,5000}",
                                           "(||||||||||||||||||||||||||||||||||||||||){30}",
                                           "a" OPTIONS OPTIONS OPTIONS "{14}"};
    for (size_t i = 0; i < GP_COUNT(repeated); i++) assert_refused(repeated[i], repetition);
    static const char loops[] = "more than 10 endless repetitions of what may be empty";
    static const char *const empty[] = {
        "(((a?)*)?){40}", "(a?*?){11}",         "(((a|b*)+)?){11}",          "(((a*){0,})?){11}",
        "(((|a)*)?){11}", "(((\\b|^$)*)?){11}", "a?" OPTIONS "*????????{14}"};
    for (size_t i = 0; i < GP_COUNT(empty); i++) assert_refused(empty[i], loops);
    static const char ways[] = "too many ways to match nothing before an endless repetition of it";
    static const char *const many[] = {"a?*????????????????{7}",
                                       "((a*)*||||||||||||||||){7}",
                                       "((a*)*|b*|c*|d*|e*|f*|g*|h*|i*|j*|k*|l*){7}",
                                       "x(a*|b*){20}(c*)*",
                                       "(x(a*|b*){10})((a*|b*){10}y|z(c*)*)",
                                       "a{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{9}(c*)*"};
    for (size_t i = 0; i < GP_COUNT(many); i++) assert_refused(many[i], ways);
    static const char *const anchored[] = {
        "^;?{,1}?{,1}?{,1}?{,1}{80}", "^(b?{,1}){240}",          "\\b(b?{,1}a?){160}", "^(b*?{,1}c?){140}",
        "^(a|b||||||){80}",           "(^|a?{,1}){150}",         "(^a?{,1}){150}",     "(\\b\\B^$){30}",
        "(x|^)((b?{,1}){60}){3}",     "(b?{,1}^(c?{,1}){70}){3}"};
    for (size_t i = 0; i < GP_COUNT(anchored); i++)
        assert_refused(anchored[i], "too many ways to match nothing behind an anchor");
    assert_refused("(a*)(a*)(a*)\\1\\2\\3b", "back-references are not supported");
    char *deep = nest("(", "a", ")", 101), *very_deep = nest("(", "a", ")", 2000),
         *longest = nest("ab|", "c", "", 1365), *longer = nest("ab|", "cd", "", 1365);
    assert_refused(deep, "more than 100 nested groups");
    assert_refused(very_deep, "more than 100 nested groups");
    char *anchors = nest("^ab$|^.*?c$|", "^d", "", 300);
    assert_matches(longest, "ab");
    assert_matches(anchors, "d");
    free(anchors);
    assert_refused(longer, "longer than 4,096 bytes");
    free(deep);
    free(very_deep);
    free(longest);
    free(longer);
}

TEST(what_is_wrong_is_named)
{
    static const char *const wrong[] = {"[", "(", "a{2,1}", "[z-a]", "\\", "[[:nothing:]]", "[[.", "[[:"};
    for (size_t i = 0; i < GP_COUNT(wrong); i++) {
        regex_t r;
        char why[GP_PATTERN_WHY] = "";
        assert_int_equal(gp_pattern_compile(&r, wrong[i], 0, why), -1);
        assert_true(*why);
    }
}
