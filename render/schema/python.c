#include "render/schema/python.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "render/schema/records.h"

static const struct {
    const char *name, *tool, *record;
} classes[] = {
    {"Kernel", "trace-hta", "kernels"},         {"RangeTime", "trace-hta", "ranges"},
    {"Operator", "trace-hta", "operators"},     {"Finding", "trace-hta", "findings"},
    {"Advice", "trace-suggest", "suggestions"}, {"Change", "trace-diff", "operations"},
};

static const char *type_of(const struct gp_field *f)
{
    switch ((enum gp_cell_type)f->type) {
    case GP_CELL_NAME:
    case GP_CELL_TEXT:
        return "str";
    case GP_CELL_BOOL:
        return "bool";
    case GP_CELL_ID:
    case GP_CELL_COUNT:
    case GP_CELL_NS:
    case GP_CELL_US:
    case GP_CELL_BYTES:
    case GP_CELL_CHANGE_NS:
    case GP_CELL_CHANGE_US:
    case GP_CELL_CHANGE_BYTES:
        return "int";
    case GP_CELL_PCT:
    case GP_CELL_GBPS:
    case GP_CELL_REAL:
    case GP_CELL_NS_REAL:
    case GP_CELL_CHANGE_PCT:
        return "float";
    case GP_CELL_LIST:
    case GP_CELL_ROWS:
        return "list";
    case GP_CELL_ANY:
    case GP_CELL_DIST:
    case GP_CELL_NAMED:
    case GP_CELL_ROW:
    case GP_CELL_PART:
        break;
    }
    return "dict";
}

static bool is_keyword(const char *id)
{
    static const char *const words[] = {"class", "from",   "global", "import", "in",
                                        "is",    "lambda", "not",    "pass"};
    for (size_t i = 0; i < GP_COUNT(words); i++)
        if (!strcmp(id, words[i])) return true;
    return false;
}

static void put_attributes(struct gp_buf *to, const struct gp_record *rec)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        bool unknown = f->flags & (GP_FIELD_NULL | GP_FIELD_TIMED | GP_FIELD_OPTIONAL);
        if (f->type == GP_CELL_PART) put_attributes(to, f->rows);
        if (f->type == GP_CELL_PART || !f->id || f->flags & GP_FIELD_TABLES) continue;
        gp_buf_printf(to, "    %s%s: %s%s%s", f->id, is_keyword(f->id) ? "_" : "", unknown ? "Optional[" : "",
                      type_of(f), unknown ? "]" : "");
        if (f->help) gp_buf_printf(to, "  #: %s", f->help);
        gp_buf_putc(to, '\n');
    }
}

void gp_schema_python(struct gp_buf *to)
{
    gp_buf_puts(to, "\"\"\"Rows of what the programs of the suite say, as small objects that do not change: "
                    "each attribute is a "
                    "member of\ntheir JSON. Made from the records of the programs by "
                    "tests/schema/generated.t --update.\"\"\"\n\n"
                    "from dataclasses import dataclass\nfrom typing import Optional\n");
    for (size_t i = 0; i < GP_COUNT(classes); i++) {
        const struct gp_record *rec =
            gp_schema_record(classes[i].tool, classes[i].record, strlen(classes[i].record));
        gp_buf_printf(to, "\n\n@dataclass(frozen=True)\nclass %s:\n    \"\"\"One of ``%s`` of %s.\"\"\"\n",
                      classes[i].name, rec->id, classes[i].tool);
        put_attributes(to, rec);
    }
}
