#include "analyze/view/steps.h"

#include <stdlib.h>
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/math/period.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

bool gp_steps_launch_time(const struct gp_view *v, uint32_t row, bool by_gpu_time, int64_t *begin_ns,
                          int64_t *end_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU], *api = &v->t->events[GP_API];
    uint32_t call = gp_view_launch(v, row), node = v->at.node[row];
    if (by_gpu_time) {
        *begin_ns = gpu->start_ns[row];
        *end_ns = *begin_ns + gpu->dur_ns[row];
    } else if (call != UINT32_MAX) {
        *begin_ns = api->start_ns[call];
        *end_ns = *begin_ns + api->dur_ns[call];
    } else if (node != GP_HOST_NONE) {
        *begin_ns = *end_ns = v->hs.nodes[node].start_ns;
    } else {
        return false;
    }
    return true;
}

/* ---- calls and their launches ---- */

enum { NAMES_MOST = 4096 }; /* this many names are made readable; further names stay as recorded */

/* A call that launched something: a graph launch is one. */
struct call {
    uint32_t first, n; /* slice of the program's rows */
    uint32_t symbol;   /* equal for calls that launch the same */
    bool graph;
};

struct calls {
    const struct gp_view *v;
    const struct gp_steps_program *p;
    GP_VEC(struct call) v_;
    size_t graphs, graph_events;
    struct gp_map of_name;      /* kernel name -> sid in labels */
    uint32_t *symbol_of_config; /* 0: not looked at */
    struct gp_map is_graph;     /* name of a call -> whether it launches graphs */
    gp_sid last_call;           /* the last name looked up, and its result */
    bool last_is_graph;
    struct gp_strings labels;
};

/* Kernels with the same label count as equal, whatever their alignment and tile. */
static uint32_t label_of(struct calls *c, gp_sid name)
{
    const uint32_t *known = gp_map_get(&c->of_name, name);
    if (known) return *known;
    if (c->of_name.n >= NAMES_MOST) return name ^ 0x80000000u;
    struct gp_buf full = {0}, label = {0};
    gp_name_demangle(&full, gp_trace_str(c->v->t, name), gp_string_len(&c->v->t->strings, name));
    gp_name_kernel_label(&label, full.data, full.n);
    uint32_t sid = gp_intern(&c->labels, label.data, label.n);
    gp_buf_release(&full);
    gp_buf_release(&label);
    return *gp_map_put(&c->of_name, name, sid);
}

static bool launches_graphs(struct calls *c, uint32_t row)
{
    uint32_t api = gp_view_launch(c->v, row);
    if (gp_get_graph(&c->v->t->events[GP_GPU], row) != GP_NO_ID) return true;
    if (api == UINT32_MAX) return false;
    gp_sid name = c->v->t->events[GP_API].name[api];
    if (name == c->last_call) return c->last_is_graph;
    uint32_t *known = gp_map_put(&c->is_graph, name, UINT32_MAX);
    if (*known == UINT32_MAX) *known = gp_call_launches_graph(gp_trace_str(c->v->t, name));
    c->last_call = name;
    return c->last_is_graph = *known;
}

static uint32_t mix(uint32_t h, uint64_t v)
{
    uint64_t m = (h ^ v) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(m >> 32);
}

static uint32_t symbol_of(struct calls *c, uint32_t row)
{
    uint32_t *symbol = &c->symbol_of_config[gp_get_config(&c->v->t->events[GP_GPU], row)];
    if (*symbol) return *symbol;
    const struct gp_config *config = gp_gpu_config(c->v->t, row);
    return *symbol = mix(config->kind, label_of(c, config->name)) | 1;
}

static void add_call(struct calls *c, uint32_t first, uint32_t n)
{
    uint32_t row = c->p->rows[first];
    struct call call = {first, n, symbol_of(c, row), !c->p->by_gpu_time && launches_graphs(c, row)};
    if (call.graph) {
        uint64_t id = gp_get_graph(&c->v->t->events[GP_GPU], row);
        call.symbol = mix(id == GP_NO_ID ? call.symbol ^ n : 1, id);
        c->graphs++;
        c->graph_events += n;
    }
    GP_VEC_PUSH(&c->v_, call);
}

