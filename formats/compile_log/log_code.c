/* Generated modules: their kernels, the contents of each, its number of calls. */
#include "formats/compile_log/compile_log_priv.h"

enum { MOST_KERNELS = 20000, RUNNABLE_HEAD = 1 << 14 };

static const char original[] = "Original ATen: [";
static const char sources[] = "# Topologically Sorted Source Nodes: [";

/* ---- the graph that is lowered ---- */

/* Operators that only look at memory in another way. */
static bool is_view(struct gp_span_text name)
{
    const char *dot = memchr(name.p, '.', name.n);
    size_t n = dot ? (size_t)(dot - name.p) : name.n;
    return n && gp_is_one_of(name.p, n,
                             " view reshape permute expand slice t transpose unsqueeze squeeze select "
                             "as_strided alias detach split split_with_sizes unbind diagonal view_of ");
}

void gp_clog_read_lowered(struct gp_clog_reader *rd)
{
    static const char call[] = "= torch.ops.";
    struct gp_span_text t = gp_clog_payload(rd), line;
    struct gp_clog_state *st = gp_clog_state_of(rd);
    st->graph_compile_id = rd->context.compile_id;
    st->operators = st->views = 0;
    while (gp_text_line(&t, &line)) {
        const char *p = gp_text_find(line, call);
        if (!p || *gp_text_trim(line).p == '#') continue;
        struct gp_span_text name = gp_text_from(line, p + sizeof call - 1);
        const char *dot = memchr(name.p, '.', name.n);
        st->operators++;
        st->views += dot && is_view(gp_text_from(name, dot + 1));
    }
}

/* ---- the module ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t indent_of(struct gp_span_text line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ') n++;
    return n;
}

static struct gp_clog_kernel *known_kernel(struct gp_compile_log *log, const struct gp_clog_graph *g,
                                           gp_sid name)
{
    for (uint32_t i = 0; i < g->n_kernels; i++)
        if (log->kernels.at[g->first_kernel + i].name == name) return &log->kernels.at[g->first_kernel + i];
    return NULL;
}

static struct gp_clog_kernel *find_kernel(struct gp_compile_log *log, struct gp_clog_graph *g, gp_sid name)
{
    struct gp_clog_kernel *known = known_kernel(log, g, name);
    if (known) return known;
    if (g->n_kernels >= MOST_KERNELS) return NULL;
    GP_VEC_PUSH(&log->kernels, (struct gp_clog_kernel){.name = name, .compile_ns = -1});
    g->n_kernels++;
    return &log->kernels.at[log->kernels.n - 1];
}

/* The elements of "a, b, c]...". */
static uint32_t each_name(struct gp_clog_reader *rd, struct gp_span_text t, bool keep)
{
    uint32_t n = 0;
    if (!t.n) return 0;
    const char *end = memchr(t.p, ']', t.n);
    if (end) t.n = (size_t)(end - t.p);
    while (t.n) {
        const char *comma = memchr(t.p, ',', t.n);
        struct gp_span_text name =
            gp_text_trim((struct gp_span_text){t.p, comma ? (size_t)(comma - t.p) : t.n});
        if (name.n) {
            n++;
            if (keep) GP_VEC_PUSH(&rd->log->operators, gp_clog_text_sid(rd, name));
        }
        t = comma ? gp_text_from(t, comma + 1) : (struct gp_span_text){t.p, 0};
    }
    return n;
}

/* Comments above the definition or the call of a kernel. */
struct comment {
    struct gp_span_text path, names, operators;
};

static void read_comment(struct comment *c, struct gp_span_text line)
{
    static const char path[] = "# kernel path: ";
    struct gp_span_text s = gp_text_trim(line);
    if (gp_text_begins(s, path)) {
        c->path = gp_text_trim(gp_text_from(s, s.p + sizeof path - 1));
    } else if (gp_text_begins(s, sources)) {
        const char *p = gp_text_find(s, original);
        c->names = gp_text_from(s, s.p + sizeof sources - 1);
        c->operators = p ? gp_text_from(s, p + sizeof original - 1) : (struct gp_span_text){s.p, 0};
    }
}

/* "NAME = async_compile.triton(" */
static void read_definition(struct gp_clog_reader *rd, struct gp_clog_graph *g, struct gp_span_text line,
                            struct comment *c)
{
    size_t n = 0;
    while (n < line.n && is_word(line.p[n])) n++;
    struct gp_clog_kernel *k = find_kernel(rd->log, g, gp_intern(&rd->log->strings, line.p, n));
    if (!k || k->n_operators) return;
    k->path = gp_clog_text_sid(rd, c->path);
    k->sources = each_name(rd, c->names, false);
    k->first_operator = (uint32_t)rd->log->operators.n;
    k->n_operators = each_name(rd, c->operators, true);
    *c = (struct comment){0};
}

/* What a line in the body of call() starts. */
static void read_call(struct gp_clog_reader *rd, struct gp_clog_graph *g, struct gp_span_text line)
{
    struct gp_span_text s = gp_text_trim(line);
    if (!s.n || *s.p == '#' || gp_text_begins(s, "assert_")) return;
    struct gp_clog_kernel *cpp;
    size_t n = 0;
    while (n < s.n && is_word(s.p[n])) n++;
    if (gp_text_begins(gp_text_from(s, s.p + n), ".run(")) {
        struct gp_clog_kernel *k = find_kernel(rd->log, g, gp_intern(&rd->log->strings, s.p, n));
        g->triton_calls++;
        if (k) k->calls++;
    } else if (n < s.n && s.p[n] == '(' &&
               (cpp = known_kernel(rd->log, g, gp_intern(&rd->log->strings, s.p, n)))) {
        g->triton_calls++; /* a kernel in C++ is a function */
        cpp->calls++;
    } else if (gp_text_find(s, "extern_kernels.")) {
        g->extern_calls++;
    } else if (gp_text_find(s, "torch.ops.") || gp_text_begins(s, "aten.") || gp_text_find(s, " = aten.")) {
        g->fallback_calls++;
    }
}

