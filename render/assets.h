/* assets.h -- the files of render/assets as bytes in the program; made by render/embed.cmake at build time.
 */
#ifndef GP_RENDER_ASSETS_H
#define GP_RENDER_ASSETS_H

#include <stddef.h>

extern const char gp_asset_flame_css[], gp_asset_flame_js[], gp_asset_report_css[], gp_asset_report_js[];
extern const size_t gp_asset_flame_css_len, gp_asset_flame_js_len, gp_asset_report_css_len,
    gp_asset_report_js_len;
/* In base64, for a content security policy: the page may run this script and no other. */
extern const char gp_asset_flame_css_sha256[], gp_asset_flame_js_sha256[], gp_asset_report_css_sha256[],
    gp_asset_report_js_sha256[];

#endif
