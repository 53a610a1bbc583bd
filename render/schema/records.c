#include "render/schema/records.h"

#include <string.h>
#include "analyze/hta/hta.h"

static const struct {
    const char *tool;
    const struct gp_record *record;
} records[] = {
    {"trace-hta", &gp_hta_kernels},
};

const struct gp_record *gp_schema_record(const char *tool, const char *id, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(records); i++) {
        const char *known = records[i].record->id;
        if (!strcmp(records[i].tool, tool) && strlen(known) == n && !memcmp(known, id, n))
            return records[i].record;
    }
    return NULL;
}
