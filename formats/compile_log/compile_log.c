
#include <stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/num.h"
#include "formats/compile_log/compile_log_priv.h"
#include "formats/base/order.h"

/* ---- records ---- */

typedef void handler(struct gp_clog_reader *rd, const struct gp_json_value *v);

#define ON(name, read)                                                                                       \
    static void name(struct gp_clog_reader *rd, GP_UNUSED const struct gp_json_value *v) { read; }
ON(on_metrics, gp_clog_read_metrics(rd, v, GP_CLOG_FRAME))
ON(on_backward, gp_clog_read_metrics(rd, v, GP_CLOG_BACKWARD))
ON(on_runtime, gp_clog_read_metrics(rd, v, GP_CLOG_RUNTIME))
ON(on_break, gp_clog_read_break(rd, gp_clog_payload(rd), GP_CLOG_FROM_ARTIFACT))
ON(on_recompiles, gp_clog_read_recompiles(rd))
ON(on_lowered, gp_clog_read_lowered(rd))
ON(on_kernel_info, gp_clog_read_kernel_info(rd))
ON(on_options, gp_clog_read_options(rd))
ON(on_fx_miss, gp_clog_read_cache(rd, GP_CLOG_FX, GP_CLOG_MISS))
ON(on_fx_hit, gp_clog_read_cache(rd, GP_CLOG_FX, GP_CLOG_HIT))
ON(on_fx_bypass, gp_clog_read_cache(rd, GP_CLOG_FX, GP_CLOG_BYPASS))
ON(on_fx_disabled, gp_clog_read_cache(rd, GP_CLOG_FX, GP_CLOG_DISABLED))
ON(on_aot_miss, gp_clog_read_cache(rd, GP_CLOG_AOT, GP_CLOG_MISS))
ON(on_aot_hit, gp_clog_read_cache(rd, GP_CLOG_AOT, GP_CLOG_HIT))
ON(on_aot_bypass, gp_clog_read_cache(rd, GP_CLOG_AOT, GP_CLOG_BYPASS))

/* {"str": ["file.py", 12]} */
static void on_file_name(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct gp_json_value value;
    const char *p = gp_clog_inside(v, GP_JSON_ARRAY);
    gp_sid sid = 0;
    while (p && gp_json_next(&p, v->p + v->n, NULL, &value)) {
        int64_t number = gp_clog_int(&value, -1);
        if (number >= 0) *gp_map_put(&rd->files, (uint64_t)number, 0) = sid;
        else sid = gp_clog_sid(rd, &value);
    }
}

/* One frame of a stack: the compiled function stands last. */
static void read_frame(struct gp_clog_reader *rd, struct gp_clog_start *to, const struct gp_json_value *frame)
{
    struct gp_json_value key, v;
    const char *p = gp_clog_inside(frame, GP_JSON_OBJECT);
    to->name = to->file = 0;
    while (p && gp_json_next(&p, frame->p + frame->n, &key, &v)) {
        if (gp_json_is(&key, "name")) to->name = gp_clog_sid(rd, &v);
        else if (gp_json_is(&key, "line")) to->line = (int32_t)gp_clog_int(&v, -1);
        else if (gp_json_is(&key, "uninterned_filename")) to->file = gp_clog_sid(rd, &v);
        else if (gp_json_is(&key, "filename")) {
            int64_t number = gp_clog_int(&v, -1);
            const uint32_t *known = number >= 0 ? gp_map_get(&rd->files, (uint64_t)number) : NULL;
            if (known) to->file = *known;
            else if (number >= 0) gp_clog_issue(rd, GP_CLOG_STRING, rd->line->offset);
            else to->file = gp_clog_sid(rd, &v);
        }
    }
}

/* {"dynamo_start": {"stack": [...]}} */
static void on_start(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct gp_json_value key, value, frame;
    struct gp_clog_start start = {.process = gp_clog_state_of(rd)->process,
                                  .compile_id = rd->context.compile_id};
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, v->p + v->n, &key, &value)) {
        const char *q = gp_json_is(&key, "stack") ? gp_clog_inside(&value, GP_JSON_ARRAY) : NULL;
        while (q && gp_json_next(&q, value.p + value.n, NULL, &frame)) read_frame(rd, &start, &frame);
    }
    if (start.compile_id && start.name) GP_VEC_PUSH(&rd->log->starts, start);
}

