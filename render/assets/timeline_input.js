/* timeline_input.js -- mouse, touch and wheel on the timeline, translated to actions. Keys are in
 * timeline.js.
 *
 *   gp.timelineInput({ stage, ruler, map }, view, {
 *     moved(), hover(x, y, event | null), press(x, y, twice), range(t0, t1, done), window(t0, t1) });
 *
 * Drag moves; on the ruler, or with Shift, it selects time. Ctrl (or a pinch) and the wheel zoom where the
 * pointer is; the wheel alone scrolls the tracks, with Shift it moves in time; over the ruler and the map it
 * zooms. */
"use strict";
(() => {
const CLICK = 4; // pixels that a click may wander

function timelineInput({ stage, ruler, map }, view, on) {
  const xOf = (element, e) => e.clientX - element.getBoundingClientRect().left;
  const yOf = (element, e) => e.clientY - element.getBoundingClientRect().top;

  /* ---- wheel ---- */

  const lines = (e, v) => v * (e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? view.height : 1);
  function wheel(element, zooms) {
    element.addEventListener("wheel", (e) => {
      e.preventDefault();
      const dx = lines(e, e.deltaX), dy = lines(e, e.deltaY);
      if (e.ctrlKey || e.metaKey || e.altKey || zooms && !e.shiftKey && Math.abs(dy) >= Math.abs(dx)) {
        const factor = Math.exp(gp.clamp(dy, -120, 120) * (e.ctrlKey && !zooms ? 0.006 : 0.0035));
        if (element === map) view.zoom(view.width / 2, factor); else view.zoom(xOf(element, e), factor);
      } else if (e.shiftKey) {
        view.pan(dx || dy);
      } else {
        if (Math.abs(dx) > Math.abs(dy)) view.pan(dx); else view.scrollTo(view.scroll + dy);
      }
      on.moved();
    }, { passive: false });
  }
  wheel(stage, false);
  wheel(ruler, true);
  wheel(map, true);

  /* ---- pointers on the tracks ---- */

  const down = new Map(); // pointer -> where it is
  let drag = null, pinch = null;

  function begin(element, e, selects) {
    if (e.button !== 0) return;
    element.setPointerCapture(e.pointerId);
    down.set(e.pointerId, [xOf(element, e), yOf(element, e)]);
    const x = xOf(element, e), y = yOf(element, e);
    if (down.size === 2) {
      drag = null;
      pinch = spread();
    } else {
      drag = { x, y, lastX: x, lastY: y, selects: selects || e.shiftKey, from: view.t(x), far: false, element };
    }
  }
  function spread() {
    const [[ax, ay], [bx, by]] = [...down.values()];
    return { x: (ax + bx) / 2, y: (ay + by) / 2, wide: Math.max(20, Math.hypot(ax - bx, ay - by)) };
  }
  function pinched() {
    const now = spread();
    view.zoom(now.x, pinch.wide / now.wide);
    view.pan(pinch.x - now.x);
    view.scrollTo(view.scroll + pinch.y - now.y);
    pinch = now;
    on.moved();
  }
  function select(x, done) {
    const t = Math.round(gp.clamp(view.t(x), view.t0, view.t1)), from = Math.round(drag.from);
    on.range(Math.min(t, from), Math.max(t, from), done);
  }
  function move(element, e) {
    if (!down.has(e.pointerId)) return void (element === stage && on.hover(xOf(stage, e), yOf(stage, e), e));
    const x = xOf(element, e), y = yOf(element, e);
    down.set(e.pointerId, [x, y]);
    if (pinch && down.size === 2) return pinched();
    if (!drag) return;
    if (Math.hypot(x - drag.x, y - drag.y) > CLICK && !drag.far) {
      drag.far = true;
      if (!drag.selects) stage.classList.add("moving");
      on.hover(0, 0, null);
    }
    if (!drag.far) return;
    if (drag.selects) {
      select(x, false);
    } else {
      view.pan(drag.lastX - x);
      view.scrollTo(view.scroll + drag.lastY - y);
      on.moved();
    }
    drag.lastX = x;
    drag.lastY = y;
  }
  let lastPress = 0;
  function end(element, e, cancelled) {
    if (!down.delete(e.pointerId)) return;
    stage.classList.remove("moving");
    if (pinch) {
      pinch = null;
      drag = null;
      return;
    }
    if (!drag) return;
    if (drag.far && drag.selects) select(drag.lastX, true);
    else if (!drag.far && !cancelled && element === stage) {
      const twice = e.timeStamp - lastPress < 350;
      lastPress = twice ? 0 : e.timeStamp;
      on.press(drag.x, drag.y, twice);
    } else if (!drag.far && !cancelled && element === ruler) {
      on.range(0, 0, true);
    }
    drag = null;
  }
  for (const [element, selects] of [[stage, false], [ruler, true]]) {
    element.addEventListener("pointerdown", (e) => begin(element, e, selects));
    element.addEventListener("pointermove", (e) => move(element, e));
    element.addEventListener("pointerup", (e) => end(element, e, false));
    element.addEventListener("pointercancel", (e) => end(element, e, true));
  }
  stage.addEventListener("pointerleave", () => { if (!down.size) on.hover(0, 0, null); });

  /* ---- the map: drag the window, its edges, or a new one ---- */

  let held = null;
  const timeOf = (x) => gp.clamp(x / view.width, 0, 1) * view.span;
  map.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    map.setPointerCapture(e.pointerId);
    const x = xOf(map, e), x0 = view.t0 / view.span * view.width, x1 = view.t1 / view.span * view.width;
    const near = (at) => Math.abs(x - at) < 6;
    if (near(x0) && !view.isWhole()) held = { part: "edge", other: view.t1 };
    else if (near(x1) && !view.isWhole()) held = { part: "edge", other: view.t0 };
    else if (x > x0 && x < x1 && !view.isWhole()) held = { part: "window", grip: timeOf(x) - view.t0, wide: view.t1 - view.t0 };
    else held = { part: "new", other: timeOf(x), x };
  });
  map.addEventListener("pointermove", (e) => {
    if (!held) return;
    const x = xOf(map, e), t = timeOf(x);
    if (held.part === "window") on.window(t - held.grip, t - held.grip + held.wide);
    else if (held.part === "edge" || Math.abs(x - held.x) > CLICK) on.window(Math.min(t, held.other), Math.max(t, held.other));
  });
  map.addEventListener("pointerup", (e) => {
    if (held && held.part === "new" && Math.abs(xOf(map, e) - held.x) <= CLICK) {
      const half = (view.t1 - view.t0) / 2;
      if (!view.isWhole()) on.window(held.other - half, held.other + half);
    }
    held = null;
  });
  map.addEventListener("pointercancel", () => { held = null; });
}

Object.assign(gp, { timelineInput });
})();