/* ['0_forward'] */
static enum gp_clog_direction direction_of(struct gp_span_text line)
{
    if (gp_text_find(line, "_forward'")) return GP_CLOG_FORWARD;
    if (gp_text_find(line, "_backward'")) return GP_CLOG_BACKWARD_GRAPH;
    return gp_text_find(line, "_inference'") ? GP_CLOG_INFERENCE : GP_CLOG_UNKNOWN;
}

static void read_module(struct gp_clog_reader *rd, struct gp_clog_graph *g, struct gp_span_text t)
{
    struct gp_span_text line;
    struct comment c = {0};
    bool in_call = false, in_text = false;
    size_t depth = 0;
    while (gp_text_line(&t, &line)) {
        if (in_text) { /* the source of a kernel, between ''' and ''' */
            in_text = !gp_text_begins(line, "'''");
            continue;
        }
        struct gp_span_text s = gp_text_trim(line);
        if (!s.n) continue;
        if (in_call && indent_of(line) <= depth) in_call = false;
        if (gp_text_begins(s, "def call(") || gp_text_begins(s, "def partition_")) {
            in_call = true;
            depth = indent_of(line);
        } else if (in_call) {
            read_call(rd, g, line);
        } else if (*s.p == '#') {
            if (gp_text_begins(s, "# AOT ID: ")) g->direction = (uint8_t)direction_of(s);
            else read_comment(&c, line);
        } else if (is_word(*line.p) && gp_text_find(line, " = async_compile.")) {
            read_definition(rd, g, line, &c);
            in_text = gp_ends(line.p, line.n, "'''");
        }
    }
}

static gp_sid path_of(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct gp_json_value key, value;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    gp_sid sid = 0;
    while (p && gp_json_next(&p, v->p + v->n, &key, &value))
        if (gp_json_is(&key, "filename") || (!sid && gp_json_is(&key, "file_path")))
            sid = gp_clog_sid(rd, &value);
    return sid;
}

void gp_clog_read_code(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct gp_compile_log *log = rd->log;
    struct gp_span_text t = gp_clog_payload(rd);
    struct gp_clog_state *st = gp_clog_state_of(rd);
    bool lowered = st->graph_compile_id && st->graph_compile_id == rd->context.compile_id;
    struct gp_clog_graph g = {.process = st->process,
                              .compile_id = rd->context.compile_id,
                              .path = path_of(rd, v),
                              .operators = lowered ? st->operators : -1,
                              .views = lowered ? st->views : -1,
                              .first_kernel = (uint32_t)log->kernels.n,
                              .nodes_before = -1,
                              .nodes_after = -1};
    st->graph_compile_id = 0;
    read_module(rd, &g, t);
    if (log->keep_code) g.code = gp_clog_text_sid(rd, t);
    GP_VEC_PUSH(&log->graphs, g);
}

/* ---- how kernels were compiled ---- */

static void fill_kernel(struct gp_clog_reader *rd, struct gp_clog_kernel *k, const struct gp_json_value *v)
{
    struct gp_json_value key, value;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, v->p + v->n, &key, &value)) {
        if (gp_json_is(&key, "compile_time_us")) k->compile_ns = gp_clog_ns(&value, 0);
        else if (gp_json_is(&key, "num_configs")) k->configs = (uint64_t)gp_clog_int(&value, 0);
        else if (gp_json_is(&key, "only_config")) {
            k->configs = 1;
            k->config = gp_clog_text_sid(rd, (struct gp_span_text){value.p, value.n});
        }
    }
}

/* The kernels are those of the last graph of the process. */
void gp_clog_read_kernel_info(struct gp_clog_reader *rd)
{
    struct gp_compile_log *log = rd->log;
    const char *end, *p = gp_clog_payload_object(rd, &end);
    uint32_t process = gp_clog_state_of(rd)->process;
    struct gp_json_value key, v;
    size_t i = log->graphs.n;
    while (i && log->graphs.at[i - 1].process != process) i--;
    while (p && i && gp_json_next(&p, end, &key, &v)) {
        const struct gp_clog_graph *g = &log->graphs.at[i - 1];
        gp_sid name = gp_intern(&log->strings, key.p, key.n);
        for (uint32_t k = 0; k < g->n_kernels; k++)
            if (log->kernels.at[g->first_kernel + k].name == name)
                fill_kernel(rd, &log->kernels.at[g->first_kernel + k], &v);
    }
}

/* The head of the script that repeats the compilation sets options that differ from the default. */
void gp_clog_read_options(struct gp_clog_reader *rd)
{
    struct gp_span_text t = gp_clog_payload(rd);
    uint32_t process = gp_clog_state_of(rd)->process;
    struct gp_clog_process *p = &rd->log->processes.at[process];
    if (t.n > RUNNABLE_HEAD) t.n = RUNNABLE_HEAD;
    p->scripts++;
    p->cudagraphs += gp_text_find(t, "\ntorch._inductor.config.triton.cudagraphs = True") != NULL;
    p->max_autotune += gp_text_find(t, "\ntorch._inductor.config.max_autotune = True") != NULL;
    p->coordinate_descent +=
        gp_text_find(t, "\ntorch._inductor.config.coordinate_descent_tuning = True") != NULL;
}
