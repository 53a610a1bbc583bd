/* compilation_metrics: one row a compile, whatever version wrote it. */
#include "formats/base/order.h"
#include "formats/compile_log/compile_log_priv.h"

enum how { INTEGER, MICROSECONDS, SECONDS, TEXT, LINE, GUARDED };

struct field {
    const char *key;
    enum how how;
    size_t offset;
};

#define AT(member) offsetof(struct gp_clog_metrics, member)
/* The first field of a member that is there counts: microseconds come before seconds. */
static const struct field fields[] = {
    {"co_name", TEXT, AT(name)},
    {"co_filename", TEXT, AT(file)},
    {"co_firstlineno", LINE, AT(line)},
    {"start_time_us", MICROSECONDS, AT(begin_ns)},
    {"start_time", SECONDS, AT(begin_ns)},
    {"end_time_us", MICROSECONDS, AT(end_ns)},
    {"graph_op_count", INTEGER, AT(graph_ops)},
    {"graph_node_count", INTEGER, AT(nodes)},
    {"graph_input_count", INTEGER, AT(inputs)},
    {"guard_count", INTEGER, AT(guards)},
    {"cache_size", INTEGER, AT(cache_size)},
    {"dynamo_cumulative_compile_time_us", MICROSECONDS, AT(frame_ns)},
    {"entire_frame_compile_time_s", SECONDS, AT(frame_s_ns)},
    {"aot_autograd_cumulative_compile_time_us", MICROSECONDS, AT(backend_ns)},
    {"backend_compile_time_s", SECONDS, AT(backend_ns)},
    {"inductor_cumulative_compile_time_us", MICROSECONDS, AT(inductor_ns)},
    {"inductor_compile_time_s", SECONDS, AT(inductor_ns)},
    {"inductor_code_gen_cumulative_compile_time_us", MICROSECONDS, AT(codegen_ns)},
    {"code_gen_time_s", SECONDS, AT(codegen_ns)},
    {"backward_cumulative_compile_time_us", MICROSECONDS, AT(backward_ns)},
    {"runtime_triton_autotune_time_us", MICROSECONDS, AT(autotune_ns)},
    {"runtime_cudagraphify_time_us", MICROSECONDS, AT(cudagraph_ns)},
    {"structured_logging_overhead_us", MICROSECONDS, AT(logging_ns)},
    {"structured_logging_overhead_s", SECONDS, AT(logging_ns)},
    {"gc_time_us", MICROSECONDS, AT(gc_ns)},
    {"fail_type", TEXT, AT(fail_type)},
    {"fail_reason", TEXT, AT(fail_reason)},
    {"fail_user_frame_filename", TEXT, AT(fail_file)},
    {"fail_user_frame_lineno", LINE, AT(fail_line)},
    {"has_guarded_code", GUARDED, AT(has_guarded_code)},
    {"recompile_reason", TEXT, AT(recompile_reason)},
    {"cudagraph_skip_reason", TEXT, AT(skip_reason)},
};

static void set_ns(int64_t *to, const struct gp_json_value *v, int shift, bool first)
{
    int64_t ns = gp_clog_ns(v, shift);
    if (ns >= 0 && (first || *to < 0)) *to = ns;
}

static void set_field(struct gp_clog_reader *rd, struct gp_clog_metrics *m, const struct field *f,
                      const struct gp_json_value *v)
{
    char *at = (char *)m + f->offset;
    switch (f->how) {
    case INTEGER: *(int64_t *)(void *)at = gp_clog_int(v, -1); break;
    case MICROSECONDS: set_ns((int64_t *)(void *)at, v, 0, true); break;
    case SECONDS: set_ns((int64_t *)(void *)at, v, 6, false); break;
    case TEXT: *(gp_sid *)(void *)at = gp_clog_sid(rd, v); break;
    case LINE: *(int32_t *)(void *)at = (int32_t)gp_clog_int(v, -1); break;
    case GUARDED:
        if (v->kind == GP_JSON_WORD && *v->p != 'n') m->has_guarded_code = gp_clog_true(v);
        break;
    }
}

/* The versions that the process runs. */
static bool set_environment(struct gp_clog_reader *rd, struct gp_clog_process *p,
                            const struct gp_json_value *key, const struct gp_json_value *v)
{
    gp_sid *to = gp_json_is(key, "pytorch_version")  ? &p->torch
                 : gp_json_is(key, "cuda_version")   ? &p->cuda
                 : gp_json_is(key, "triton_version") ? &p->triton
                 : gp_json_is(key, "python_version") ? &p->python
                                                     : NULL;
    if (!to) return false;
    if (v->kind == GP_JSON_STRING) *to = gp_clog_sid(rd, v);
    return true;
}

