#include "formats/base/buf.h"
#include "render/draw/plot.h"
#include "render/try/try_priv.h"

enum { WIDTH = 760, NAMES = 150, ROW = 26, FOOT = 30, SMALL = 150 };

static double ms(int64_t ns) { return (double)ns / 1e6; }

static void draw_ticks(struct gp_svg *w, const struct gp_frame *f, struct gp_buf *text)
{
    int64_t least = (int64_t)(f->x.from * 1e6), most = (int64_t)(f->x.to * 1e6),
            step = gp_plot_step(most - least);
    for (int64_t v = least / step * step; v <= most; v += step) {
        gp_buf_printf(text, "%g ms", ms(v));
        gp_frame_tick_x(w, f, ms(v), 16, text);
    }
}

static void draw_saving(struct gp_svg *w, const struct gp_frame *f, const struct gp_trial *r, double y)
{
    struct gp_buf text = {0};
    double low = gp_axis_at(&f->x, ms(r->low_ns)), high = gp_axis_at(&f->x, ms(r->high_ns));
    gp_svg_open(w, "g");
    gp_buf_printf(&text, "%s: saves %.3f ms (%.3f to %.3f), %lld pairs", r->change, ms(r->saving_ns),
                  ms(r->low_ns), ms(r->high_ns), (long long)r->pairs);
    if (r->predicted_low_ns >= 0)
        gp_buf_printf(&text, "; predicted %.3f to %.3f ms", ms(r->predicted_low_ns),
                      ms(r->predicted_high_ns));
    gp_plot_title(w, &text);
    gp_buf_puts(&text, r->change);
    gp_plot_fit(&text, NAMES - 12, 650);
    gp_plot_text(w, "label", NAMES - 8, y + 4, &text);
    if (r->predicted_low_ns >= 0 && r->predicted_high_ns >= r->predicted_low_ns) {
        double from = gp_axis_at(&f->x, ms(r->predicted_low_ns)),
               to = gp_axis_at(&f->x, ms(r->predicted_high_ns));
        gp_plot_rect(w, "k-idle", from, y - 8, to - from > 1 ? to - from : 1, 16, NULL);
    }
    gp_plot_line(w, "whisker", low, y, high, y);
    gp_plot_line(w, "whisker", low, y - 4, low, y + 4);
    gp_plot_line(w, "whisker", high, y - 4, high, y + 4);
    gp_plot_circle(w, "dot", gp_axis_at(&f->x, ms(r->saving_ns)), y, 4, NULL);
    gp_svg_close(w);
    gp_buf_release(&text);
}

static void widen(struct gp_axis *x, const struct gp_trial *r)
{
    if (!gp_trial_measured(r)) return;
    if (ms(r->low_ns) < x->from) x->from = ms(r->low_ns);
    if (ms(r->high_ns) > x->to) x->to = ms(r->high_ns);
    if (r->predicted_high_ns >= 0 && ms(r->predicted_high_ns) > x->to) x->to = ms(r->predicted_high_ns);
}

void gp_try_draw_savings(struct gp_svg *w, const struct gp_try *t)
{
    const gp_trials *const lists[] = {&t->trials, &t->together, &t->control};
    struct gp_frame f = {.x = {.at = NAMES, .end = WIDTH - 20}, .y = {.to = 1, .end = 6}};
    struct gp_buf text = {0};
    size_t rows = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            widen(&f.x, &lists[k]->at[i]);
            rows += gp_trial_measured(&lists[k]->at[i]);
        }
    if (!rows) return;
    if (f.x.to - f.x.from < 1e-6) f.x.to = f.x.from + 1e-3;
    f.y.at = 6 + ROW * (double)rows;
    gp_plot_begin(w, "chart", WIDTH, (int)f.y.at + FOOT, "Savings per step with their intervals");
    draw_ticks(w, &f, &text);
    gp_plot_line(w, "mark", gp_axis_at(&f.x, 0), f.y.end, gp_axis_at(&f.x, 0), f.y.at);
    double y = 6 + ROW / 2.0;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            if (gp_trial_measured(&lists[k]->at[i])) {
                draw_saving(w, &f, &lists[k]->at[i], y);
                y += ROW;
            }
    gp_svg_close(w);
    gp_buf_release(&text);
}

void gp_try_draw_blocks(struct gp_svg *w, const struct gp_trial *r)
{
    struct gp_frame f = {.x = {.from = 0, .to = (double)r->samples.n, .at = NAMES, .end = WIDTH - 20},
                         .y = {.at = SMALL, .end = 8}};
    struct gp_buf text = {0};
    int64_t most = 0;
    for (size_t i = 0; i < r->samples.n; i++) {
        if (r->samples.at[i].off_ns > most) most = r->samples.at[i].off_ns;
        if (r->samples.at[i].on_ns > most) most = r->samples.at[i].on_ns;
    }
    if (!most) return;
    f.y.to = ms(most) * 1.05;
    gp_buf_printf(&text, "%s: steps without and with it, pair by pair", r->change);
    gp_plot_begin(w, "chart", WIDTH, SMALL + FOOT, gp_buf_str(&text));
    text.n = 0;
    gp_buf_puts(&text, r->change);
    gp_plot_fit(&text, NAMES - 60, 650);
    gp_plot_text(w, NULL, 0, 20, &text);
    for (int i = 0; i <= 2; i++) {
        gp_buf_printf(&text, "%.3g ms", ms(most) * i / 2);
        gp_frame_tick_y(w, &f, ms(most) * i / 2, 8, &text);
    }
    for (size_t i = 0; i < r->samples.n; i++) {
        double x = gp_axis_at(&f.x, (double)i + 0.5);
        double off = gp_axis_at(&f.y, ms(r->samples.at[i].off_ns)),
               on = gp_axis_at(&f.y, ms(r->samples.at[i].on_ns));
        gp_plot_line(w, "rule", x, off, x, on);
        gp_buf_printf(&text, "pair %zu: off %.3f ms", i + 1, ms(r->samples.at[i].off_ns));
        gp_plot_circle(w, "value", x, off, 3, &text);
        gp_buf_printf(&text, "pair %zu: on %.3f ms", i + 1, ms(r->samples.at[i].on_ns));
        gp_plot_circle(w, "dot", x, on, 3, &text);
    }
    gp_frame_base_x(w, &f);
    gp_svg_close(w);
    gp_buf_release(&text);
}
