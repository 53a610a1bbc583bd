#include "collect/launcher/about.h"
#include "collect/records/records.h"

#include <stdio.h>
#include <string.h>
#include <ctype.h>
#include "formats/base/clock.h"
#include "formats/base/json_write.h"
#include "formats/gpt/gpt_write.h"
#include "formats/base/count.h"
#include "formats/base/str.h"
#include "formats/base/buf.h"

/* ---- metadata ---- */

static void put_text(struct gp_buf *b, const char *text) { gp_json_put_string(b, text, strlen(text)); }

static void set_meta(struct gp_trace *t, const char *key, struct gp_buf *json)
{
    gp_trace_set_meta(t, key, json->data, json->n);
    json->n = 0;
}

/* Texts that are NULL and numbers that are 0 were not given. */
static void set_text(struct gp_trace *t, const char *key, const char *text)
{
    struct gp_buf b = {0};
    if (!text) return;
    put_text(&b, text);
    set_meta(t, key, &b);
    gp_buf_release(&b);
}

static void set_command(struct gp_trace *t, const char *const *args, size_t nargs)
{
    struct gp_buf b = {0}, masked = {0};
    gp_buf_putc(&b, '[');
    for (size_t i = 0; i < nargs; i++) {
        if (i) gp_buf_putc(&b, ',');
        gp_mask_put(&masked, i ? args[i - 1] : NULL, args[i]);
        put_text(&b, gp_buf_str(&masked));
        masked.n = 0;
    }
    gp_buf_putc(&b, ']');
    set_meta(t, "command", &b);
    gp_buf_release(&masked);
    gp_buf_release(&b);
}

static void note_clock(struct gp_trace *t)
{
    struct gp_clock c = {gp_now_ns(), gp_clock_ns(CLOCK_REALTIME), 0};
    GP_VEC_PUSH(&t->clocks, c);
}

void gp_about_begin(struct gp_output *o, const struct gp_collect_opts *opts, const char *const *args,
                    size_t nargs)
{
    struct gp_trace *t = &o->trace;
    set_text(t, "collector", "gpuprof-collect " GP_VERSION);
    if (opts->command) set_command(t, args, nargs);
    set_text(t, "api_level", opts->api);
    gp_trace_set_number(t, "flush_interval_ns", opts->flush_ns);
    if (!opts->redact) set_text(t, "start", opts->start);
    if (!opts->redact) set_text(t, "stop", opts->stop);
    if (opts->duration_ns) gp_trace_set_number(t, "duration_ns", opts->duration_ns);
    if (!opts->redact) set_text(t, "filter", opts->filter);
    if (opts->last_ns) gp_trace_set_number(t, "last_ns", opts->last_ns);
    if (opts->budget >= 0) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "%g", opts->budget);
        set_meta(t, "budget_pct", &b);
        gp_buf_release(&b);
    }
    gp_trace_set_number(t, "start_realtime_ns", gp_clock_ns(CLOCK_REALTIME));
    note_clock(t);
    gp_gpt_begin(o->writer);
    gp_gpt_flush(o->writer, t);
}

/* ---- the end ---- */

static void note_loss(struct gp_output *o, const char *what, const char *why, uint64_t count)
{
    struct gp_loss l = {gp_intern_cstr(&o->trace.strings, what), gp_intern_cstr(&o->trace.strings, why),
                        count, UINT32_MAX};
    if (count) GP_VEC_PUSH(&o->trace.losses, l);
}

