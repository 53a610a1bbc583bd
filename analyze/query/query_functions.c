/* Functions of stacks. */
#include <stdlib.h>
#include <string.h>
#include "analyze/names/pattern.h"
#include "analyze/query/query_sql_priv.h"
#include "formats/base/buf.h"

/* The frame of a stack; NULL if it is none. */
static const struct gp_query_frame *frame_of(const struct gp_query *q, sqlite3_value *stack)
{
    int64_t id = sqlite3_value_int64(stack);
    return q && id > 0 && (uint64_t)id < q->frames.n ? &q->frames.at[id] : NULL;
}

static void put_name(sqlite3_context *to, const struct gp_query *q, gp_sid sid)
{
    if (sid)
        sqlite3_result_text(to, gp_string(&q->names, sid), (int)gp_string_len(&q->names, sid), SQLITE_STATIC);
}

/* line(), module(), range(), backward(): which one, their name says. */
static void sql_frame(sqlite3_context *to, int n, sqlite3_value **args)
{
    const struct gp_sql_function *call = sqlite3_user_data(to);
    const struct gp_query *q = call->s->q;
    const struct gp_query_frame *f = frame_of(q, args[0]);
    (void)n;
    if (!f) return;
    if (*call->name == 'l') put_name(to, q, f->line);
    else if (*call->name == 'm') put_name(to, q, q->frames.at[f->module].name);
    else if (*call->name == 'r') put_name(to, q, q->frames.at[f->range].name);
    else sqlite3_result_int(to, f->backward);
}

/* ---- under() ---- */

void gp_sql_forget_patterns(struct gp_sql *s)
{
    for (size_t i = 0; i < GP_SQL_PATTERNS; i++) {
        free(s->patterns[i].text);
        free(s->patterns[i].hit);
        s->patterns[i] = (struct gp_sql_pattern){0};
    }
}

/* Each name is compared once; parents come before their children. */
static uint8_t *match_frames(const struct gp_query *q, const regex_t *regex)
{
    enum { NOT_ASKED, NO, YES };
    uint8_t *hit = gp_zalloc(q->frames.n + 1), *by_name = gp_zalloc((size_t)q->names.n + 1);
    for (size_t i = 1; i < q->frames.n; i++) {
        const struct gp_query_frame *f = &q->frames.at[i];
        hit[i] = hit[f->parent];
        if (hit[i]) continue;
        if (by_name[f->name] == NOT_ASKED)
            by_name[f->name] = regexec(regex, gp_string(&q->names, f->name), 0, NULL, 0) ? NO : YES;
        hit[i] = by_name[f->name] == YES;
    }
    free(by_name);
    return hit;
}

static const uint8_t *hits_of(struct gp_sql *s, const char *text, char *why)
{
    regex_t regex;
    for (size_t i = 0; i < GP_SQL_PATTERNS; i++)
        if (s->patterns[i].text && !strcmp(s->patterns[i].text, text)) return s->patterns[i].hit;
    if (gp_pattern_compile(&regex, text, 0, why)) return NULL;
    struct gp_sql_pattern *p = &s->patterns[s->next_pattern++ % GP_SQL_PATTERNS];
    free(p->text);
    free(p->hit);
    p->text = gp_strdup(text);
    p->hit = match_frames(s->q, &regex);
    regfree(&regex);
    return p->hit;
}

static void sql_under(sqlite3_context *to, int n, sqlite3_value **args)
{
    struct gp_sql *s = ((const struct gp_sql_function *)sqlite3_user_data(to))->s;
    const char *text = (const char *)sqlite3_value_text(args[1]);
    char why[GP_PATTERN_WHY];
    (void)n;
    if (!s->q || !text) return;
    const uint8_t *hit = hits_of(s, text, why);
    if (!hit) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "under(): not a regular expression: %s", why);
        sqlite3_result_error(to, gp_buf_str(&b), -1);
        gp_buf_release(&b);
        return;
    }
    const struct gp_query_frame *f = frame_of(s->q, args[0]);
    sqlite3_result_int(to, f && hit[f - s->q->frames.at]);
}

int gp_sql_make_functions(struct gp_sql *s)
{
    static const char *const names[GP_SQL_FUNCTIONS] = {"under", "line", "module", "range", "backward"};
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int rc = SQLITE_OK;
    for (int i = 0; i < GP_SQL_FUNCTIONS && rc == SQLITE_OK; i++) {
        s->functions[i] = (struct gp_sql_function){s, names[i]};
        rc = sqlite3_create_function_v2(s->db, names[i], i ? 1 : 2, flags, &s->functions[i],
                                        i ? sql_frame : sql_under, NULL, NULL, NULL);
    }
    return rc;
}
