/* record_schema.c -- the JSON Schema of records, as record.c writes them. */
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "render/report/record.h"

struct out {
    struct gp_buf *b;
    int depth;
    bool comma;
};

static void start_line(struct out *o)
{
    if (o->comma) gp_buf_putc(o->b, ',');
    gp_buf_putc(o->b, '\n');
    for (int i = 0; i < o->depth; i++) gp_buf_putc(o->b, ' ');
    o->comma = true;
}

static void close_line(struct out *o, const char *text)
{
    o->depth -= 2;
    o->comma = false;
    start_line(o);
    gp_buf_puts(o->b, text);
}

static void put_type(struct out *o, const char *type, unsigned flags)
{
    if (flags & (GP_FIELD_NULL | GP_FIELD_TIMED)) gp_buf_printf(o->b, "\"type\": [\"%s\", \"null\"]", type);
    else gp_buf_printf(o->b, "\"type\": \"%s\"", type);
}

static void put_words(struct out *o, const char *const *words, unsigned flags)
{
    gp_buf_puts(o->b, "\"enum\": [");
    for (size_t i = 0; words[i]; i++) gp_buf_printf(o->b, "%s\"%s\"", i ? ", " : "", words[i]);
    gp_buf_puts(o->b, flags & (GP_FIELD_NULL | GP_FIELD_TIMED) ? ", null]" : "]");
}

/* With the FLAGS of the member that it is, and its HELP if that says more than the note of REC. */
static void put_object(struct out *o, const struct gp_record *rec, unsigned flags, const char *help);

static void put_dist(struct out *o, const char *unit, unsigned flags)
{
    static const struct {
        const char *name, *type;
    } parts[] = {{"min", "integer"}, {"max", "integer"}, {"mean", "number"}, {"stddev", "number"},
                 {"p50", "integer"}, {"p90", "integer"}, {"p99", "integer"}};
    put_type(o, "object", flags);
    gp_buf_printf(o->b,
                  ", \"properties\": {\"count\": {\"type\": \"integer\", \"minimum\": 0}, "
                  "\"total%s\": {\"type\": \"integer\"}",
                  unit);
    for (size_t i = 0; i < GP_COUNT(parts); i++)
        gp_buf_printf(o->b, ", \"%s%s\": {\"type\": [\"%s\", \"null\"]}", parts[i].name, unit, parts[i].type);
    gp_buf_printf(o->b, "}, \"required\": [\"count\", \"total%s\"", unit);
    for (size_t i = 0; i < GP_COUNT(parts); i++) gp_buf_printf(o->b, ", \"%s%s\"", parts[i].name, unit);
    gp_buf_puts(o->b, "]");
}

static void put_named(struct out *o, const struct gp_record *rec);

static void put_value(struct out *o, const struct gp_field *f)
{
    static const char *const types[] = {"string", "boolean", "integer", "number"};
    const unsigned flags = f->flags;
    enum gp_cell_form form = gp_cell_form(f->type);
    if (form != GP_FORM_OTHER) {
        if (form == GP_FORM_TEXT && f->words) put_words(o, f->words, flags);
        else put_type(o, types[form], flags);
        bool is_signed = flags & GP_FIELD_SIGNED || f->type >= GP_CELL_CHANGE_NS;
        if (form >= GP_FORM_INTEGER && !is_signed) gp_buf_puts(o->b, ", \"minimum\": 0");
        return;
    }
    switch ((enum gp_cell_type)f->type) {
    case GP_CELL_ANY: gp_buf_puts(o->b, "\"type\": [\"integer\", \"number\", \"string\"]"); break;
    case GP_CELL_NAMED:
        gp_buf_puts(o->b, "\"type\": \"object\", \"additionalProperties\": ");
        put_named(o, f->rows);
        break;
    case GP_CELL_DIST: put_dist(o, f->unit, flags); break;
    case GP_CELL_LIST:
        gp_buf_puts(o->b, "\"type\": \"array\", \"items\": {");
        if (f->words) put_words(o, f->words, 0);
        else put_value(o, f->rows->fields);
        gp_buf_putc(o->b, '}');
        break;
    case GP_CELL_ROWS:
        put_type(o, "array", flags);
        gp_buf_puts(o->b, ", \"items\": ");
        put_object(o, f->rows, 0, NULL);
        break;
    default: break;
    }
}

static void put_named(struct out *o, const struct gp_record *rec)
{
    const struct gp_record left = gp_record_named(rec);
    if (left.n > 1) {
        put_object(o, &left, 0, NULL);
        return;
    }
    gp_buf_putc(o->b, '{');
    put_value(o, left.fields);
    gp_buf_putc(o->b, '}');
}

static bool is_member(const struct gp_field *f)
{
    return f->type != GP_CELL_PART && f->id && !(f->flags & GP_FIELD_TABLES);
}

static void put_properties(struct out *o, const struct gp_record *rec)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) put_properties(o, f->rows);
        if (!is_member(f)) continue;
        start_line(o);
        gp_buf_printf(o->b, "\"%s\": ", f->id);
        if (f->type == GP_CELL_ROW) {
            put_object(o, f->rows, f->flags, f->help);
            continue;
        }
        gp_buf_putc(o->b, '{');
        put_value(o, f);
        const char *help = f->help ? f->help : f->rows ? f->rows->note : NULL;
        if (help) {
            gp_buf_puts(o->b, ", \"description\": ");
            gp_json_put_string(o->b, help, strlen(help));
        }
        gp_buf_putc(o->b, '}');
    }
}

static void put_required(struct out *o, const struct gp_record *rec, bool *comma)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) put_required(o, f->rows, comma);
        if (!is_member(f) || f->flags & GP_FIELD_OPTIONAL) continue;
        gp_buf_printf(o->b, "%s\"%s\"", *comma ? ", " : "", f->id);
        *comma = true;
    }
}

static void put_object(struct out *o, const struct gp_record *rec, unsigned flags, const char *help)
{
    bool comma = false;
    if (!help) help = rec->note;
    gp_buf_putc(o->b, '{');
    o->depth += 2;
    o->comma = false;
    start_line(o);
    put_type(o, "object", flags);
    if (help) {
        start_line(o);
        gp_buf_puts(o->b, "\"description\": ");
        gp_json_put_string(o->b, help, strlen(help));
    }
    start_line(o);
    gp_buf_puts(o->b, "\"properties\": {");
    o->depth += 2;
    o->comma = false;
    put_properties(o, rec);
    close_line(o, "}");
    start_line(o);
    gp_buf_puts(o->b, "\"required\": [");
    put_required(o, rec, &comma);
    gp_buf_putc(o->b, ']');
    start_line(o);
    gp_buf_puts(o->b, "\"additionalProperties\": true");
    close_line(o, "}");
}

void gp_record_schema(struct gp_buf *b, const struct gp_record *rec, int depth)
{
    put_object(&(struct out){b, depth, false}, rec, 0, NULL);
}

void gp_rest_schema(struct gp_buf *b, const struct gp_record *rec)
{
    static const char type[] = "{\"type\": \"integer\", \"minimum\": 0}";
    const char *first = rec->rest[0].id, *second = rec->rest[1].id;
    gp_buf_printf(b,
                  "{\"type\": \"object\", \"description\": \"what %s does not list\", \"properties\": "
                  "{\"rows\": %s, \"%s\": %s, \"%s\": %s}, \"required\": [\"rows\", \"%s\", \"%s\"], "
                  "\"additionalProperties\": true}",
                  rec->id, type, first, type, second, type, first, second);
}
