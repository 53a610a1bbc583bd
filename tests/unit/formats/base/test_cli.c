#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

struct opts {
    struct gp_common_opts common;
    uint64_t depth;
    int64_t shortest;
    double share;
    const char *weight;
};

static const struct gp_answer_format formats[] = {{.name = "svg"}, {.name = "folded"}, {0}};

static const struct gp_option options[] = {
    GP_OPTIONS_COMMON,
    {'d', "max-depth", "N", "draw at most N levels", GP_OPT_UINT, offsetof(struct opts, depth)},
    {0, "min-duration", "TIME", "leave out what is shorter than TIME", GP_OPT_DURATION,
     offsetof(struct opts, shortest)},
    {0, "min-share", "PERCENT", "leave out smaller shares", GP_OPT_PERCENT, offsetof(struct opts, share)},
    {0, "weight", "gpu|cpu", "what counts", GP_OPT_CHOICE, offsetof(struct opts, weight)},
    {0},
};

/* What a run of gp_cli_parse left behind. */
static struct run {
    struct gp_tool tool;
    struct opts opts;
    int result;
    char out[4000], err[2000];
} r;

static FILE *begin_capture(FILE *stream, int *saved)
{
    fflush(stream);
    FILE *f = tmpfile();
    assert_non_null(f);
    *saved = dup(fileno(stream));
    dup2(fileno(f), fileno(stream));
    return f;
}

static void end_capture(FILE *stream, FILE *f, int saved, char *to, size_t room)
{
    fflush(stream);
    dup2(saved, fileno(stream));
    close(saved);
    rewind(f);
    to[fread(to, 1, room - 1, f)] = '\0';
    fclose(f);
}

/* Parse the words of LINE (at most 15, split at spaces) as the arguments of a tool made from BASE. */
static void parse_with(struct gp_tool base, const char *line)
{
    static char words[400];
    static char name[] = "trace2flame";
    static char *argv[17]; /* the operands outlive this call */
    argv[0] = name;
    int argc = 1, saved_out, saved_err;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w && argc < 16; w = strtok(NULL, " ")) argv[argc++] = w;
    memset(&r, 0, sizeof r);
    base.name = "trace2flame";
    base.options = options;
    base.formats = formats;
    if (!base.operands) base.operands = "[FILE...]";
    r.tool = base;
    FILE *out = begin_capture(stdout, &saved_out), *err = begin_capture(stderr, &saved_err);
    r.result = gp_cli_parse(&r.tool, argc, argv, &r.opts);
    end_capture(stderr, err, saved_err, r.err, sizeof r.err);
    end_capture(stdout, out, saved_out, r.out, sizeof r.out);
}

static void parse(const char *line)
{
    parse_with((struct gp_tool){.max_operands = -1, .summary = "draw a flame graph", .example = "a | b\n"},
               line);
}

static void assert_misuse(const char *line, const char *message)
{
    char want[500];
    parse(line);
    snprintf(want, sizeof want, "trace2flame: %s\nTry 'trace2flame --help' for more information.\n", message);
    assert_string_equal(r.err, want);
    assert_string_equal(r.out, "");
    assert_int_equal(r.result, -1);
    assert_int_equal(r.tool.status, 2);
}

TEST(all_spellings_of_an_option_are_one)
{
    static const char *const spellings[] = {"-f folded",       "-ffolded",           "--format folded",
                                            "--format=folded", "--form folded",      "--fo=folded",
                                            "-qvffolded",      "-q -f svg -f folded"};
    for (size_t i = 0; i < GP_COUNT(spellings); i++) {
        parse(spellings[i]);
        assert_int_equal(r.result, 0);
        assert_string_equal(r.opts.common.format, "folded");
        assert_int_equal(r.tool.nargs, 0);
    }
}

TEST(flags_are_bundled)
{
    parse("-qv --strict");
    assert_int_equal(r.result, 0);
    assert_true(r.opts.common.quiet && r.opts.common.verbose && r.opts.common.strict);
    parse("");
    assert_false(r.opts.common.quiet || r.opts.common.verbose || r.opts.common.strict);
}

TEST(values_of_every_kind_are_stored)
{
    parse("-o - --max-depth 2k --min-duration=1.5ms --min-share 2.5% --weight cpu");
    assert_int_equal(r.result, 0);
    assert_string_equal(r.opts.common.output, "-");
    assert_int_equal(r.opts.depth, 2048);
    assert_int_equal(r.opts.shortest, 1500000);
    assert_true(r.opts.share == 2.5);
    assert_string_equal(r.opts.weight, "cpu");
}

