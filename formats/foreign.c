#include "formats/foreign.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "formats/base/count.h"

struct kind {
    const char *magic;
    size_t at; /* offset of the magic */
    const char *what;
};

static const struct kind kinds[] = {
    {"\x7f"
     "ELF",
     0, "a program, not a trace: record it with gpuprof-collect ./app"},
    {"#!", 0, "a script, not a trace: record it with gpuprof-collect"},
    {"%PDF", 0, "a PDF document, not a trace"},
    {"\x89PNG", 0, "a picture, not a trace"},
    {"<svg", 0, "an SVG picture: pass the trace that it was drawn from"},
    {"<?xml", 0, "an XML document, not a trace"},
    {"\x80\x02", 0,
     "a pickle, not a trace: trace-memory reads snapshots of memory, trace2timeline draws them"},
    {"\x80\x04", 0,
     "a pickle, not a trace: trace-memory reads snapshots of memory, trace2timeline draws them"},
    {"PK\x03\x04", 0, "a zip archive: unpack it, and pass the files in it"},
    {"ustar", 257, "a tar archive: unpack it, and pass the files in it"},
    {"BZh", 0, "compressed with bzip2: decompress it; gzip and zstd are read as they are"},
    {"\xfd"
     "7zXZ",
     0, "compressed with xz: decompress it; gzip and zstd are read as they are"},
};

static bool begins(const char *s, size_t n, const char *with)
{
    size_t m = strlen(with);
    if (n < m) return false;
    for (size_t i = 0; i < m; i++)
        if (tolower((unsigned char)s[i]) != with[i]) return false;
    return true;
}

/* A first line of printable words with commas between them, and a second one like it. */
static bool is_csv(const char *s, size_t n)
{
    size_t commas[2] = {0, 0}, line = 0;
    for (size_t i = 0; i < n && line < 2; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n') line++;
        else if (c == '{' || c == '[' || (c < 0x20 && c != '\t' && c != '\r')) return false;
        else if (c == ',') commas[line]++;
    }
    return line > 0 && commas[0] >= 2 && (line < 2 || commas[1] >= 2);
}

const char *gp_foreign_what(const void *head, size_t n)
{
    const char *s = head;
    for (size_t i = 0; i < GP_COUNT(kinds); i++) {
        const struct kind *k = &kinds[i];
        size_t m = strlen(k->magic);
        if (n >= k->at + m && !memcmp(s + k->at, k->magic, m)) return k->what;
    }
    while (n && isspace((unsigned char)*s)) s++, n--;
    if (begins(s, n, "<!doctype html") || begins(s, n, "<html"))
        return "an HTML page: pass the trace that it was made from";
    return is_csv(s, n) ? "a table (CSV), not a trace: pass the trace itself, as JSON or in our binary format"
                        : NULL;
}
