#include "render/serve/queries.h"

#include <string.h>
#include "render/catalog/catalog.h"
#include "render/serve/request.h"

// clang-format off
#define FORM(name, type, ...) {name, type, {"--format=" name, __VA_ARGS__}}
#define JSON FORM("json", "application/json", NULL)
#define HTML FORM("html", "text/html; charset=utf-8", NULL)
#define TEXT FORM("text", "text/plain; charset=utf-8", "--width=120")
#define CSV  FORM("csv", "text/csv; charset=utf-8", NULL)
#define SVG  FORM("svg", "image/svg+xml", NULL)
#define DOT  FORM("dot", "text/vnd.graphviz; charset=utf-8", NULL)
#define FOLDED FORM("folded", "text/plain; charset=utf-8", NULL)

const struct gp_query gp_queries[] = {
    {"hta", "report", "Report", "trace-hta", GP_CATALOG_TRACE,
     {JSON, HTML, TEXT, CSV, DOT,
      FORM("openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", NULL)},
     {"top", "step-marker"}, {"--each-step"}, "trace"},
    {"timeline", "timeline", "Timeline", "trace2timeline", GP_CATALOG_TRACE,
     {HTML, SVG, {"json", "application/json", {"--format=chrome"}}},
     {"range", "steps", "max-size", "detail", "step-marker"}, {"--quiet"}, "trace"},
    {"flame", "flame", "Flame graph", "trace2flame", GP_CATALOG_TRACE,
     {HTML, SVG, {"json", "application/json", {"--format=speedscope"}}, FOLDED,
      FORM("pprof", "application/octet-stream", NULL)},
     {"weight", "filter", "min-duration", "max-depth", "step-marker"}, {NULL}, "trace"},
    {"advice", "advice", "Advice", "trace-suggest", GP_CATALOG_TRACE, {JSON, HTML, TEXT, DOT},
     {"top", "min-saving", "rule", "step-marker"}, {NULL}, "trace"},
    {"kernels", NULL, NULL, "trace-hta", GP_CATALOG_TRACE,
     {JSON, HTML, FORM("csv", "text/csv; charset=utf-8", "--table=kernels"),
      FORM("text", "text/plain; charset=utf-8", "--table=kernels", "--width=120")},
     {"step-marker"}, {"--top=0"}, "trace"},
    {"memory", "memory", "Memory", "trace-memory", GP_CATALOG_TRACE | GP_CATALOG_SNAPSHOT,
     {JSON, HTML, TEXT, CSV, FOLDED}, {"at", "by", "device", "min-bytes", "top"}, {NULL}, "trace"},
    {"compile", "compile", "torch.compile", "trace-compile", GP_CATALOG_TRACE | GP_CATALOG_COMPILE_LOG,
     {JSON, HTML, TEXT}, {"top"}, {NULL}, "trace"},
    {"metrics", "metrics", "Counters", "trace-metrics", GP_CATALOG_TRACE, {JSON, HTML, TEXT, CSV},
     {"top"}, {NULL},
     "trace"},
    {"compare", NULL, NULL, "trace-diff", GP_CATALOG_TRACE, {JSON, HTML, TEXT, SVG, DOT},
     {"by", "mode", "threshold", "alpha", "top", "step-marker", "!cross-gpu", "!any-work"}, {NULL}, "two"},
    {"perfetto", NULL, NULL, "trace-convert", GP_CATALOG_TRACE,
     {{"perfetto", "application/octet-stream", {"--to=perfetto"}},
      {"json", "application/json", {"--to=chrome"}}},
     {NULL}, {NULL}, "trace"},
    {0},
};
// clang-format on

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