TEST(operands_keep_their_order_among_options)
{
    parse("a -q b - --weight gpu c -- -v d");
    assert_int_equal(r.result, 0);
    static const char *const want[] = {"a", "b", "-", "c", "-v", "d"};
    assert_int_equal(r.tool.nargs, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(r.tool.args[i], want[i]);
    assert_false(r.opts.common.verbose);
}

TEST(lists_grow_and_files_go_to_the_list_before_them)
{
    static const struct gp_option lists[] = {
        {0, "gate", "G", "a gate", GP_OPT_LIST, 0},
        {0, "base", "FILE...", "files", GP_OPT_FILES, sizeof(struct gp_opt_list)},
        {'q', "quiet", NULL, "nothing", GP_OPT_FLAG, 2 * sizeof(struct gp_opt_list)},
        {0},
    };
    struct {
        struct gp_opt_list gates, base;
        bool quiet;
    } o = {0};
    static char line[] = "t x --base a b - --gate g1 y --base=c d -q z --gate=g2 -- w";
    char *argv[17];
    int argc = 0;
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
    struct gp_tool tool = {.name = "t", .options = lists, .max_operands = -1};
    assert_int_equal(gp_cli_parse(&tool, argc, argv, &o), 0);
    static const char *const base[] = {"a", "b", "-", "c", "d"}, *const rest[] = {"x", "y", "z", "w"};
    assert_int_equal(o.base.n, 5);
    for (int i = 0; i < 5; i++) assert_string_equal(o.base.at[i], base[i]);
    assert_int_equal(tool.nargs, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(tool.args[i], rest[i]);
    assert_int_equal(o.gates.n, 2);
    assert_string_equal(o.gates.at[0], "g1");
    assert_string_equal(o.gates.at[1], "g2");
    assert_true(o.quiet);
    GP_VEC_FREE(&o.base);
    GP_VEC_FREE(&o.gates);
}

TEST(options_of_a_command_are_not_ours)
{
    struct gp_tool collect = {
        .max_operands = -1, .min_operands = 1, .stop_at_operand = true, .error_status = 125};
    parse_with(collect, "-q python3 -v --weight x");
    assert_int_equal(r.result, 0);
    assert_true(r.opts.common.quiet);
    assert_false(r.opts.common.verbose);
    assert_int_equal(r.tool.nargs, 4);
    assert_string_equal(r.tool.args[1], "-v");
    parse_with(collect, "-q -- --odd -v");
    assert_int_equal(r.tool.nargs, 2);
    assert_string_equal(r.tool.args[0], "--odd");
    parse_with(collect, "--nonsense ls");
    assert_int_equal(r.result, -1);
    assert_int_equal(r.tool.status, 125);
    parse_with(collect, "-q");
    assert_int_equal(r.tool.status, 125);
}

TEST(an_option_of_another_program_ends_parsing)
{
    static const char *const aliases[] = {"--sizes", "--max-width", "-z", NULL};
    const struct gp_tool tool = {.stop_at_operand = true, .max_operands = -1, .aliases = aliases};
    static const struct {
        const char *line, *alias;
    } cases[] = {
        {"--sizes 1K", "--sizes"}, {"-d 3 --siz=1K", "--sizes"}, {"-qz", "-z"}, {"--max-w 3", "--max-width"}};
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        parse_with(tool, cases[i].line);
        assert_int_equal(r.result, -1);
        assert_string_equal(r.tool.alias, cases[i].alias);
        assert_string_equal(r.err, "");
    }
    static const char *const own[] = {"--max 3 cmd --sizes", "-d 3 -- --sizes", "--weight gpu cmd -z"};
    for (size_t i = 0; i < GP_COUNT(own); i++) {
        parse_with(tool, own[i]);
        assert_int_equal(r.result, 0);
        assert_null(r.tool.alias);
    }
    parse_with(tool, "-y");
    assert_null(r.tool.alias);
    assert_non_null(strstr(r.err, "unknown option '-y'"));
}

TEST(a_former_spelling_works_and_names_the_new_one)
{
    static const struct gp_renamed renamed[] = {{"depth", "max-depth"}, {"min", "min-share"}, {0}};
    const struct gp_tool tool = {.max_operands = -1, .renamed = renamed};
    parse_with(tool, "--depth 3 --min=5%");
    assert_int_equal(r.result, 0);
    assert_int_equal(r.opts.depth, 3);
    assert_true(r.opts.share == 5);
    assert_string_equal(
        r.err, "trace2flame: --depth is now --max-depth; the former spelling goes with the next version\n"
               "trace2flame: --min is now --min-share; the former spelling goes with the next version\n");
    parse_with(tool, "--max-depth 3");
    assert_string_equal(r.err, "");
    parse_with(tool, "--dept 3"); /* not cut short */
    assert_non_null(strstr(r.err, "unknown option '--dept'"));
}

TEST(misuse_is_told_in_one_line)
{
    assert_misuse("--nonsense=3", "unknown option '--nonsense'");
    assert_misuse("-qx", "unknown option '-x'");
    assert_misuse("--max-depth", "option '--max-depth' needs a value (N)");
    assert_misuse("-d", "option '-d' needs a value (N)");
    assert_misuse("--quiet=yes", "option '--quiet' takes no value");
    assert_misuse("--min 3", "option '--min' could be --min-duration, --min-share");
    assert_misuse("--=3", "unknown option '--'");
    assert_misuse("-f png", "--format: 'png' is not one of svg|folded");
    assert_misuse("-f sv", "--format: 'sv' is not one of svg|folded");
    assert_misuse("-f svg|folded", "--format: 'svg|folded' is not one of svg|folded");
    assert_misuse("--max-depth x", "--max-depth: 'x' is not a number, such as 10, 64K or 2M");
    assert_misuse("--threads=-1", "--threads: '-1' is not a number, such as 10, 64K or 2M");
    assert_misuse("--min-duration 5q", "--min-duration: '5q' is not a duration, such as 10us, 1.5ms or 2s");
    assert_misuse("--min-share x", "--min-share: 'x' is not a percentage, such as 5% or 0.5%");
}

TEST(the_number_of_operands_is_checked)
{
    struct gp_tool two = {.min_operands = 2, .max_operands = 2, .operands = "BASE CUR"};
    parse_with(two, "a b");
    assert_int_equal(r.result, 0);
    parse_with(two, "a");
    assert_int_equal(r.result, -1);
    assert_non_null(strstr(r.err, "too few operands: expected BASE CUR\n"));
    parse_with(two, "a b c");
    assert_non_null(strstr(r.err, "unexpected operand 'c'\n"));
    parse_with(two, "");
    assert_non_null(strstr(r.err, "nothing to work on: expected BASE CUR\n"));
}

TEST(help_tells_every_option_within_80_columns)
{
    static const char *const ways[] = {"-h", "--help", "--h", "-q --help --nonsense"};
    for (size_t i = 0; i < GP_COUNT(ways); i++) {
        parse(ways[i]);
        assert_int_equal(r.result, -1);
        assert_int_equal(r.tool.status, 0);
        assert_string_equal(r.err, "");
        assert_int_equal(strncmp(r.out, "usage: trace2flame [OPTION]... [FILE...]\ndraw a flame graph\n", 59),
                         0);
        for (const struct gp_option *o = options; o->name; o++) assert_non_null(strstr(r.out, o->name));
        assert_non_null(strstr(r.out, "  -d, --max-depth=N           draw at most N levels\n"));
        assert_non_null(strstr(r.out, "      --weight=gpu|cpu        what counts\n"));
        assert_non_null(strstr(r.out, "  -V, --version"));
        assert_non_null(strstr(r.out, "\nexample:\n  a | b\n"));
        for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) < 80);
    }
}

