/* assets.h -- the files of render/assets as bytes in the program; made by render/embed.cmake at build time.
 */
#ifndef GP_RENDER_ASSETS_H
#define GP_RENDER_ASSETS_H

#include <stddef.h>

struct gp_asset {
    const char *data; /* NUL-terminated */
    size_t n;
    /* in base64, for a content security policy: the page may run this script and no other */
    const char *sha256;
};

extern const struct gp_asset gp_asset_flame_css, gp_asset_flame_js; /* of the standalone picture */
extern const struct gp_asset gp_asset_flame_diff_css;               /* of its comparison with another */
extern const struct gp_asset gp_asset_change_css, gp_asset_change_svg_css; /* of charts of changes */
extern const struct gp_asset gp_asset_shell_css, gp_asset_shell_js;        /* of every page */
extern const struct gp_asset gp_asset_report_css, gp_asset_report_js;
extern const struct gp_asset gp_asset_flame_page_css, gp_asset_flame_page_js; /* of a flame graph's page */
extern const struct gp_asset gp_asset_suggest_css;                            /* of cards of suggestions */
extern const struct gp_asset gp_asset_memory_css, gp_asset_memory_js;         /* of memory over time */
extern const struct gp_asset gp_asset_roofline_css;                   /* of roofline plots, also standalone */
extern const struct gp_asset gp_asset_stalls_css, gp_asset_stalls_js; /* of code and its stalls */
extern const struct gp_asset gp_asset_sweep_css; /* of operations over their sizes, also standalone */
extern const struct gp_asset gp_asset_serve_css, gp_asset_serve_js;         /* of the server's own pages */
extern const struct gp_asset gp_asset_serve_bar_css, gp_asset_serve_bar_js; /* above the others */
extern const struct gp_asset gp_asset_serve_openapi;                        /* the description of its API */
extern const struct gp_asset gp_asset_timeline_css, gp_asset_timeline_js;

#endif
