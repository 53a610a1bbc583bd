/* What the program has named: domains, registered strings and categories, schemas of payloads; and their
 * texts in UTF-8. */
#include "collect/inject/nvtx_priv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "collect/wire/payload.h"
#include "formats/base/utf8.h"

struct nvtx_category {
    struct nvtx_category *next;
    const void *domain;
    uint32_t id;
    char *name;
};

static struct {
    pthread_mutex_t lock;
    struct nvtx_domain *domains;              /* under lock */
    struct nvtx_category *_Atomic categories; /* added to under lock */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

void gp_nvtx_utf8(char *to, size_t size, const wchar_t *from)
{
    size_t n = 0;
    for (; *from && n + 5 < size; from++) n += gp_utf8_encode(to + n, (uint32_t)*from & 0x1fffff);
    to[n] = 0;
}

/* Domains, strings and categories are few, and notes point at them, so they are never freed. Equal names are
 * the same domain, since handles registered in one may be used by all with that name. */
nvtxDomainHandle_t NVTX_API gp_nvtx_create_domain(const char *name)
{
    if (!name) name = "";
    pthread_mutex_lock(&names.lock);
    struct nvtx_domain *d = names.domains;
    while (d && strcmp(d->name, name) != 0) d = d->next;
    struct nvtx_domain *fresh = d ? NULL : calloc(1, sizeof *fresh);
    if (fresh && (fresh->name = strdup(name))) {
        fresh->next = names.domains;
        d = names.domains = fresh;
    } else {
        free(fresh);
    }
    pthread_mutex_unlock(&names.lock);
    return (nvtxDomainHandle_t)(void *)d;
}

nvtxDomainHandle_t NVTX_API gp_nvtx_create_domain_wide(const wchar_t *name)
{
    char text[GP_NVTX_TEXT];
    gp_nvtx_utf8(text, sizeof text, name ? name : L"");
    return gp_nvtx_create_domain(text);
}

nvtxStringHandle_t NVTX_API gp_nvtx_register_string(nvtxDomainHandle_t d, const char *text)
{
    (void)d;
    struct nvtx_string *s = malloc(sizeof *s);
    char *copy = strdup(text ? text : "");
    if (!s || !copy) {
        free(s);
        free(copy);
        return NULL;
    }
    s->text = copy;
    return (nvtxStringHandle_t)(void *)s;
}

nvtxStringHandle_t NVTX_API gp_nvtx_register_string_wide(nvtxDomainHandle_t d, const wchar_t *text)
{
    char utf8[GP_NVTX_TEXT];
    gp_nvtx_utf8(utf8, sizeof utf8, text ? text : L"");
    return gp_nvtx_register_string(d, utf8);
}

void NVTX_API gp_nvtx_name_category(nvtxDomainHandle_t d, uint32_t id, const char *name)
{
    struct nvtx_category *c = calloc(1, sizeof *c);
    if (c) c->name = strdup(name ? name : "");
    if (!c || !c->name) {
        free(c);
        return;
    }
    c->domain = d;
    c->id = id;
    pthread_mutex_lock(&names.lock);
    c->next = atomic_load_explicit(&names.categories, memory_order_relaxed);
    atomic_store_explicit(&names.categories, c, memory_order_release);
    pthread_mutex_unlock(&names.lock);
}

void NVTX_API gp_nvtx_name_category_wide(nvtxDomainHandle_t d, uint32_t id, const wchar_t *name)
{
    char text[GP_NVTX_TEXT];
    gp_nvtx_utf8(text, sizeof text, name ? name : L"");
    gp_nvtx_name_category(d, id, text);
}

void NVTX_API gp_nvtx_name_default_category(uint32_t id, const char *name)
{
    gp_nvtx_name_category(NULL, id, name);
}

void NVTX_API gp_nvtx_name_default_category_wide(uint32_t id, const wchar_t *name)
{
    gp_nvtx_name_category_wide(NULL, id, name);
}

const char *gp_nvtx_category(nvtxDomainHandle_t d, uint32_t id)
{
    const struct nvtx_category *c = atomic_load_explicit(&names.categories, memory_order_acquire);
    while (c && (c->id != id || c->domain != d)) c = c->next;
    return c ? c->name : NULL;
}

/* ---- schemas of payloads ---- */

static struct gp_payloads payloads;

void gp_nvtx_put_payloads(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n,
                          struct gp_buf *args)
{
    for (size_t i = 0; payload && i < n && i < GP_NVTX_PAYLOADS; i++)
        gp_payload_put(&payloads, d, payload[i].schemaId, payload[i].payload, payload[i].size, args);
}

uint64_t gp_nvtx_register_schema(nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *attr)
{
    struct gp_payload_entry entries[GP_PAYLOAD_MAX_ENTRIES];
    struct gp_payload_schema_def def = {.kind = GP_PAYLOAD_STATIC};
    if (!attr) return 0;
    uint64_t has = attr->fieldMask;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) def.name = attr->name;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE) def.kind = attr->type;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE) def.bytes = attr->payloadStaticSize;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) def.pack = attr->packAlign;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) def.id = attr->schemaId;
    if (has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES && has & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES &&
        attr->entries)
        def.n = attr->numEntries < GP_PAYLOAD_MAX_ENTRIES ? attr->numEntries : GP_PAYLOAD_MAX_ENTRIES;
    for (size_t i = 0; i < def.n; i++) {
        const nvtxPayloadSchemaEntry_t *e = &attr->entries[i];
        entries[i] = (struct gp_payload_entry){e->flags, e->type, e->name, e->arrayOrUnionDetail, e->offset};
    }
    def.entries = entries;
    return gp_payload_register(&payloads, d, &def);
}

uint64_t gp_nvtx_register_enum(nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *attr)
{
    struct gp_payload_value values[GP_PAYLOAD_MAX_VALUES];
    struct gp_payload_enum_def def = {.values = values};
    if (!attr) return 0;
    uint64_t has = attr->fieldMask;
    if (has & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) def.bytes = attr->sizeOfEnum;
    if (has & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) def.id = attr->schemaId;
    if (has & NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES && has & NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES &&
        attr->entries)
        def.n = attr->numEntries < GP_PAYLOAD_MAX_VALUES ? attr->numEntries : GP_PAYLOAD_MAX_VALUES;
    for (size_t i = 0; i < def.n; i++) {
        const nvtxPayloadEnum_t *e = &attr->entries[i];
        values[i] = (struct gp_payload_value){e->name, e->value, e->isFlag != 0};
    }
    return gp_payload_register_enum(&payloads, d, &def);
}

uint64_t gp_nvtx_register_scope(nvtxDomainHandle_t d, const nvtxScopeAttr_t *attr)
{
    (void)d;
    return attr && attr->scopeId ? attr->scopeId : gp_payload_give_id(&payloads);
}

const char *gp_nvtx_schema_name(nvtxDomainHandle_t d, uint64_t schema)
{
    return gp_payload_name(&payloads, d, schema);
}