TEST(version_names_the_tool_and_the_suite)
{
    parse("-V");
    assert_string_equal(r.out, "trace2flame (gpuprof) " GP_VERSION "\n");
    assert_int_equal(r.result, -1);
    assert_int_equal(r.tool.status, 0);
}

TEST(options_are_put_as_they_were_given)
{
    struct gp_buf b = {0};
    parse("--max-depth 2k -q --min-duration=1.5ms --min-share 0.5% --weight cpu");
    assert_int_equal(r.result, 0);
    gp_cli_put_given(&b, &r.tool, &r.opts, "weight min-share max-depth min-duration verbose quiet");
    assert_string_equal(gp_buf_str(&b),
                        " --weight cpu --min-share 0.5% --max-depth 2048 --min-duration 1500000ns --quiet");
    b.n = 0;
    parse("a");
    gp_cli_put_given(&b, &r.tool, &r.opts, "weight max-depth format");
    assert_string_equal(gp_buf_str(&b), "");
    gp_buf_release(&b);
}

TEST(a_format_is_one_of_the_tools_and_the_first_by_default)
{
    parse("a");
    assert_string_equal(r.opts.common.format, "svg");
    parse("-f folded");
    assert_string_equal(r.opts.common.format, "folded");
    assert_misuse("--format pdf", "--format: 'pdf' is not one of svg|folded");
    assert_misuse("--format", "option '--format' needs a value (svg|folded)");
}

