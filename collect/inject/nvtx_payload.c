/* NVTX's payload extension. NCCL pushes its ranges with the plain calls and pops some with
 * nvtxRangePopPayload: without these entry points such ranges would never end. An event without another
 * message has the name of its payload's schema. */
#include "collect/inject/nvtx_priv.h"

#include <string.h>
#include "collect/inject/inject.h"
#include "formats/base/count.h"

/* As in an event. */
static nvtxEventAttributes_t payload_event(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    bool any = payload && n;
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = any ? gp_nvtx_schema_name(d, payload->schemaId) : "";
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
        PAYLOAD(nvtxPayloadSchemaRegister, gp_nvtx_register_schema),
        PAYLOAD(nvtxPayloadEnumRegister, gp_nvtx_register_enum),
        PAYLOAD(nvtxMarkPayload, mark_payload),
        PAYLOAD(nvtxRangePushPayload, push_payload),
        PAYLOAD(nvtxRangePopPayload, pop_payload),
        PAYLOAD(nvtxRangeStartPayload, start_payload),
        PAYLOAD(nvtxRangeEndPayload, stop_payload),
        PAYLOAD(nvtxDomainIsEnabled, domain_is_enabled),
        PAYLOAD(nvtxScopeRegister, gp_nvtx_register_scope),
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