/* Processes that did not end in order: who, and how, which is known only of our own child. */
static void note_cuts(struct gp_output *o, const struct gp_about *a)
{
    struct gp_hub_cut cut;
    size_t from = 0;
    while (gp_hub_next_cut(a->hub, &from, &cut)) {
        if (o->process.producer && cut.pid != o->process.pid) continue;
        char how[40] = "was killed or ended by _exit", why[160];
        if (cut.pid == a->pid && a->signal) snprintf(how, sizeof how, "was ended by signal %d", a->signal);
        else if (cut.pid == a->pid && a->ended) snprintf(how, sizeof how, "ended by _exit");
        snprintf(why, sizeof why,
                 "process %ld %s: %llu records salvaged, what was still in the driver is missing",
                 (long)cut.pid, how, (unsigned long long)cut.salvaged);
        note_loss(o, "ends of processes", why, 1);
    }
    uint64_t named = from;
    if (!o->process.producer && a->totals.cut > named)
        note_loss(o, "ends of processes", "more processes were killed or ended by _exit",
                  a->totals.cut - named);
}

static void put_samples(struct gp_output *o, const struct gp_sampler_counts *c)
{
    gp_trace_set_number(&o->trace, "samples", c->samples.whole + c->samples.partial + c->samples.skipped);
    gp_trace_set_number(&o->trace, "samples_partial", c->samples.partial);
    gp_trace_set_number(&o->trace, "samples_torn", c->samples.torn);
    gp_trace_set_number(&o->trace, "samples_late", c->late);
    gp_trace_set_number(&o->trace, "sampler_cpu_ns", (uint64_t)c->cpu_ns);
    note_loss(o, "runs of samples", "too many at once", c->runs_lost);
}

void gp_about_end(struct gp_output *o, const struct gp_about *a)
{
    struct gp_trace *t = &o->trace;
    const struct gp_hub_totals *all = &a->totals;
    gp_trace_set_number(t, "exit_status", (uint64_t)a->status);
    if (a->signal) gp_trace_set_number(t, "exit_signal", a->signal);
    /* of the command, also where each process has its own trace; so is the CPU time */
    gp_trace_set_number(t, "traced_processes", all->processes);
    gp_trace_set_number(t, "collector_cpu_ns", (uint64_t)all->stats.cpu_ns);
    gp_trace_set_number(t, "launcher_cpu_ns", (uint64_t)gp_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    if (all->cut) gp_trace_set_number(t, "salvaged_records", all->stats.salvaged);
    if (a->sampled) put_samples(o, &a->samples);
    if (a->opts->pc_sample && all->stats.pc_samples) gp_records_put_pc_counts(t, &all->stats);
    note_cuts(o, a);
    note_loss(o, "blocks of events", "over the memory limit of --last", a->crowded_out);
    note_clock(t);
    gp_gpt_end(o->writer, t);
}

/* ---- processes that are missing ---- */

/* "1 connection was refused" or "7 connections were refused", with REST behind it. Nothing for none. */
static void say_count(void (*say)(const char *), uint32_t n, const char *one, const char *many,
                      const char *rest)
{
    struct gp_buf b = {0};
    if (!n) return;
    gp_buf_put_u64(&b, n);
    gp_buf_putc(&b, ' ');
    gp_buf_puts(&b, n == 1 ? one : many);
    gp_buf_puts(&b, rest);
    say(gp_buf_str(&b));
    gp_buf_release(&b);
}

static void missing_samples(const struct gp_sampler_counts *c, void (*say)(const char *message))
{
    struct gp_buf b = {0};
    if (c->forbidden)
        gp_buf_printf(
            &b,
            "--sample: the system does not permit reading the memory of process %ld: no samples of it "
            "(kernel.yama.ptrace_scope above 1, or a program that may not be traced)",
            (long)c->forbidden_pid);
    else if (c->unknown && !c->processes) gp_buf_printf(&b, "--sample: no samples: %s", c->unknown);
    else if (!c->processes) gp_buf_puts(&b, "--sample: no samples: no process ran " GP_PY_VERSIONS);
    if (b.n) say(gp_buf_str(&b));
    gp_buf_release(&b);
}

void gp_about_missing(const struct gp_about *a, void (*say)(const char *message))
{
    const struct gp_hub_totals *t = &a->totals;
    say_count(say, t->unserved, "process runs untraced: ", "processes run untraced: ", t->err.msg);
    say_count(say, t->refused, "connection of another user was refused",
              "connections of other users were refused", "");
    say_count(say, t->garbled, "connection was refused: it is not from a traced process",
              "connections were refused: they are not from traced processes", "");
    say_count(say, a->digest_dropped < UINT32_MAX ? (uint32_t)a->digest_dropped : UINT32_MAX,
              "block of the recording is not in the digests: ",
              "blocks of the recording are not in the digests: ", "trace-fleet could not keep up, or ended");
    say_count(say, (uint32_t)a->not_dumped, "more moment was not written: ",
              "more moments were not written: ", "--dump-limit, or less than --last after another");
    if (a->sampled) missing_samples(&a->samples, say);
    if (*a->no_clocks) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "no clocks and no power in the trace: %s", a->no_clocks);
        say(gp_buf_str(&b));
        gp_buf_release(&b);
    }
    if (a->old_kept) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "%s: kept as it was, because nothing was recorded", a->opts->output);
        say(gp_buf_str(&b));
        gp_buf_release(&b);
    }
}