TEST(messages_are_one_line_whatever_is_in_them)
{
    int saved;
    char text[200];
    FILE *f = begin_capture(stderr, &saved);
    gp_cli_warn(&(struct gp_tool){.name = "trace2flame"}, "%s: odd",
                "a\nb\033[31m\t\xc2\x9b\xe2\x80\xae\xff");
    end_capture(stderr, f, saved, text, sizeof text);
    assert_string_equal(text, "trace2flame: a\u240ab\u241b[31m\u2409\ufffd\ufffd\ufffd: odd\n");
}

TEST(colour_obeys_the_option_then_the_environment)
{
    setenv("NO_COLOR", "1", 1);
    assert_true(gp_cli_color(&(struct gp_common_opts){.color = "always"}, -1));
    assert_false(gp_cli_color(&(struct gp_common_opts){.color = "never"}, -1));
    assert_false(gp_cli_color(&(struct gp_common_opts){.color = "auto"}, -1));
    assert_false(gp_cli_color(&(struct gp_common_opts){0}, -1));
}

TEST(progress_waits_and_wipes_itself)
{
    int saved;
    char text[400];
    struct gp_progress p;
    struct gp_tool tool = {.name = "trace2flame"};
    FILE *f = begin_capture(stderr, &saved);
    gp_cli_progress(&tool, &(struct gp_common_opts){.progress = "always"}, &p);
    gp_progress_bytes(&p, 1); /* too early to say anything */
    fflush(stderr);
    fseek(f, 0, SEEK_END);
    long early = ftell(f);
    p.began_ns -= 2000 * INT64_C(1000000000); /* long ago, so that a slow machine does not change the rate */
    gp_progress_bytes(&p, 300000000000);
    p.last_ns += 3600 * INT64_C(1000000000);
    gp_progress_bytes(&p, 310000000000); /* too soon after */
    gp_progress_end(&p);
    gp_progress_end(&p);
    end_capture(stderr, f, saved, text, sizeof text);
    assert_int_equal(early, 0);
    assert_string_equal(text, "\rtrace2flame: reading, 300000 MB, 150 MB/s\033[K\r\033[K");
    gp_cli_progress(&tool, &(struct gp_common_opts){.progress = "never"}, &p);
    assert_false(p.enabled);
    gp_cli_progress(&tool, &(struct gp_common_opts){.progress = "auto", .quiet = true}, &p);
    assert_false(p.enabled);
}

static void check_progress(uint64_t total, uint64_t bytes, int64_t elapsed_ns, const char *expected)
{
    struct gp_buf line = {0};
    gp_progress_put(&line, &(struct gp_progress){.total = total}, bytes, elapsed_ns);
    assert_string_equal(gp_buf_str(&line), expected);
    gp_buf_release(&line);
}

TEST(progress_has_percent_and_time_left)
{
    const int64_t s = 1000000000;
    check_progress(0, 1656000000, 14 * s, "reading, 1656 MB, 118 MB/s");
    check_progress(2000000000, 840000000, 7 * s, "reading, 42%, 120 MB/s, 10 s left"); /* 9.67 */
    check_progress(2000000000, 1990000000, 199 * s, "reading, 99%, 10 MB/s, 1 s left");
    check_progress(2000000000, 2000000000, 20 * s, "reading, 100%, 100 MB/s");
    check_progress(1000000000, 100000000, 10 * s, "reading, 10%, 10 MB/s, 2 min left"); /* 90 s */
    check_progress(70000000000, 10000000000, 1000 * s, "reading, 14%, 10 MB/s, 1 h 40 min left");
    check_progress(1000, 1001, 1 * s, "reading, 0 MB, 0 MB/s"); /* the file has grown */
    check_progress(1000, 0, 1 * s, "reading, 0%, 0 MB/s");
    check_progress(1000, 0, 0, "reading, 0%, 0 MB/s");
    check_progress(UINT64_C(1) << 60, 1, 1 * s, "reading, 0%, 0 MB/s"); /* no honest time left */
}

TEST(progress_has_phases)
{
    int saved;
    char text[400];
    struct gp_progress p = {.enabled = true, .tool = "trace-hta"};
    FILE *f = begin_capture(stderr, &saved);
    gp_progress_phase(&p, "analysing"); /* nothing was long so far */
    gp_progress_bytes(&p, 1);
    p.began_ns -= 2 * INT64_C(1000000000);
    gp_progress_phase(&p, "analysing");
    gp_progress_phase(&p, "writing");
    gp_progress_end(&p);
    p.enabled = false;
    gp_progress_phase(&p, "analysing");
    gp_progress_end(&p);
    end_capture(stderr, f, saved, text, sizeof text);
    assert_string_equal(text, "\rtrace-hta: analysing\033[K\rtrace-hta: writing\033[K\r\033[K");
}
