#include "collect/code_names.h"

#include <string.h>
#include "collect/records/records.h"
#include "collect/symbols/symbols.h"
#include "formats/model/trace.h"
#include "formats/redact.h"

static gp_sid own_text(struct gp_records *r, const char *text)
{
    return text ? gp_records_own_text(r, text, strlen(text), gp_redact_name) : 0;
}

/* The symbol is the innermost of the N functions; those that it was inlined into are symbols of their own. */
static void name_symbol(struct gp_records *r, uint32_t symbol, const struct gp_code_name *at, size_t n)
{
    struct gp_trace *t = &r->trace;
    uint32_t caller = 0;
    while (n-- > 0) {
        struct gp_symbol k = t->symbols.at[symbol];
        k.name = own_text(r, at[n].name);
        k.file = own_text(r, at[n].file);
        k.line = at[n].line;
        k.caller = caller;
        if (!n) t->symbols.at[symbol] = k;
        else caller = gp_trace_symbol(t, &k);
    }
}

void gp_code_names_find(struct gp_code_names *names, struct gp_call_stacks *stacks)
{
    struct gp_code_name at[GP_SYMBOLS_MOST];
    for (uint32_t i = 0; i < stacks->path_of.n; i++) {
        gp_sid path = stacks->path_of.at[i];
        if (!path) continue;
        if (!names->symbolizer) names->symbolizer = gp_symbolizer_new();
        size_t n = gp_symbolize(names->symbolizer, gp_string(&stacks->paths, path),
                                stacks->records->trace.symbols.at[i].offset, at);
        name_symbol(stacks->records, i, at, n);
        stacks->path_of.at[i] = 0;
    }
}

void gp_code_names_release(struct gp_code_names *names)
{
    gp_symbolizer_free(names->symbolizer);
    names->symbolizer = NULL;
}
