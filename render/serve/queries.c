#include "render/serve/queries.h"

#include <string.h>
#include "render/catalog/catalog.h"
#include "render/serve/request.h"

#define HTML                                                                                                 \
    {                                                                                                        \
        "html", "text/html; charset=utf-8",                                                                  \
        {                                                                                                    \
            "--format=html"                                                                                  \
        }                                                                                                    \
    }
#define JSON                                                                                                 \
    {                                                                                                        \
        "json", "application/json",                                                                          \
        {                                                                                                    \
            "--format=json"                                                                                  \
        }                                                                                                    \
    }
#define TEXT                                                                                                 \
    {                                                                                                        \
        "text", "text/plain; charset=utf-8",                                                                 \
        {                                                                                                    \
            "--format=text", "--width=120"                                                                   \
        }                                                                                                    \
    }
#define CSV                                                                                                  \
    {                                                                                                        \
        "csv", "text/csv; charset=utf-8",                                                                    \
        {                                                                                                    \
            "--format=csv"                                                                                   \
        }                                                                                                    \
    }
#define SVG                                                                                                  \
    {                                                                                                        \
        "svg", "image/svg+xml",                                                                              \
        {                                                                                                    \
            "--format=svg"                                                                                   \
        }                                                                                                    \
    }
#define DOT                                                                                                  \
    {                                                                                                        \
        "dot", "text/vnd.graphviz; charset=utf-8",                                                           \
        {                                                                                                    \
            "--format=dot"                                                                                   \
        }                                                                                                    \
    }
#define ONE "trace"

const struct gp_query gp_queries[] = {
    {"hta",
     "report",
     "Report",
     "trace-hta",
     GP_CATALOG_TRACE,
     {JSON,
      HTML,
      TEXT,
      CSV,
      DOT,
      {"openmetrics",
       "application/openmetrics-text; version=1.0.0; charset=utf-8",
       {"--format=openmetrics"}}},
     {"top", "step-marker"},
     {"--each-step"},
     ONE},
    {"timeline",
     "timeline",
     "Timeline",
     "trace2timeline",
     GP_CATALOG_TRACE,
     {HTML, SVG, {"json", "application/json", {"--format=chrome"}}},
     {"range", "steps", "max-size", "detail", "step-marker"},
     {"--quiet"},
     ONE},
    {"flame",
     "flame",
     "Flame graph",
     "trace2flame",
     GP_CATALOG_TRACE,
     {HTML,
      SVG,
      {"json", "application/json", {"--format=speedscope"}},
      {"folded", "text/plain; charset=utf-8", {"--format=folded"}},
      {"pprof", "application/octet-stream", {"--format=pprof"}}},
     {"weight", "filter", "min-duration", "max-depth", "step-marker"},
     {NULL},
     ONE},
    {"advice",
     "advice",
     "Advice",
     "trace-suggest",
     GP_CATALOG_TRACE,
     {JSON, HTML, TEXT, DOT},
     {"top", "min-saving", "rule", "step-marker"},
     {NULL},
     ONE},
    {"kernels",
     NULL,
     NULL,
     "trace-hta",
     GP_CATALOG_TRACE,
     {JSON,
      HTML,
      {"csv", "text/csv; charset=utf-8", {"--format=csv", "--table=kernels"}},
      {"text", "text/plain; charset=utf-8", {"--format=text", "--table=kernels", "--width=120"}}},
     {"step-marker"},
     {"--top=0"},
     ONE},
    {"memory",
     "memory",
     "Memory",
     "trace-memory",
     GP_CATALOG_TRACE | GP_CATALOG_SNAPSHOT,
     {JSON, HTML, TEXT, CSV, {"folded", "text/plain; charset=utf-8", {"--format=folded"}}},
     {"at", "by", "device", "min-bytes", "top"},
     {NULL},
     ONE},
    {"compile",
     "compile",
     "torch.compile",
     "trace-compile",
     GP_CATALOG_TRACE | GP_CATALOG_COMPILE_LOG,
     {JSON, HTML, TEXT},
     {"top"},
     {NULL},
     ONE},
    {"metrics",
     "metrics",
     "Counters",
     "trace-metrics",
     GP_CATALOG_TRACE,
     {JSON, HTML, TEXT, CSV},
     {"top"},
     {NULL},
     ONE},
    {"compare",
     NULL,
     NULL,
     "trace-diff",
     GP_CATALOG_TRACE,
     {JSON, HTML, TEXT, SVG, DOT},
     {"by", "mode", "threshold", "alpha", "top", "step-marker", "!cross-gpu", "!any-work"},
     {NULL},
     "two"},
    {"perfetto",
     NULL,
     NULL,
     "trace-convert",
     GP_CATALOG_TRACE,
     {{"perfetto", "application/octet-stream", {"--to=perfetto"}},
      {"json", "application/json", {"--to=chrome"}}},
     {NULL},
     {NULL},
     ONE},
    {0},
};

const struct gp_query *gp_query_named(const char *name)
{
    for (const struct gp_query *q = gp_queries; name && q->name; q++)
        if (!strcmp(q->name, name)) return q;
    return NULL;
}

const struct gp_query *gp_query_of_page(const char *page)
{
    for (const struct gp_query *q = gp_queries; q->name; q++)
        if (q->page && !strcmp(q->page, page)) return q;
    return NULL;
}

const struct gp_form *gp_query_form(const struct gp_query *q, const char *name, const char *accept)
{
    const struct gp_form *best = NULL;
    int most = 0;
    for (const struct gp_form *f = q->forms; f < q->forms + GP_QUERY_FORMS && f->name; f++) {
        if (name && !strcmp(f->name, name)) return f;
        char type[64] = "";
        strncat(type, f->type, strcspn(f->type, ";") < sizeof type ? strcspn(f->type, ";") : sizeof type - 1);
        int quality = name ? 0 : gp_header_quality(accept, type);
        if (quality > most) {
            most = quality;
            best = f;
        }
    }
    return best;
}
