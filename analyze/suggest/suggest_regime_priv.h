/* suggest_regime_priv.h -- private to suggest.c: derives what bounds kernels, operators and the step from
 * what bounds each item of a plan, and the points of a roofline plot. Measures nothing.
 *
 *     gp_item_work_find(c);
 *     gp_suggest_tell_regime(c);                    // fills regime, kernels, ops and roofline of c->s
 */
#ifndef GP_ANALYZE_SUGGEST_REGIME_PRIV_H
#define GP_ANALYZE_SUGGEST_REGIME_PRIV_H

struct gp_rule_ctx;

void gp_suggest_tell_regime(struct gp_rule_ctx *c);

#endif