static void find_calls(struct calls *c)
{
    const struct gp_steps_program *p = c->p;
    for (uint32_t i = 0, end; i < p->n; i = end) {
        uint32_t api = p->by_gpu_time ? UINT32_MAX : gp_view_launch(c->v, p->rows[i]);
        end = i + 1;
        while (api != UINT32_MAX && end < p->n && gp_view_launch(c->v, p->rows[end]) == api) end++;
        add_call(c, i, end - i);
    }
}

/* ---- windows from calls ---- */

static int64_t begin_of(const struct calls *c, size_t call)
{
    int64_t begin = 0, end;
    (void)gp_steps_launch_time(c->v, c->p->rows[c->v_.at[call].first], c->p->by_gpu_time, &begin, &end);
    return begin;
}

static int64_t end_of(const struct calls *c, size_t call)
{
    int64_t begin, end = 0;
    (void)gp_steps_launch_time(c->v, c->p->rows[c->v_.at[call].first], c->p->by_gpu_time, &begin, &end);
    return end;
}

/* The step of the calls [FIRST, END): it ends where the next call begins. */
static void add_window(struct gp_steps_program *p, const struct calls *c, size_t first, size_t end,
                       uint32_t number, bool partial)
{
    struct gp_step_window w = {begin_of(c, first), 0, end_of(c, end - 1), 0, number, partial};
    w.end_ns = end < c->v_.n ? begin_of(c, end) : INT64_MAX;
    if (w.end_ns > w.begin_ns) GP_VEC_PUSH(&p->windows, w);
}

/* ---- graphs ---- */

struct tally {
    uint32_t symbol, n;
    uint64_t events;
};

/* The graph with the most work that is launched at least three times; false if there is none. */
static bool busiest_graph(const struct calls *c, uint32_t *symbol)
{
    struct gp_map of_symbol = {0};
    GP_VEC(struct tally) tallies = {0};
    GP_EACH(const struct call, call, c->v_) {
        if (!call->graph) continue;
        uint32_t at = *gp_map_put(&of_symbol, call->symbol, (uint32_t)tallies.n);
        if (at == tallies.n) GP_VEC_PUSH(&tallies, ((struct tally){call->symbol, 0, 0}));
        tallies.at[at].n++;
        tallies.at[at].events += call->n;
    }
    uint64_t most = 0;
    for (size_t i = 0; i < tallies.n; i++) {
        if (tallies.at[i].n < 3 || tallies.at[i].events <= most) continue;
        most = tallies.at[i].events;
        *symbol = tallies.at[i].symbol;
    }
    GP_VEC_FREE(&tallies);
    gp_map_release(&of_symbol);
    return most;
}

/* One step per launch of the busiest graph, or per repeating group of launches. */
static void by_graphs(struct gp_steps_program *p, const struct calls *c)
{
    uint32_t busiest, *symbols = gp_alloc((c->graphs + 1) * sizeof *symbols);
    uint32_t *places = gp_alloc((c->graphs + 1) * sizeof *places),
             *begins = gp_alloc((c->graphs + 1) * sizeof *begins);
    size_t n = 0, steps = 0, end = c->v_.n;
    struct gp_period period;
    for (uint32_t i = 0; i < c->v_.n; i++) {
        if (!c->v_.at[i].graph) continue;
        symbols[n] = c->v_.at[i].symbol;
        places[n++] = i;
    }
    if (gp_period_find(&period, symbols, n, 1)) {
        for (size_t i = period.first; i + period.length <= period.end; i += period.length)
            begins[steps++] = places[i];
        size_t next = period.first + steps * period.length;
        if (next < n) end = places[next];
    } else if (busiest_graph(c, &busiest)) {
        for (size_t i = 0; i < n; i++)
            if (symbols[i] == busiest) begins[steps++] = places[i];
    }
    for (size_t i = 0; i < steps && steps <= GP_STEPS_MOST; i++)
        add_window(p, c, begins[i], i + 1 < steps ? begins[i + 1] : end, (uint32_t)i + 1, false);
    if (p->windows.n) p->source = GP_STEPS_GRAPH;
    GP_RELEASE(free, symbols, places, begins);
}