/* ---- the sum ---- */

static unsigned long long ull(uint64_t v) { return v; }

static uint64_t samples_of(const struct gp_about *a)
{
    const struct gp_sampler_counts *c = &a->samples;
    return a->sampled ? c->samples.whole + c->samples.partial + c->samples.skipped : 0;
}

/* The results of --sample and --sample-metrics; BEFORE precedes the first. */
static void put_samples_sum(struct gp_buf *b, const struct gp_about *a, const char *before)
{
    if (a->sampled) gp_buf_printf(b, "%s%llu samples", before, ull(samples_of(a)));
    if (a->counters_sampled)
        gp_buf_printf(b, "%s%llu counter samples", a->sampled ? ", " : before, ull(a->counter_samples));
}

/* How the command ended, where that is not as it should. */
static void put_exit(struct gp_buf *b, const struct gp_about *a)
{
    if (a->signal)
        gp_buf_printf(b, ", the command was ended by signal %d (%s)", a->signal, strsignal(a->signal));
    else if (a->status) gp_buf_printf(b, ", the command exited with status %d", a->status);
}

/* No process was recorded. */
static void put_nothing(struct gp_buf *b, const struct gp_about *a)
{
    const struct gp_hub_totals *t = &a->totals;
    bool samples = samples_of(a) || (a->counters_sampled && a->counter_samples);
    if (a->reader_left) gp_buf_puts(b, "stopped because the reader exited before a process was recorded: ");
    else if (a->opts->filter && strstr(a->opts->filter, "rank:"))
        gp_buf_puts(b, "no rank of --filter used CUDA: ");
    else if (!t->unserved && !t->refused && !t->garbled)
        gp_buf_puts(b, "no process used CUDA, or the recording library was not loaded: ");
    gp_buf_puts(b, samples ? "no GPU work was recorded, only " : "nothing was recorded");
    if (samples) put_samples_sum(b, a, "");
    put_exit(b, a);
}

