#include "collect/launcher/collect_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/counters/sets.h"
#include "collect/output.h"
#include "collect/sample/sampler.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "collect/counters/measure_plan.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"

enum { GRAPH_RATE = 2000000 };
static const double BUDGET_LEAST = 0.001;

/* The place of WORD among the N WORDS; it is one of them. */
static unsigned place_of(const char *word, const char *const *words, unsigned n)
{
    unsigned i = 0;
    while (i + 1 < n && strcmp(word, words[i]) != 0) i++;
    return i;
}

static enum gp_api_level api_level(const char *word)
{
    static const char *const words[] = {"none", "launch", "sync", "all"};
    return (enum gp_api_level)place_of(word, words, GP_COUNT(words));
}

static enum gp_stacks_mode stacks_mode(const char *word)
{
    static const char *const words[] = {"none", "sample", "launch", "native"};
    return (enum gp_stacks_mode)place_of(word, words, GP_COUNT(words));
}

static int set_output(struct gp_collect_plan *p, const char *output, struct gp_err *err)
{
    if (!output || !strcmp(output, "-")) return 0;
    int pattern = gp_output_is_pattern(output, err);
    p->output = output;
    p->pattern = pattern > 0;
    return pattern < 0 ? -1 : 0;
}

static int set_graphs(struct gp_collect_plan *p, const char *text, struct gp_err *err)
{
    char *end;
    p->graphs = GP_GRAPHS_AUTO;
    p->graph_rate = GRAPH_RATE;
    if (!text || !strcmp(text, "auto")) return 0;
    if (!strcmp(text, "node")) p->graphs = GP_GRAPHS_NODE;
    else if (!strcmp(text, "graph")) p->graphs = GP_GRAPHS_WHOLE;
    if (p->graphs != GP_GRAPHS_AUTO) return 0;
    const char *rate = text + strlen("auto:");
    if (gp_starts(text, "auto:") && *rate >= '0' && *rate <= '9') {
        p->graph_rate = strtoull(rate, &end, 10);
        if (!*end && p->graph_rate) return 0;
    }
    return gp_fail(err, GP_E_USAGE, -1, "--graphs: '%s' is not one of node, graph, auto, auto:RATE", text);
}

static int check_sizes(const struct gp_collect_opts *o, struct gp_err *err)
{
    if (o->flush_ns < GP_WIRE_FLUSH_LEAST_NS || o->flush_ns > GP_WIRE_FLUSH_MOST_NS)
        return gp_fail(err, GP_E_USAGE, -1, "--flush-interval: must be between 1ms and 60s");
    if (o->buffer_bytes < GP_WIRE_BUFFER_LEAST || o->buffer_bytes > GP_WIRE_BUFFER_MOST)
        return gp_fail(err, GP_E_USAGE, -1, "--buffer-size: must be between 64K and 64M");
    if (o->duration_ns < 0) return gp_fail(err, GP_E_USAGE, -1, "--duration: must not be negative");
    if (o->last_ns < 0) return gp_fail(err, GP_E_USAGE, -1, "--last: must not be negative");
    if (o->command && o->redact)
        return gp_fail(err, GP_E_USAGE, -1, "--redact leaves out the command line that --command stores");
    return 0;
}

static int parse_trigger(const char *option, const char *text, struct gp_trigger *t, struct gp_err *err)
{
    struct gp_err ignored = {0};
    memset(t, 0, sizeof *t);
    if (!text || gp_trigger_parse(text, t)) return 0;
    t->when = GP_WHEN_TIME;
    if (!gp_parse_seconds(text, &t->time_ns, &ignored) && t->time_ns > 0) return 0;
    return gp_fail(err, GP_E_USAGE, -1,
                   "%s: '%s' is not one of profiler, range:NAME, launch:N, SIGUSR1, SIGUSR2, or a time such "
                   "as 10 (seconds) or 500ms",
                   option, text);
}