static const struct {
    const char *name;
    bool artifact;
    handler *read;
} records[] = {
    {"chromium_event", false, gp_clog_read_event},
    {"str", false, on_file_name},
    {"dynamo_start", false, on_start},
    {"compilation_metrics", false, on_metrics},
    {"bwd_compilation_metrics", false, on_backward},
    {"compilation_metrics_runtime", false, on_runtime},
    {"bwd_compilation_metrics_runtime", false, on_runtime},
    {"inductor_post_grad_graph", false, on_lowered},
    {"inductor_output_code", false, gp_clog_read_code},
    {"inductor_post_grad_graph", true, on_lowered},
    {"dynamo_graph_break_reason", true, on_break},
    {"recompile_reasons", true, on_recompiles},
    {"fx_graph_cache_miss", true, on_fx_miss},
    {"fx_graph_cache_hit", true, on_fx_hit},
    {"fx_graph_cache_bypass", true, on_fx_bypass},
    {"fx_graph_cache_disabled", true, on_fx_disabled},
    {"aotautograd_cache_miss", true, on_aot_miss},
    {"aotautograd_cache_hit", true, on_aot_hit},
    {"aotautograd_cache_bypass", true, on_aot_bypass},
    {"triton_kernel_info", true, on_kernel_info},
    {"fx_graph_runnable", true, on_options},
};

static handler *find_handler(const struct gp_json_value *name, bool artifact)
{
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (records[i].artifact == artifact && gp_json_is(name, records[i].name)) return records[i].read;
    return NULL;
}

/* ---- metadata ---- */

struct ids {
    int64_t autograd, frame, compile;
};

/* Is KEY part of the context? It is then noted. */
static bool read_context(struct gp_clog_reader *rd, struct ids *ids, const struct gp_json_value *key,
                         const struct gp_json_value *v)
{
    if (gp_json_is(key, "frame_id")) ids->frame = gp_clog_int(v, -1);
    else if (gp_json_is(key, "frame_compile_id")) ids->compile = gp_clog_int(v, -1);
    else if (gp_json_is(key, "compiled_autograd_id")) ids->autograd = gp_clog_int(v, -1);
    else if (gp_json_is(key, "attempt")) rd->context.attempt = (int32_t)gp_clog_int(v, 0);
    else if (gp_json_is(key, "rank")) {
        int64_t rank = gp_clog_int(v, -1);
        uint32_t process = gp_clog_state_of(rd)->process;
        if (rank >= 0 && rank < INT32_MAX) rd->log->processes.at[process].rank = (int32_t)rank;
    } else if (gp_json_is(key, "has_payload")) {
        rd->context.has_payload = true;
        rd->context.digest = (struct gp_span_text){v->p, v->kind == GP_JSON_STRING ? v->n : 0};
    } else {
        return gp_json_is(key, "stack");
    }
    return true;
}

static gp_sid intern_ids(struct gp_compile_log *log, const struct ids *ids)
{
    struct gp_buf b = {0};
    if (ids->autograd >= 0) gp_buf_printf(&b, "!%lld", (long long)ids->autograd);
    if (ids->autograd >= 0 && ids->frame >= 0) gp_buf_putc(&b, '/');
    if (ids->frame >= 0)
        gp_buf_printf(&b, "%lld/%lld", (long long)ids->frame,
                      (long long)(ids->compile < 0 ? 0 : ids->compile));
    gp_sid sid = b.n ? gp_intern(&log->strings, b.data, b.n) : 0;
    gp_buf_release(&b);
    return sid;
}

static bool artifact_name(const struct gp_json_value *v, struct gp_json_value *name)
{
    struct gp_json_value key, value;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, v->p + v->n, &key, &value))
        if (gp_json_is(&key, "name")) {
            *name = value;
            return true;
        }
    return false;
}

/* The object that follows the prefix. */
static void read_record(struct gp_clog_reader *rd)
{
    struct gp_clog_input *in = &rd->log->inputs.at[rd->input];
    const char *s = rd->line->text, *end = s + rd->line->text_n, *at = s;
    struct gp_json_value all, key, v, name = {0}, value = {0};
    struct ids ids = {-1, -1, -1};
    in->records++;
    rd->last_damaged = false;
    if (!gp_json_value(s, end, &all, &at) || all.kind != GP_JSON_OBJECT) {
        in->damaged++;
        rd->last_damaged = true;
        gp_clog_issue(rd, GP_CLOG_DAMAGED, rd->line->offset);
        return;
    }
    rd->context = (struct gp_clog_context){0};
    const char *p = all.p + 1;
    while (gp_json_next(&p, end, &key, &v))
        if (!read_context(rd, &ids, &key, &v) && !name.p) name = key, value = v;
    rd->context.compile_id = intern_ids(rd->log, &ids);
    struct gp_json_value inner;
    bool artifact = name.p && gp_json_is(&name, "artifact");
    if (artifact && artifact_name(&value, &inner)) name = inner;
    handler *read = name.p ? find_handler(&name, artifact) : NULL;
    if (read) {
        in->used++;
        read(rd, &value);
    } else {
        in->skipped++;
    }
}

/* ---- a file ---- */