/* With -v: quality and cost of the recording. */
static void put_cost(struct gp_buf *b, const struct gp_about *a)
{
    const struct gp_wire_stats *s = &a->totals.stats;
    if (s->inversions || a->opts->verbose)
        gp_buf_printf(b, ", %llu clock %s", ull(s->inversions),
                      s->inversions == 1 ? "inversion" : "inversions");
    if (s->inversions) gp_buf_printf(b, " (max %lld ns)", (long long)s->worst_inversion_ns);
    if (a->opts->verbose)
        gp_buf_printf(b, ", collector CPU %.3f s in traced processes and %.3f s in the launcher",
                      (double)s->cpu_ns / 1e9, (double)gp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
}

/* The findings of --budget and the parts it left out: of all processes together, from the first time on. */
static void put_budget(struct gp_buf *b, const struct gp_about *a)
{
    static const char *const parts[GP_BUDGET_PARTS] = {"allocations", "waits and events", "API calls",
                                                       "everything outside of windows"};
    const struct gp_wire_stats *s = &a->totals.stats;
    const char *before = ", left out: ";
    gp_buf_printf(b, ", budget %g%%", a->opts->budget);
    if (s->launch_ns) gp_buf_printf(b, " (%lld ns per launch)", (long long)s->launch_ns);
    for (unsigned i = 0; i < GP_BUDGET_PARTS; i++) {
        if (!s->left_out_ns[i]) continue;
        gp_buf_printf(b, "%s%s from %.1f s", before, parts[i],
                      (double)(s->left_out_ns[i] - a->began_ns) / 1e9);
        before = ", ";
    }
}

/* The findings of --pc-sample. */
static void put_pc(struct gp_buf *b, const struct gp_wire_stats *s)
{
    gp_buf_printf(b, ", %llu samples of program counters", ull(s->pc_samples));
    if (s->pc_dropped) gp_buf_printf(b, " (%llu dropped by the GPU)", ull(s->pc_dropped));
    if (s->pc_full)
        gp_buf_printf(b, ", the buffer for them was full %llu %s: take a longer period", ull(s->pc_full),
                      s->pc_full == 1 ? "time" : "times");
}

void gp_about_sum(struct gp_buf *b, const struct gp_about *a)
{
    const struct gp_hub_totals *t = &a->totals;
    const struct gp_wire_stats *s = &t->stats;
    bool verbose = a->opts->verbose;
    if (!t->processes) {
        put_nothing(b, a);
        return;
    }
    gp_buf_printf(b, "%llu kernels, %llu copies, %llu sets, %u %s, %llu lost", ull(s->kernels),
                  ull(s->copies), ull(s->sets), t->processes, t->processes == 1 ? "process" : "processes",
                  ull(s->dropped + s->bad_time));
    if (verbose)
        gp_buf_printf(b, " (%llu dropped, %llu without a time), %llu calls, %llu ranges", ull(s->dropped),
                      ull(s->bad_time), ull(s->calls), ull(s->ranges));
    if (s->stacks) gp_buf_printf(b, ", %llu calls whose stack could not be read", ull(s->stacks));
    if (a->kept) gp_buf_printf(b, ", the last %g s kept", (double)a->opts->last_ns / 1e9);
    put_samples_sum(b, a, ", ");
    if (a->opts->pc_sample) put_pc(b, s);
    if (a->opts->memory) gp_buf_printf(b, ", %llu allocations", ull(s->allocations));
    if (a->opts->budget >= 0) put_budget(b, a);
    if (t->cut) gp_buf_printf(b, ", %u ended early", t->cut);
    if (t->cut && verbose) gp_buf_printf(b, " (%llu records salvaged)", ull(s->salvaged));
    if (t->live) gp_buf_printf(b, ", %u still running", t->live);
    if (a->reader_left) gp_buf_puts(b, ", stopped because the reader exited");
    put_exit(b, a);
    put_cost(b, a);
}

/* ---- secrets of the command line ---- */

enum { LONG_VALUE = 32, AFTER_PREFIX = 12 };

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* ---- names ---- */

/* Is NAME, of N bytes, that of something secret? LAST: only its end counts. */
static bool is_secret_name(const char *name, size_t n, bool last)
{
    static const char *const parts[] = {"key",  "token",  "pass",   "pwd",       "secret", "credential",
                                        "auth", "cookie", "bearer", "signature", "jwt"};
    static const char *const wholes[] = {"sig", "sas", "pw", "pat"};
    for (size_t w = 0; w < GP_COUNT(wholes); w++)
        if (n == strlen(wholes[w]) && gp_begin_folded(name, n, wholes[w])) return true;
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < GP_COUNT(parts); w++)
            if (gp_begin_folded(name + i, n - i, parts[w]) && (!last || strlen(parts[w]) == n - i))
                return true;
    return false;
}

static bool is_in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.'; }

/* The name that ends at S + *N, behind which quotes and spaces are ignored; *N becomes its length. */
static const char *name_before(const char *s, size_t *n)
{
    size_t end = *n;
    while (end && strchr(" \t'\"\\", s[end - 1])) end--;
    size_t from = end;
    while (from && is_in_name(s[from - 1])) from--;
    *n = end - from;
    return s + from;
}