/* [["triton_poi_fused_add_0", 183845], ...] in a string. */
static int64_t sum_kernel_times(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct gp_json_value all, pair, value;
    int64_t sum = 0;
    if (!gp_clog_nested(rd, v, &all)) return -1;
    const char *p = gp_clog_inside(&all, GP_JSON_ARRAY), *end = all.p + all.n;
    while (p && gp_json_next(&p, end, NULL, &pair)) {
        const char *q = gp_clog_inside(&pair, GP_JSON_ARRAY);
        while (q && gp_json_next(&q, pair.p + pair.n, NULL, &value)) {
            int64_t ns = gp_clog_ns(&value, 0);
            if (ns > 0 && sum < INT64_MAX - ns) sum += ns;
        }
    }
    return sum;
}

GP_COMPARE_IN(by_text, gp_sid, struct gp_compile_log,
              GP_THEN(strcmp(gp_clog_str(of, *x), gp_clog_str(of, *y))))

/* In the order of their texts: the log writes a set. Of several sets in one row, the last one counts. */
static void add_restarts(struct gp_clog_reader *rd, struct gp_clog_metrics *m, const struct gp_json_value *v)
{
    struct gp_compile_log *log = rd->log;
    struct gp_json_value value;
    const char *p = gp_clog_inside(v, GP_JSON_ARRAY);
    m->first_restart = (uint32_t)log->restarts.n;
    while (p && gp_json_next(&p, v->p + v->n, NULL, &value)) {
        gp_sid sid = gp_clog_sid(rd, &value);
        if (sid) GP_VEC_PUSH(&log->restarts, sid);
    }
    m->n_restarts = (uint32_t)log->restarts.n - m->first_restart;
    gp_sort_in(GP_VEC_FROM(&log->restarts, m->first_restart), m->n_restarts, sizeof *log->restarts.at,
               by_text, log);
}

static void read_member(struct gp_clog_reader *rd, struct gp_clog_metrics *m, const struct gp_json_value *key,
                        const struct gp_json_value *v)
{
    int32_t attempt;
    if (v->kind == GP_JSON_WORD && *v->p == 'n') return; /* null */
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (gp_json_is(key, fields[i].key)) {
            set_field(rd, m, &fields[i], v);
            return;
        }
    if (set_environment(rd, &rd->log->processes.at[m->process], key, v)) return;
    if (gp_json_is(key, "restart_reasons")) add_restarts(rd, m, v);
    else if (gp_json_is(key, "triton_kernel_compile_times_us"))
        m->kernel_compile_ns = sum_kernel_times(rd, v);
    else if (gp_json_is(key, "compile_id") && v->kind == GP_JSON_STRING && !m->compile_id)
        m->compile_id = gp_clog_compile_id(rd, v->p, v->n, &attempt);
}

void gp_clog_read_metrics(struct gp_clog_reader *rd, const struct gp_json_value *v,
                          enum gp_clog_metrics_kind kind)
{
    struct gp_json_value key, value;
    struct gp_clog_metrics m = {.process = gp_clog_state_of(rd)->process,
                                .kind = (uint8_t)kind,
                                .has_guarded_code = -1,
                                .compile_id = rd->context.compile_id,
                                .line = -1,
                                .fail_line = -1,
                                .attempts = 1 + rd->context.attempt};
    int64_t *const unknown[] = {&m.begin_ns,    &m.end_ns,
                                &m.graph_ops,   &m.nodes,
                                &m.inputs,      &m.guards,
                                &m.cache_size,  &m.frame_ns,
                                &m.backend_ns,  &m.inductor_ns,
                                &m.codegen_ns,  &m.backward_ns,
                                &m.frame_s_ns,  &m.kernel_compile_ns,
                                &m.autotune_ns, &m.cudagraph_ns,
                                &m.logging_ns,  &m.gc_ns};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) *unknown[i] = -1;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, v->p + v->n, &key, &value)) read_member(rd, &m, &key, &value);
    if (m.frame_ns < 0) m.frame_ns = m.frame_s_ns;
    GP_VEC_PUSH(&rd->log->metrics, m);
    if (m.fail_type) gp_clog_read_failure(rd, &m);
}
