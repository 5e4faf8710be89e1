/* The lane chart: pointer, keys, filters and the loop that draws a frame when something has moved. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const NARROW_PX = 600;
  const DRAG_PX = 4;
  const SECOND_MS = 1000;
  const ZOOM = 1.25;
  const AFTER_MS = 50; // the frame is on the screen by then
  const LONGEST_MS = 1500;

  class Chart {
    constructor(root) {
      this.fingers = new Map(); // where each is on the canvas, by pointer
      this.root = root;
      this.canvas = root.querySelector("canvas");
      this.box = root.querySelector(".lanes-box");
      this.line = root.querySelector(".lanes-told");
      this.words = new chart.Words(root);
      this.drawing = new chart.Drawing(this.canvas);
      // The reader's clock may be wrong, by years: the page says what time it was when it was made.
      this.skew = Number(root.dataset.clock) - Date.now() / 1000;
      this.view = new chart.View(this.clock());
      this.facts = null;
      this.fold = new chart.Fold();
      this.chosen = null;
      this.dirty = false;
      this.source = new chart.Source(root.dataset.lanes, (answer) => this.take(answer), (gone) => this.failed(gone));
      this.listen();
      this.paint();
      this.resize();
      this.tell();
      if (!("brought" in root.dataset)) this.begin();
    }

    /* With what the page has brought along, or else asking for it at once. */
    begin() {
      if (this.begun) return;
      this.begun = true;
      this.source.begin(this.view);
      this.tick();
      window.setInterval(() => this.tick(), SECOND_MS);
    }

    clock() { return Date.now() / 1000 + this.skew; }

    address(job) { return this.root.dataset.job.replace("JOB", encodeURIComponent(job)); }

    // --- What comes, and what is drawn of it ---------------------------------------------------------------
    take(answer) {
      const isFirst = this.facts === null;
      const before = this.chosen && this.facts.bars[this.chosen.bar];
      this.skew = answer.now - Date.now() / 1000;
      this.facts = chart.facts(answer, this.fold);
      this.chosen = before ? this.pieceOf(before) : null;
      this.fade();
      this.resize();
      this.tell();
      this.fillTable(false);
      Object.assign(this.root.dataset, { bars: answer.bars.length, rows: this.facts.rows.length });
      this.root.querySelector("[data-lanes-do=units]").hidden = !answer.lanes.some((lane) => lane.unit);
      if (isFirst) this.frame(); // not with the next frame of the page, before which all that is read by then is laid out
    }

    // --- Units -------------------------------------------------------------------------------------------------
    refold() {
      chart.arrange(this.facts, this.fold);
      this.resize();
      this.root.dataset.rows = this.facts.rows.length;
    }

    turnUnits() {
      if (!this.facts) return;
      this.fold.turnAll(this.facts.answer.lanes);
      this.refold();
    }

    rowAt(y) {
      const down = y - chart.AXIS_PX + this.view.scroll;
      return y < chart.AXIS_PX ? undefined : this.facts.rows.find((each) => down >= each.top && down < each.top + each.height);
    }

    /* The same run, or the same job where it has begun meanwhile. */
    pieceOf(before) {
      const same = (bar) => bar.job === before.job && bar.start === before.start && bar.kind === before.kind;
      const index = this.facts.bars.findIndex(same);
      return index < 0 ? null : this.facts.first.get(index) || null;
    }

    failed(gone) {
      this.line.textContent = this.words.say(gone ? "gone" : "failed");
      layOutTheRest();
    }

    paint() {
      this.colours = chart.colours(this.canvas, this.root);
      this.draw();
    }

    resize() {
      const width = this.box.clientWidth;
      // Until facts are there it is as high as the page has it: what is below shall not jump.
      const content = this.facts ? this.facts.height + chart.AXIS_PX : this.box.clientHeight;
      const most = Math.min(width < NARROW_PX ? 260 : 460, window.innerHeight * 0.5);
      const height = Math.round(Math.max(120, Math.min(content, most)));
      this.root.querySelector(".lanes-all").style.height = `${Math.max(content, height)}px`;
      this.box.style.height = `${height}px`;
      this.canvas.style.height = `${height}px`;
      Object.assign(this.view, { width, height, label: width < NARROW_PX ? 72 : 120 });
      this.drawing.size(width, height);
      this.draw();
    }

    tick() {
      if (document.hidden || this.source.paused) return;
      this.view.tick(this.clock());
      this.source.see(this.view);
      this.draw();
    }

    draw() {
      if (this.dirty) return;
      this.dirty = true;
      window.requestAnimationFrame(() => { if (this.dirty) this.frame(); });
    }

    frame() {
      this.dirty = false;
      this.view.scroll = this.box.scrollTop;
      if (!this.facts) return;
      this.drawing.frame(this.facts, this.view, this.colours, this.words, this.chosen);
      const { from, span, follow } = this.view;
      Object.assign(this.root.dataset, { from: Math.round(from), span: Math.round(span), follow });
      layOutTheRest();
    }

    moved() {
      this.source.see(this.view);
      this.draw();
      this.fillTable(false);
    }

    // --- A job's story -------------------------------------------------------------------------------------
    choose(piece) {
      if (piece === this.chosen) return;
      this.chosen = piece;
      this.canvas.classList.toggle("on-job", piece !== null);
      this.tell();
      this.draw();
    }

    tell() {
      const text = this.chosen ? this.words.story(this.facts, this.chosen.bar) : this.notes();
      if (this.line.textContent !== text) this.line.textContent = text;
    }

    notes() {
      const { answer } = this.facts || {};
      const left = answer && answer.left_out ? this.words.say("left-out", { n: answer.left_out }) : "";
      const lost = answer && answer.unplaced ? this.words.say("unplaced", { n: answer.unplaced }) : "";
      const help = window.matchMedia("(hover: none)").matches ? this.words.say("help-touch") : this.words.say("help");
      return [left, lost, help].filter(Boolean).join(" ");
    }

    open() { if (this.chosen) window.location.assign(this.address(this.facts.bars[this.chosen.bar].job)); }

    /* The job at a place on the canvas; where none is right there, the nearest one of the lane at that moment. */
    at(x, y) {
      const { facts, view } = this;
      if (!facts || x < view.label || y < chart.AXIS_PX) return null;
      const down = y - chart.AXIS_PX + view.scroll;
      const row = this.rowAt(y);
      if (!row || row.lane < 0) return null;
      const lane = facts.lanes[row.lane];
      const slot = Math.floor(((down - row.top - 2) / (facts.lanePx - 4)) * lane.slots);
      const near = (3 / view.plot) * view.span;
      let best = null;
      chart.walk(lane, view.moment(x) + near, view.moment(x) - near, (piece) => {
        if (!best || Math.abs(piece.slot - slot) < Math.abs(best.slot - slot)) best = piece;
        return piece.slot === slot;
      });
      return best;
    }

    // --- Keys ----------------------------------------------------------------------------------------------
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.facts) return;
      const part = this.view.span / 8;
      const acts = {
        ArrowLeft: () => (event.shiftKey ? this.along(-1) : this.pan(-part)),
        ArrowRight: () => (event.shiftKey ? this.along(1) : this.pan(part)),
        ArrowUp: () => this.across(-1),
        ArrowDown: () => this.across(1),
        PageUp: () => this.box.scrollBy(0, -this.view.height / 2),
        PageDown: () => this.box.scrollBy(0, this.view.height / 2),
        "+": () => this.zoom(1 / ZOOM), "=": () => this.zoom(1 / ZOOM), "-": () => this.zoom(ZOOM),
        Home: () => this.goToNow(),
        Enter: () => this.open(),
        Escape: () => this.choose(null),
      };
      if (!acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    }

    pan(seconds) { this.view.pan(seconds); this.moved(); }

    zoom(factor, x = this.view.label + this.view.plot / 2) { this.view.zoom(factor, x); this.moved(); }

    goToNow() { this.view.goToNow(); this.view.tick(this.clock()); this.moved(); }

    /* The next job on the same lane, or the first that is seen. */
    along(by) {
      if (!this.chosen) { this.across(1); return; }
      const { pieces } = this.facts.lanes[this.chosen.lane];
      const next = pieces[pieces.indexOf(this.chosen) + by];
      if (next) this.show(next);
    }

    /* A job on the next lane that has one in sight, the nearest in time to the chosen one. */
    across(by) {
      const { facts, view } = this;
      const middle = this.chosen ? Math.max(this.chosen.from, view.from) : view.from + view.span / 2;
      const first = by > 0 ? 0 : facts.lanes.length - 1;
      for (let i = this.chosen ? this.chosen.lane + by : first; i >= 0 && i < facts.lanes.length; i += by) {
        let best = null;
        chart.walk(facts.lanes[i], view.from, view.to, (piece) => {
          if (!best || Math.abs(piece.from - middle) < Math.abs(best.from - middle)) best = piece;
        });
        if (best) { this.show(best); return; }
      }
    }

    /* Bring a job into sight, and no further. */
    show(piece) {
      const { view, box } = this;
      const row = this.facts.rows.find((each) => each.unit && each.unit.folded && each.unit.places.includes(piece.lane));
      if (row) { this.fold.turn(row.unit.key); this.refold(); }
      if (piece.to < view.from || piece.from > view.to) view.pan(piece.from - view.from - view.span / 4);
      const top = this.facts.rowOfLane[piece.lane];
      const seen = view.height - chart.AXIS_PX - this.facts.lanePx;
      if (top < box.scrollTop) box.scrollTop = top - chart.GROUP_PX;
      if (top > box.scrollTop + seen) box.scrollTop = top - seen;
      this.choose(piece);
      this.moved();
    }

    // --- Pointer -------------------------------------------------------------------------------------------
    listen() {
      const { canvas, box } = this;
      canvas.addEventListener("keydown", (event) => this.press(event));
      canvas.addEventListener("blur", () => this.choose(null));
      canvas.addEventListener("pointerdown", (event) => this.grab(event));
      canvas.addEventListener("pointermove", (event) => this.move(event));
      canvas.addEventListener("pointerup", (event) => this.drop(event));
      canvas.addEventListener("pointercancel", (event) => this.letGo(event));
      canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) this.choose(null); });
      canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      box.addEventListener("scroll", () => this.draw(), { passive: true });
      new ResizeObserver(() => { if (box.clientWidth !== this.view.width) this.resize(); }).observe(box);
      window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
      new MutationObserver(() => this.paint()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      this.root.querySelectorAll("[data-lanes-do]").forEach((button) => button.addEventListener("click", () => {
        if (button.dataset.lanesDo === "units") this.turnUnits();
        else if (button.dataset.lanesDo === "now") this.goToNow(); else this.zoom(button.dataset.lanesDo === "in" ? 1 / ZOOM : ZOOM);
      }));
      ["job-filter", "level-filter"].forEach((id) => {
        const filter = document.getElementById(id);
        if (filter) filter.addEventListener("input", () => { this.fade(); this.draw(); this.fillTable(false); });
      });
      this.root.querySelector("details").addEventListener("toggle", () => this.fillTable(true));
    }

    /* Two fingers zoom: what is between them stays there. Neither of them drags or opens anything then. */
    grab(event) {
      if (event.button !== 0) return;
      if (event.isPrimary) this.fingers.clear();
      this.fingers.set(event.pointerId, event.offsetX);
      this.held = { x: event.clientX, y: event.clientY, far: this.fingers.size > 1, id: event.pointerId };
    }

    pinch(event) {
      const gap = () => { const [a, b] = this.fingers.values(); return Math.max(Math.abs(a - b), DRAG_PX); };
      const before = gap();
      this.fingers.set(event.pointerId, event.offsetX);
      const [a, b] = this.fingers.values();
      this.zoom(before / gap(), (a + b) / 2);
    }

    move(event) {
      const { held, view } = this;
      if (this.fingers.size === 2 && this.fingers.has(event.pointerId)) { this.pinch(event); return; }
      if (!held) { this.choose(this.at(event.offsetX, event.offsetY)); return; }
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.far && Math.abs(dx) + Math.abs(dy) < DRAG_PX) return;
      if (!held.far) this.canvas.setPointerCapture(held.id);
      Object.assign(held, { far: true, x: event.clientX, y: event.clientY });
      if (dx) this.view.pan((-dx / view.plot) * view.span);
      this.box.scrollTop -= dy;
      this.moved();
    }

    letGo(event) {
      this.fingers.delete(event.pointerId);
      this.held = null;
    }

    drop(event) {
      const { held } = this;
      this.letGo(event);
      if (!held || held.far) return;
      const row = this.facts && this.rowAt(event.offsetY);
      if (row && row.unit) { this.fold.turn(row.unit.key); this.refold(); return; }
      this.choose(this.at(event.offsetX, event.offsetY));
      this.open();
    }

    /* Over the names lanes are scrolled; over the bars it zooms, once the chart has the focus or with Ctrl: else the
       page could not be scrolled past it. */
    wheel(event) {
      const zooms = event.ctrlKey || document.activeElement === this.canvas;
      if (!zooms || event.shiftKey || event.offsetX < this.view.label) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, event.offsetX);
    }

    // --- Filters and the table -----------------------------------------------------------------------------
    fade() {
      const value = (id) => (document.getElementById(id) || { value: "" }).value;
      if (this.facts) chart.fade(this.facts, value("job-filter"), value("level-filter"));
    }

    fillTable(opened) {
      const details = this.root.querySelector("details");
      const table = details.querySelector("table");
      if (!details.open || !this.facts || !chart.isWhole(this.facts.answer) || (!opened && table.contains(document.activeElement))) return;
      window.clearTimeout(this.filling);
      this.filling = window.setTimeout(() => {
        chart.fillTable(table, this.facts, this.view, this.words, (job) => this.address(job));
        document.dispatchEvent(new Event("giveway:rows"));
      }, opened ? 0 : 300);
    }
  }

  /* What is below the chart waits for its first frame (css/lanes.css), but not long, and not for it when somebody goes
     there or something new is put there. */
  let waits = true;
  function layOut() {
    const rest = document.querySelector(".after-lanes");
    if (rest) rest.classList.remove("after-lanes"); else if (document.readyState === "loading") return;
    waits = false;
  }
  function layOutTheRest() { if (waits) window.setTimeout(layOut, AFTER_MS); }

  const root = document.getElementById("lanes"); // just read, and what is below is not: these scripts stand behind it
  if (root) {
    ["htmx:beforeSwap", "scroll", "keydown", "pointerdown"].forEach((name) =>
      document.addEventListener(name, layOut, { capture: true, once: true, passive: true }));
    document.addEventListener("DOMContentLoaded", () => { if (window.location.hash) layOut(); });
    window.setTimeout(layOut, LONGEST_MS);
    chart.shown = new Chart(root);
    document.addEventListener("DOMContentLoaded", () => chart.shown.begin()); // if it has not by then
  }
})();
