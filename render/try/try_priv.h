/* try_priv.h -- private: the report of trials, and its charts. */
#ifndef GP_RENDER_TRY_PRIV_H
#define GP_RENDER_TRY_PRIV_H

#include "analyze/try/try.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* The verdict, notes, and tables: trials, what was left out, the lines to add. */
void gp_try_report(struct gp_report *r, const struct gp_try *t);

/* Savings with their intervals, above what rules predicted: an element <svg class="chart">. */
void gp_try_draw_savings(struct gp_svg *w, const struct gp_try *t);
/* Blocks of one measured trial in their order: steps without and with the change. */
void gp_try_draw_blocks(struct gp_svg *w, const struct gp_trial *r);

#endif