static int set_control(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_trigger start, stop;
    if (parse_trigger("--start", o->start, &start, err) || parse_trigger("--stop", o->stop, &stop, err))
        return -1;
    if (o->no_nvtx && (start.when == GP_WHEN_RANGE || stop.when == GP_WHEN_RANGE))
        return gp_fail(err, GP_E_USAGE, -1,
                       "--no-nvtx: without ranges, a range cannot start or stop the recording");
    if (o->pace && (o->start || o->no_pace))
        return gp_fail(err, GP_E_USAGE, -1,
                       "--pace: recording begins when the steps have been timed, so there is no %s",
                       o->start ? "--start" : "--no-pace");
    if (o->pace) start.when = GP_WHEN_PACE;
    gp_control_init(&p->control, &start, &stop, o->duration_ns);
    p->signals = gp_control_signals(&p->control);
    return 0;
}

static int set_dump(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_dump_when *w = &p->dump;
    const char *wrong = o->dump ? gp_dump_when_parse(w, o->dump) : NULL;
    bool notes = w->step > 0 || w->collective_ns, gauges = w->memory > 0 || w->clock > 0;
    bool parts =
        o->start || o->stop || o->pace || o->duration_ns || o->budget >= 0 || p->api == GP_API_LEVEL_NONE;
    if (o->dump && !o->last_ns) return gp_fail(err, GP_E_USAGE, -1, "--dump requires --last");
    if (wrong) return gp_fail(err, GP_E_USAGE, -1, "--dump: '%s' is not one of %s", wrong, GP_DUMP_WORDS);
    if (w->signal & p->signals)
        return gp_fail(err, GP_E_USAGE, -1, "--dump: a signal in '%s' already starts or stops the recording",
                       o->dump);
    if (notes && o->no_nvtx)
        return gp_fail(err, GP_E_USAGE, -1, "--dump: steps and collectives are not seen with --no-nvtx");
    if (w->collective_ns && parts)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--dump: to see that a collective has not ended, everything must be recorded, without "
                       "--start, --stop, --duration, --pace, --budget and --api none");
    if (gauges && o->no_clocks)
        return gp_fail(err, GP_E_USAGE, -1, "--dump: memory and clocks are not read with --no-clocks");
    p->signals |= w->signal;
    return 0;
}

/* A launcher without a command writes only sessions. */
static int check_hub(const struct gp_collect_opts *o, struct gp_err *err)
{
    if (!o->hub) return 0;
    if (o->output || o->start || o->pace || o->stop || o->dump || o->duration_ns || o->last_ns ||
        o->command || o->serve || o->sample || o->digest)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--hub: has no command and no trace of its own, so it cannot be combined with options "
                       "about them");
    return 0;
}

/* A process that runs already has been given neither an environment nor arguments by us. */
static int check_pid(const struct gp_collect_opts *o, struct gp_err *err)
{
    if (o->tree && !o->pid) return gp_fail(err, GP_E_USAGE, -1, "--tree: requires --pid");
    if (!o->pid) return 0;
    if (o->pid > INT32_MAX) return gp_fail(err, GP_E_USAGE, -1, "--pid: there is no such process");
    if (o->hub || o->pace || o->command || o->metrics || o->budget >= 0)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--pid: cannot be combined with --hub, --pace, --command, --metrics or --budget");
    return 0;
}

/* Whether anybody listens there turns out later, and may change. */
static int check_digest(const struct gp_collect_opts *o, struct gp_err *err)
{
    if (o->digest_secret && !o->digest)
        return gp_fail(err, GP_E_USAGE, -1, "--digest-secret: requires --digest");
    if (!o->digest || strchr(o->digest, '/') || strchr(o->digest, ':')) return 0;
    return gp_fail(err, GP_E_USAGE, -1,
                   "--digest: '%s' is not HOST:PORT or the path of a socket with a \"/\"", o->digest);
}

static int set_metrics_per(struct gp_measure_opts *m, const char *per, bool no_nvtx, struct gp_err *err)
{
    m->per = GP_MEASURE_KERNELS;
    if (!per || !strcmp(per, "kernel")) return 0;
    m->per = GP_MEASURE_RANGES;
    if (no_nvtx)
        return gp_fail(err, GP_E_USAGE, -1, "--no-nvtx: without ranges, there are no counters per range");
    if (!strcmp(per, "range")) return 0;
    if (!gp_starts(per, "range:") || !per[6])
        return gp_fail(err, GP_E_USAGE, -1, "--metrics-per: '%s' is not one of kernel, range, range:NAME",
                       per);
    if (strlen(per + 6) >= sizeof m->range)
        return gp_fail(err, GP_E_USAGE, -1, "--metrics-per: the name is too long");
    snprintf(m->range, sizeof m->range, "%s", per + 6);
    return 0;
}