/* ---- any sequence ---- */

enum { GAPS_MOST = 31 }; /* of so many periods the median gap is taken */

static int64_t median_gap(const struct calls *c, size_t first, size_t step, size_t n)
{
    int64_t gaps[GAPS_MOST];
    size_t k = 0, stride = (n + GAPS_MOST - 1) / GAPS_MOST;
    for (size_t i = 0; i < n && k < GAPS_MOST; i += stride) {
        size_t call = first + i * step, at = k;
        if (!call || call >= c->v_.n) continue;
        int64_t gap = gp_minus_wrapped(begin_of(c, call), end_of(c, call - 1));
        for (; at && gaps[at - 1] > gap; at--) gaps[at] = gaps[at - 1];
        gaps[at] = gap;
        k++;
    }
    return k ? gaps[k / 2] : INT64_MIN;
}

/* Layers of a step repeat as steps do. Steps differ in that the host pauses between them or that they are
 * long: in traces with known steps the pause was at least 50 times the median gap between two calls, between
 * layers at most 4 times. */
enum { PAUSE = 5, PAUSE_LEAST_NS = 1000, LONG_CALLS = 256 };

/* A step begins where the host pauses longest before launching again. False if these are not steps. */
static bool find_phase(const struct calls *c, const struct gp_period *period, size_t *phase)
{
    int64_t *gaps = gp_alloc(period->length * sizeof *gaps);
    *phase = 0;
    for (size_t i = 0; i < period->length; i++) {
        size_t n = (period->end - period->first - i - 1) / period->length + 1;
        gaps[i] = median_gap(c, period->first + i, period->length, n);
        if (gaps[i] > gaps[*phase]) *phase = i;
    }
    int64_t longest = gaps[*phase];
    qsort(gaps, period->length, sizeof *gaps, gp_order_i64);
    int64_t usual = gaps[(period->length - 1) / 2];
    free(gaps);
    if (usual < PAUSE_LEAST_NS) usual = PAUSE_LEAST_NS;
    return period->length >= LONG_CALLS || longest / PAUSE >= usual;
}

static void by_period(struct gp_steps_program *p, const struct calls *c)
{
    uint32_t *symbols = gp_alloc((c->v_.n + 1) * sizeof *symbols), number = 0;
    struct gp_period period;
    for (size_t i = 0; i < c->v_.n; i++) symbols[i] = c->v_.at[i].symbol;
    bool found = gp_period_find(&period, symbols, c->v_.n, 2);
    free(symbols);
    size_t phase;
    if (!found || (period.end - period.first) / period.length > GP_STEPS_MOST) return;
    if (!find_phase(c, &period, &phase)) return;
    size_t at = period.first + phase;
    if (at > period.first) add_window(p, c, period.first, at, number, true);
    for (; at + period.length <= period.end; at += period.length)
        add_window(p, c, at, at + period.length, ++number, false);
    if (at < period.end) add_window(p, c, at, period.end, ++number, true);
    p->source = GP_STEPS_PERIOD;
}

void gp_steps_by_launches(struct gp_steps_program *p, const struct gp_view *v)
{
    struct calls c = {.v = v, .p = p};
    c.symbol_of_config = gp_zalloc((v->t->configs.n + 1) * sizeof *c.symbol_of_config);
    GP_VEC_RESERVE(&c.v_, p->n);
    find_calls(&c);
    bool mostly_graphs = c.graphs >= 3 && c.graph_events >= p->n / 2;
    if (mostly_graphs) by_graphs(p, &c);
    if (!p->windows.n) by_period(p, &c);
    if (!p->windows.n && !mostly_graphs && c.graphs >= 3) by_graphs(p, &c);
    GP_VEC_FREE(&c.v_);
    GP_RELEASE(gp_map_release, &c.of_name, &c.is_graph);
    free(c.symbol_of_config);
    gp_strings_release(&c.labels);
}