/* ---- values ---- */

/* Does a key begin at S, by its prefix? */
static bool has_known_prefix(const char *s)
{
    static const char *const prefixes[] = {
        "AKIA", "ASIA",        "AIza",   "eyJ",      "dckr_pat_", "ghp_",  "gho_",  "ghu_",   "ghs_",
        "ghr_", "github_pat_", "glpat-", "gsk_",     "hf_",       "lsv2_", "npm_",  "nvapi-", "pypi-",
        "r8_",  "rk_live_",    "sk-",    "sk_live_", "xoxa-",     "xoxb-", "xoxp-", "ya29."};
    for (size_t i = 0; i < GP_COUNT(prefixes); i++)
        if (gp_starts(s, prefixes[i]) &&
            strspn(s + strlen(prefixes[i]), LETTERS_AND_DIGITS "_-") >= AFTER_PREFIX)
            return true;
    return false;
}

/* Do 32 letters and digits, some of them digits, stand at S? */
static bool is_long_word(const char *s)
{
    size_t n = strspn(s, LETTERS_AND_DIGITS);
    return n >= LONG_VALUE && strcspn(s, "0123456789") < n;
}

/* All of S. A path has these letters, too, but more than one slash. */
static bool is_long_key(const char *s)
{
    size_t n = strspn(s, LETTERS_AND_DIGITS "+/_-=");
    const char *slash = strchr(s, '/');
    return n >= LONG_VALUE && !s[n] && !(slash && strchr(slash + 1, '/'));
}

/* Does S begin with the part of an address before its @? */
static bool is_user(const char *s)
{
    size_t n = strcspn(s, "@/?#'\" \t\n");
    return n && s[n] == '@';
}

/* ---- arguments ---- */

/* Is ARG secret because of PREVIOUS? */
static bool follows(const char *previous, const char *arg)
{
    if (!previous) return false;
    if (!strcmp(previous, "-k") || !strcmp(previous, "-p")) return *arg != '-';
    if (!strcmp(previous, "-u") || !strcmp(previous, "--user")) return strchr(arg, ':') != NULL;
    size_t n = strlen(previous);
    while (n && strchr(":=", previous[n - 1])) n--;
    bool option = *previous == '-';
    for (size_t i = 0; i < n; i++)
        if (!is_in_name(previous[i])) return false;
    return (option || *arg != '-') && is_secret_name(previous, n, !option);
}

/* Does a value that is secret begin behind ARG[I], judging by the text up to I? */
static bool is_announced(const char *arg, size_t i)
{
    char c = arg[i];
    if (c == '=' && is_long_key(arg + i + 1)) return true;
    if (i >= 2 && gp_begin(arg + i - 2, 3, "://")) return is_user(arg + i + 1);
    if (!strchr("=: \t", c)) return false;
    size_t n = i;
    const char *name = name_before(arg, &n);
    bool apart = c == ' ' || c == '\t'; /* from the option or the word before it */
    return (!apart || *name == '-' || gp_begin_folded(name, n, "bearer")) && is_secret_name(name, n, false);
}

/* Where in ARG a secret begins; its length: nowhere. */
static size_t find_secret(const char *previous, const char *arg)
{
    if (follows(previous, arg)) return 0;
    if (gp_starts(arg, "-p") && arg[2]) return strlen("-p");
    for (size_t i = 0; arg[i]; i++) {
        bool first = !i || !isalnum((unsigned char)arg[i - 1]);
        if (first && (has_known_prefix(arg + i) || is_long_word(arg + i))) return i;
        if (!is_announced(arg, i)) continue;
        i++;
        return i + strspn(arg + i, " \t'\"\\");
    }
    return strlen(arg);
}

void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg)
{
    size_t n = find_secret(previous, arg);
    gp_buf_put(to, arg, n);
    if (arg[n]) gp_buf_puts(to, "***");
}