static int set_metrics(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_measure_opts *m = &p->metrics;
    struct gp_metric_names names = {0};
    bool any = o->metrics_per || o->metrics_passes || o->metrics_every || o->metrics_count;
    m->every = 1;
    if (!o->metrics && any) return gp_fail(err, GP_E_USAGE, -1, "--metrics-...: requires --metrics");
    if (!o->metrics) return 0;
    if (o->last_ns || o->hub || p->graphs == GP_GRAPHS_WHOLE)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--metrics: cannot be combined with --last, --hub or --graphs graph");
    if (o->metrics_passes > 100) return gp_fail(err, GP_E_USAGE, -1, "--metrics-passes: 100 at most");
    if (strlen(o->metrics) >= sizeof m->set)
        return gp_fail(err, GP_E_USAGE, -1, "--metrics: %zu characters at most", sizeof m->set - 1);
    if (set_metrics_per(m, o->metrics_per, o->no_nvtx, err)) return -1;
    if (m->per == GP_MEASURE_RANGES && o->metrics_passes > 1)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--metrics-passes: ranges run once, so their counters must fit one pass");
    int failed = gp_metric_names_parse(&names, o->metrics, "", err); /* the chip is not known yet */
    gp_metric_names_release(&names);
    snprintf(m->set, sizeof m->set, "%s", o->metrics);
    snprintf(m->kernel, sizeof m->kernel, "%s", p->filter.kernel);
    m->passes = o->metrics_passes ? (uint32_t)o->metrics_passes : 1;
    m->every = o->metrics_every ? o->metrics_every : 1;
    m->count = o->metrics_count;
    return failed;
}

static int set_sample(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    char *end;
    if (!o->sample && p->stacks != GP_STACKS_SAMPLE) return 0;
    unsigned long rate = GP_SAMPLE_RATE;
    if (o->sample && *o->sample) {
        rate = *o->sample >= '0' && *o->sample <= '9' ? strtoul(o->sample, &end, 10) : 0;
        if (!rate || (*end && strcmp(end, "Hz") != 0) || rate > GP_SAMPLE_RATE_MOST)
            return gp_fail(err, GP_E_USAGE, -1,
                           "--sample: '%s' is not a rate from %d to %d samples per second", o->sample,
                           GP_SAMPLE_RATE_LEAST, GP_SAMPLE_RATE_MOST);
    }
    p->sample_ns = 1000000000 / (int64_t)rate;
    return 0;
}

enum { COUNTER_RATE = 10000, COUNTER_RATE_LEAST = 1, COUNTER_RATE_MOST = 100000 };

/* "10kHz", "500"; 0: not a rate. */
static uint64_t counter_rate(const char *text)
{
    uint64_t rate;
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    bool kilo = *unit == 'k';
    unit += kilo;
    if ((*unit && strcmp(unit, "Hz") != 0) || !gp_u64_from_text(text, digits, &rate)) return 0;
    if (rate > COUNTER_RATE_MOST) return 0;
    return kilo ? rate * 1000 : rate;
}

/* NAMES[@RATE] */
static int set_sample_metrics(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_metric_names names = {0};
    const char *text = o->sample_metrics, *at = text ? strchr(text, '@') : NULL;
    uint64_t rate = at ? counter_rate(at + 1) : COUNTER_RATE;
    size_t n = at ? (size_t)(at - text) : text ? strlen(text) : 0;
    if (!text) return 0;
    if (o->metrics || o->hub)
        return gp_fail(err, GP_E_USAGE, -1, "--sample-metrics: cannot be combined with --metrics or --hub");
    if (rate < COUNTER_RATE_LEAST || rate > COUNTER_RATE_MOST)
        return gp_fail(err, GP_E_USAGE, -1, "--sample-metrics: '%s' is not a rate from 1Hz to 100kHz",
                       at + 1);
    if (n >= sizeof p->sampled) return gp_fail(err, GP_E_USAGE, -1, "--sample-metrics: the list is too long");
    memcpy(p->sampled, text, n);
    p->counters_ns = 1000000000 / (int64_t)rate;
    int failed = gp_sampled_names_parse(&names, p->sampled, "", err);
    gp_metric_names_release(&names);
    return failed;
}

