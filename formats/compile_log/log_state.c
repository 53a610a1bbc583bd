/* What is known while a file is read: issues, processes, the payload at hand. */
#include <stdlib.h>
#include "formats/compile_log/compile_log_priv.h"
#include "formats/compile_log/md5.h"

enum { MOST_PROCESSES = 4096 };
/* Larger numbers in the prefix are threads' addresses, as old versions wrote them. */
#define MOST_PID ((uint64_t)1 << 32)

/* ---- issues ---- */

static const char *const issue_names[] = {
#define X(id, name, text) name,
    GP_CLOG_ISSUES(X)
#undef X
};
static const char *const issue_texts[] = {
#define X(id, name, text) text,
    GP_CLOG_ISSUES(X)
#undef X
};

const char *gp_clog_issue_name(enum gp_clog_issue_kind kind)
{
    return issue_names[kind];
}

const char *gp_clog_issue_text(enum gp_clog_issue_kind kind)
{
    return issue_texts[kind];
}

void gp_clog_issues(struct gp_clog_input *in, enum gp_clog_issue_kind kind, uint64_t n, int64_t offset)
{
    struct gp_clog_issue *i = &in->issues[kind];
    if (!n) return;
    if (!i->count || (offset >= 0 && (i->first_offset < 0 || offset < i->first_offset)))
        i->first_offset = offset;
    i->count += n;
}

void gp_clog_issue(struct gp_clog_reader *rd, enum gp_clog_issue_kind kind, int64_t offset)
{
    gp_clog_issues(&rd->log->inputs.at[rd->input], kind, 1, offset);
}

/* ---- processes ---- */

/* A structured log and a text log of one process share its id. */
static uint32_t find_process(struct gp_clog_reader *rd, uint64_t pid, bool structured)
{
    struct gp_compile_log *log = rd->log;
    for (size_t i = log->processes.n; pid && i-- > 0;) {
        struct gp_clog_process *p = &log->processes.at[i];
        if (p->pid != pid) continue;
        if (structured && p->input != GP_CLOG_NONE) break; /* another machine's */
        if (structured) p->input = rd->input;
        return (uint32_t)i;
    }
    GP_VEC_PUSH(&log->processes, (struct gp_clog_process){
                                     .input = structured ? rd->input : GP_CLOG_NONE, .pid = pid, .rank = -1});
    return (uint32_t)log->processes.n - 1;
}

struct gp_clog_state *gp_clog_state_of(struct gp_clog_reader *rd)
{
    uint64_t pid = rd->line->process < MOST_PID ? rd->line->process : 0;
    bool structured = rd->line->text != NULL;
    for (size_t i = rd->states.n; i-- > 0;)
        if (rd->states.at[i].pid == pid || rd->states.n >= MOST_PROCESSES) {
            struct gp_clog_process *p = &rd->log->processes.at[rd->states.at[i].process];
            if (structured && p->input == GP_CLOG_NONE) p->input = rd->input;
            return &rd->states.at[i];
        }
    GP_VEC_PUSH(&rd->states,
                (struct gp_clog_state){.process = find_process(rd, pid, structured), .pid = pid});
    return &rd->states.at[rd->states.n - 1];
}

/* ---- payloads ---- */

static void check_digest(struct gp_clog_reader *rd)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[GP_MD5_BYTES];
    char text[2 * GP_MD5_BYTES];
    if (rd->context.digest.n != sizeof text) return;
    gp_md5(rd->payload.data, rd->payload_n, digest);
    for (int i = 0; i < GP_MD5_BYTES; i++) {
        text[2 * i] = hex[digest[i] >> 4];
        text[2 * i + 1] = hex[digest[i] & 15];
    }
    if (memcmp(text, rd->context.digest.p, sizeof text) != 0)
        gp_clog_issue(rd, GP_CLOG_DIGEST, rd->line->offset);
}

struct gp_span_text gp_clog_payload(struct gp_clog_reader *rd)
{
    static const char zeros[GP_JSON_PAD], of_nothing[] = "d41d8cd98f00b204e9800998ecf8427e";
    const struct gp_span_text digest = rd->context.digest;
    rd->payload.n = 0;
    if (rd->line->payload) gp_log_payload(rd->line, &rd->payload);
    else if (rd->context.has_payload && rd->line->complete && digest.n &&
             !gp_is(digest.p, digest.n, of_nothing))
        gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
    rd->payload_n = rd->payload.n;
    gp_buf_put(&rd->payload, zeros, sizeof zeros);
    if (rd->line->payload) check_digest(rd);
    return (struct gp_span_text){rd->payload.data, rd->payload_n};
}
