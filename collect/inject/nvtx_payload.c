/* NVTX's payload extension. NCCL pushes its ranges with the plain calls and pops some with
 * nvtxRangePopPayload: without these entry points such ranges would never end. An event without another
 * message has the name of its payload's schema. */
#include "collect/inject/nvtx_priv.h"

#include <string.h>
#include "collect/inject/inject.h"
#include "collect/wire/payload.h"
#include "formats/base/count.h"

static struct gp_payloads payloads;

void gp_nvtx_put_payloads(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n,
                          struct gp_buf *args)
{
    for (size_t i = 0; payload && i < n && i < GP_NVTX_PAYLOADS; i++)
        gp_payload_put(&payloads, d, payload[i].schemaId, payload[i].payload, payload[i].size, args);
}

static uint64_t register_schema(nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *attr)
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

static uint64_t register_enum(nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *attr)
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

static uint64_t register_scope(nvtxDomainHandle_t d, const nvtxScopeAttr_t *attr)
{
    (void)d;
    return attr && attr->scopeId ? attr->scopeId : gp_payload_give_id(&payloads);
}

/* As in an event. */
static nvtxEventAttributes_t payload_event(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    bool any = payload && n;
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = any ? gp_payload_name(&payloads, d, payload->schemaId) : "";
    if (!any) return a;
    a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    a.reserved0 = n < GP_NVTX_PAYLOADS ? (int32_t)n : GP_NVTX_PAYLOADS;
    a.payload.ullValue = (uintptr_t)payload;
    return a;
}

static void mark_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(d, payload, n);
    gp_nvtx_mark(d, &a);
}

static int push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(d, payload, n);
    return gp_nvtx_push(d, &a);
}

static int pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(d, payload, n);
    return gp_nvtx_pop(d, &a);
}

static nvtxRangeId_t start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(d, payload, n);
    return gp_nvtx_start(d, &a);
}

static void stop_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(d, payload, n);
    gp_nvtx_stop(d, id, &a);
}

static uint8_t domain_is_enabled(nvtxDomainHandle_t d)
{
    (void)d;
    return 1;
}

struct slot {
    size_t id;
    intptr_t function;
};

#define PAYLOAD(name, function)                                                                              \
    {                                                                                                        \
        NVTX3EXT_CBID_##name, (intptr_t)(function)                                                           \
    }

GP_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

GP_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    static const struct slot slots[] = {
        PAYLOAD(nvtxPayloadSchemaRegister, register_schema),
        PAYLOAD(nvtxPayloadEnumRegister, register_enum),
        PAYLOAD(nvtxMarkPayload, mark_payload),
        PAYLOAD(nvtxRangePushPayload, push_payload),
        PAYLOAD(nvtxRangePopPayload, pop_payload),
        PAYLOAD(nvtxRangeStartPayload, start_payload),
        PAYLOAD(nvtxRangeEndPayload, stop_payload),
        PAYLOAD(nvtxDomainIsEnabled, domain_is_enabled),
        PAYLOAD(nvtxScopeRegister, register_scope),
    };
    if (!module || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || !module->segmentsCount ||
        !module->segments)
        return 0;
    const nvtxExtModuleSegment_t *segment = &module->segments[0];
    for (size_t i = 0; i < GP_COUNT(slots); i++)
        if (slots[i].id < segment->slotCount) segment->functionSlots[slots[i].id] = slots[i].function;
    gp_debug("NVTX payloads attached");
    return 1;
}