/* The exponent of a power of two; -1 with ERR naming the nearest one. */
static int set_pc_period(uint32_t *log2, const char *text, struct gp_err *err)
{
    uint64_t cycles;
    if (!gp_u64_from_text(text, strlen(text), &cycles) || !cycles)
        return gp_fail(err, GP_E_USAGE, -1, "--pc-sample: '%s' is not a number of cycles", text);
    uint32_t k = GP_PC_PERIOD_LEAST;
    while (k < GP_PC_PERIOD_MOST && cycles > UINT64_C(3) << k >> 1) k++;
    if (cycles != UINT64_C(1) << k)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--pc-sample: '%s' is not a power of two from 32 to 2147483648; the nearest is %llu",
                       text, 1ULL << k);
    *log2 = k;
    return 0;
}

static int set_pc(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    const char *per = o->pc_sample_per;
    if (per && !o->pc_sample) return gp_fail(err, GP_E_USAGE, -1, "--pc-sample-per: requires --pc-sample");
    if (!o->pc_sample) return 0;
    if (o->metrics || o->sample_metrics)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--pc-sample: cannot be combined with --metrics or --sample-metrics: a GPU gives its "
                       "counters to one of them at a time");
    if (o->last_ns || o->hub || o->pid || o->budget >= 0)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--pc-sample: cannot be combined with --last, --hub, --pid or --budget");
    if (per && strcmp(per, "window") != 0 && strcmp(per, "launch") != 0)
        return gp_fail(err, GP_E_USAGE, -1, "--pc-sample-per: '%s' is not one of window, launch", per);
    p->pc.mode = per && !strcmp(per, "launch") ? GP_PC_LAUNCHES : GP_PC_CONTINUOUS;
    p->pc.period = GP_PC_PERIOD_DEFAULT;
    return *o->pc_sample ? set_pc_period(&p->pc.period, o->pc_sample, err) : 0;
}

/* It weighs the library's own notes, not CUPTI's records of every call or counters. */
static int set_budget(struct gp_collect_plan *p, const struct gp_collect_opts *o, struct gp_err *err)
{
    if (o->budget < 0) return 0;
    if (o->budget < BUDGET_LEAST || o->budget > 100)
        return gp_fail(err, GP_E_USAGE, -1, "--budget: must be between %g%% and 100%%", BUDGET_LEAST);
    if (o->hub || o->metrics || p->api == GP_API_LEVEL_ALL)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--budget: cannot be combined with --hub, --metrics or --api all");
    p->budget_ppm = (uint32_t)(o->budget * 10000);
    return 0;
}

int gp_collect_plan(struct gp_collect_plan *plan, const struct gp_collect_opts *o, struct gp_err *err)
{
    *plan = (struct gp_collect_plan){.api = api_level(o->api), .stacks = stacks_mode(o->stacks)};
    if (check_hub(o, err) || check_pid(o, err) || check_digest(o, err) || check_sizes(o, err) ||
        set_graphs(plan, o->graphs, err) || set_control(plan, o, err) || set_dump(plan, o, err) ||
        set_sample(plan, o, err) || gp_filter_parse(&plan->filter, o->filter, err) ||
        set_metrics(plan, o, err) || set_sample_metrics(plan, o, err) || set_budget(plan, o, err) ||
        set_pc(plan, o, err) || set_output(plan, o->output, err))
        return -1;
    plan->control.capture.late = o->pid != 0;
    if (o->hub) plan->control.capture.open = false;
    if (!plan->pattern || !plan->counters_ns) return 0;
    return gp_fail(err, GP_E_USAGE, -1,
                   "--sample-metrics: needs one trace of all processes, not one per process (-o '%s')",
                   o->output);
}

/* ---- options about counters ---- */

int gp_collect_list(const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_perfworks p;
    struct gp_buf b = {0};
    const char *path = getenv(GP_ENV_LIBCUPTI);
    int failed = gp_perfworks_find(&p, path && *path ? path : NULL, err) ||
                 gp_metrics_list(&b, &p, o->list_metrics, err);
    if (!failed) return gp_answer_file(o->output, &b, err);
    gp_buf_release(&b);
    return failed;
}