bool gp_compile_log_sniff(const uint8_t *head, size_t n) { return gp_log_sniff(head, n); }

/* "dedicated_log_torch_trace_rank_3_x.log": a process that compiles before it knows its rank. */
static void rank_of_name(struct gp_compile_log *log, uint32_t input, const char *path)
{
    static const char words[] = "torch_trace_rank_";
    const char *p = strstr(path, words);
    uint64_t v;
    size_t n = 0;
    if (!p) return;
    p += sizeof words - 1;
    while (p[n] >= '0' && p[n] <= '9') n++;
    if (!gp_u64_from_text(p, n, &v) || v >= INT32_MAX) return;
    for (size_t i = 0; i < log->processes.n; i++)
        if (log->processes.at[i].input == input && log->processes.at[i].rank < 0)
            log->processes.at[i].rank = (int32_t)v;
}

void gp_compile_log_read(struct gp_compile_log *log, struct gp_input *in, const char *path)
{
    struct gp_log_lines lines;
    struct gp_log_line line;
    struct gp_clog_reader rd = {.log = log, .input = (uint32_t)log->inputs.n, .line = &line};
    bool complete = true;
    int64_t last = 0;
    GP_VEC_PUSH(&log->inputs, (struct gp_clog_input){.path = gp_intern_cstr(&log->strings, path)});
    gp_log_lines_init(&lines, in);
    lines.progress = log->progress;
    lines.progress_ctx = log->progress_ctx;
    while (gp_log_lines_next(&lines, &line)) {
        complete = line.complete;
        last = line.offset;
        if (line.text_n && *line.text == '{') {
            read_record(&rd);
        } else {
            log->inputs.at[rd.input].texts++;
            gp_clog_read_text(&rd);
        }
    }
    gp_clog_end_message(&rd);
    gp_clog_close_events(&rd);
    if (!complete || rd.last_damaged) gp_clog_issue(&rd, GP_CLOG_TRUNCATED, last);
    struct gp_clog_input *it = &rd.log->inputs.at[rd.input];
    struct gp_err err = {.offset = -1};
    it->bytes = lines.stats.bytes;
    it->compression = gp_intern_cstr(&rd.log->strings, gp_input_compression(in));
    gp_clog_issues(it, GP_CLOG_NOISE, lines.stats.noise, lines.stats.first_noise);
    gp_clog_issues(it, GP_CLOG_ORPHAN, lines.stats.orphans, lines.stats.first_orphan);
    gp_clog_issues(it, GP_CLOG_LIMIT, lines.stats.too_long, lines.stats.first_too_long);
    if (gp_input_status(in, &err)) gp_clog_issues(it, GP_CLOG_COMPRESSION, 1, err.offset);
    rank_of_name(log, rd.input, path);
    for (size_t i = 0; i < rd.states.n; i++) GP_VEC_FREE(&rd.states.at[i].stack);
    GP_VEC_FREE(&rd.states);
    gp_map_release(&rd.files);
    GP_RELEASE(gp_buf_release, &rd.payload, &rd.scratch, &rd.message.text, &rd.message.artifact);
    gp_log_lines_release(&lines);
}

void gp_compile_log_release(struct gp_compile_log *log)
{
    gp_strings_release(&log->strings);
    GP_RELEASE(gp_vec_free, &log->inputs, &log->processes, &log->spans, &log->metrics, &log->starts,
               &log->restarts, &log->breaks, &log->recompiles, &log->caches, &log->graphs, &log->kernels,
               &log->operators, &log->rounds, &log->skips, &log->recordings, &log->unfused);
    *log = (struct gp_compile_log){0};
}

/* ---- folders ---- */

enum { MOST_FILES = 100000 };
static const char prefix[] = "dedicated_log_torch_trace_";

bool gp_log_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int gp_log_folder(const char *path, struct gp_log_files *files, struct gp_err *err)
{
    size_t from = files->at.n;
    DIR *dir = opendir(path);
    if (!dir) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    for (struct dirent *e; files->at.n - from < MOST_FILES && (e = readdir(dir));) {
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0) continue;
        size_t n = strlen(path) + strlen(e->d_name) + 2;
        char *copy = gp_alloc(n);
        snprintf(copy, n, "%s/%s", path, e->d_name);
        GP_VEC_PUSH(&files->at, copy);
    }
    closedir(dir);
    if (files->at.n == from)
        return gp_fail(err, GP_E_FORMAT, -1, "%s: is a directory without %s* files", path, prefix);
    qsort(files->at.at + from, files->at.n - from, sizeof *files->at.at, gp_order_text);
    return 0;
}

void gp_log_files_release(struct gp_log_files *files)
{
    for (size_t i = 0; i < files->at.n; i++) free(files->at.at[i]);
    GP_VEC_FREE(&files->at);
}
