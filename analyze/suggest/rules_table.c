#include "analyze/suggest/rules_table.h"

#include <string.h>

#define X(rule) &gp_rule_##rule,
const struct gp_rule *const gp_rules[] = {GP_RULES(X) NULL};
#undef X

const struct gp_rule *gp_rule_find(const char *name)
{
    for (size_t i = 0; gp_rules[i]; i++)
        if (!strcmp(gp_rules[i]->name, name)) return gp_rules[i];
    return NULL;
}
