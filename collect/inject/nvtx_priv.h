/* nvtx_priv.h -- shared by the parts of NVTX:
 *
 *     nvtx.c            ranges and marks as notes of threads; the calls of every version of NVTX
 *     nvtx_names.c      domains, registered strings, categories, schemas of payloads
 *     nvtx_payload.c    the calls of the payload extension
 */
#ifndef GP_COLLECT_INJECT_NVTX_PRIV_H
#define GP_COLLECT_INJECT_NVTX_PRIV_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>
#include "formats/base/declare.h"

#define NVTX_NO_IMPL
#include "nvtx3/nvToolsExt.h"
#include "nvtx3/nvToolsExtPayload.h"

enum { GP_NVTX_TEXT = 4096, GP_NVTX_PAYLOADS = 8 };

/* ---- nvtx.c: calls with the attributes of an event ---- */

int NVTX_API gp_nvtx_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr);
int gp_nvtx_pop(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr);
nvtxRangeId_t NVTX_API gp_nvtx_start(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr);
void gp_nvtx_stop(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxEventAttributes_t *attr);
void NVTX_API gp_nvtx_mark(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr);

/* ---- nvtx_names.c ---- */

struct nvtx_string {
    const char *text;
};

/* A domain; its address is its handle. */
struct nvtx_domain {
    struct nvtx_domain *next;
    char *name;
};

void gp_nvtx_utf8(char *to, size_t size, const wchar_t *from);
/* NULL: it has none. */
const char *gp_nvtx_category(nvtxDomainHandle_t d, uint32_t id);
nvtxDomainHandle_t NVTX_API gp_nvtx_create_domain(const char *name);
nvtxDomainHandle_t NVTX_API gp_nvtx_create_domain_wide(const wchar_t *name);
nvtxStringHandle_t NVTX_API gp_nvtx_register_string(nvtxDomainHandle_t d, const char *text);
nvtxStringHandle_t NVTX_API gp_nvtx_register_string_wide(nvtxDomainHandle_t d, const wchar_t *text);
void NVTX_API gp_nvtx_name_category(nvtxDomainHandle_t d, uint32_t id, const char *name);
void NVTX_API gp_nvtx_name_category_wide(nvtxDomainHandle_t d, uint32_t id, const wchar_t *name);
void NVTX_API gp_nvtx_name_default_category(uint32_t id, const char *name);
void NVTX_API gp_nvtx_name_default_category_wide(uint32_t id, const wchar_t *name);

/* The N payloads of an event in domain D as args. */
void gp_nvtx_put_payloads(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n,
                          struct gp_buf *args);
uint64_t gp_nvtx_register_schema(nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *attr);
uint64_t gp_nvtx_register_enum(nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *attr);
uint64_t gp_nvtx_register_scope(nvtxDomainHandle_t d, const nvtxScopeAttr_t *attr);
const char *gp_nvtx_schema_name(nvtxDomainHandle_t d, uint64_t schema);

#endif
