/* Drawing the lane chart: only what is seen, with nothing kept between two frames but the colours. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const PALE = 0.42; // what has not come to pass yet
  const FADED = 0.12; // what the filters leave out
  const LETTER_PX = 6.4;
  const LEAST_TEXT_PX = 34;

  /* Colours come from the style sheet, light or dark: levels from the legend, the others from the canvas itself. */
  chart.colours = function (canvas, legend) {
    const style = window.getComputedStyle(canvas);
    const levels = [...legend.querySelectorAll("[data-lane-level]")].map((badge) => {
      const of = window.getComputedStyle(badge);
      return { fill: of.backgroundColor, ink: of.color };
    });
    return {
      levels, ink: style.color, paper: style.backgroundColor, line: style.borderTopColor, accent: style.outlineColor,
      bad: style.textDecorationColor, good: style.caretColor, quiet: style.columnRuleColor, ahead: style.borderBottomColor,
      font: style.fontFamily,
    };
  };

  function unitLabel(unit, now) {
    const busy = unit.known ? `${chart.busyAt(unit.steps, now)}/${unit.places.length} ` : "";
    return `${unit.folded ? "▸" : "▾"} ${busy}${unit.name}`;
  }

  chart.Drawing = class {
    constructor(canvas) {
      this.canvas = canvas;
      this.pen = canvas.getContext("2d");
      this.ratio = 1;
    }

    size(width, height) {
      this.ratio = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(width * this.ratio);
      this.canvas.height = Math.round(height * this.ratio);
    }

    /* One frame. `chosen`: the piece under the pointer or the keyboard. */
    frame(facts, view, colours, words, chosen) {
      const { pen } = this;
      this.facts = facts;
      this.view = view;
      this.colours = colours;
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.globalAlpha = 1;
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, view.width, view.height);
      this.ground();
      pen.save();
      pen.beginPath();
      pen.rect(view.label, chart.AXIS_PX, view.plot, view.height - chart.AXIS_PX);
      pen.clip();
      pen.font = `10px ${colours.font}`;
      pen.textBaseline = "middle";
      this.eachRow((row, top) => { if (row.unit) this.unit(row.unit, top); else if (row.lane >= 0) this.lane(facts.lanes[row.lane], top); });
      this.threads();
      this.saves();
      if (chosen) this.outline(chosen);
      pen.restore();
      this.labels();
      this.axis(words);
    }

    eachRow(each) {
      const { facts, view } = this;
      let low = 0;
      let high = facts.rows.length;
      while (low < high) { // the first row that reaches into the window
        const middle = (low + high) >> 1;
        if (facts.rows[middle].top + facts.rows[middle].height <= view.scroll) low = middle + 1; else high = middle;
      }
      for (let i = low; i < facts.rows.length; i += 1) {
        const top = facts.rows[i].top - view.scroll + chart.AXIS_PX;
        if (top >= view.height) return;
        each(facts.rows[i], top);
      }
    }

    ground() {
      const { pen, view, colours } = this;
      const now = Math.max(view.label, view.x(view.now));
      pen.fillStyle = colours.ahead;
      if (now < view.width) pen.fillRect(now, chart.AXIS_PX, view.width - now, view.height);
      pen.fillStyle = colours.line;
      chart.marks(view).marks.forEach((at) => pen.fillRect(Math.round(view.x(at)), chart.AXIS_PX - 4, 1, view.height));
    }

    lane(lane, top) {
      const { view, facts } = this;
      const thick = (facts.lanePx - 4) / lane.slots;
      const { pieces } = lane;
      for (let i = 0; i < pieces.length && pieces[i].from < view.to; i += 1) {
        if (pieces[i].to > view.from) this.piece(pieces[i], top + 2 + pieces[i].slot * thick, thick);
      }
      this.pen.globalAlpha = 1;
    }

    /* How many of its nodes are busy, as steps of a full lane; paler from now on. */
    unit(unit, top) {
      const { pen, view, colours } = this;
      const full = chart.LANE_PX - 4;
      pen.fillStyle = colours.quiet;
      unit.steps.forEach(([at, busy], i) => {
        const to = i + 1 < unit.steps.length ? unit.steps[i + 1][0] : at;
        if (!busy || to <= view.from || at >= view.to) return;
        const high = Math.max(1, (full * busy) / unit.places.length);
        [[at, Math.min(to, view.now), 2 * PALE], [Math.max(at, view.now), to, PALE]].forEach(([begin, end, alpha]) => {
          if (end <= begin) return;
          pen.globalAlpha = alpha;
          pen.fillRect(view.x(begin), top + 2 + full - high, view.x(end) - view.x(begin), high);
        });
      });
      pen.globalAlpha = 1;
    }

    piece(piece, top, thick) {
      const { pen, view, colours, facts } = this;
      const bar = facts.bars[piece.bar];
      const shade = facts.faded[piece.bar] ? FADED : 1;
      const none = colours.levels.length - 1; // the last of the legend
      const colour = colours.levels[bar.level === null ? none : Math.max(0, Math.min(bar.level, none - 1))];
      const left = Math.max(view.x(piece.from), view.label - 2);
      const right = Math.min(Math.max(view.x(piece.to), left + 1.5), view.width + 2);
      const height = Math.max(1, thick - (thick > 3 ? 1 : 0));
      const here = bar.kind === "over" || bar.kind === "running";
      const split = here ? Math.min(Math.max(view.x(view.now), left), right) : left;
      pen.fillStyle = colour.fill;
      pen.globalAlpha = shade;
      if (split > left) pen.fillRect(left, top, split - left, height);
      pen.globalAlpha = shade * (bar.end === null ? PALE / 2 : PALE);
      if (right > split && bar.kind !== "kept") pen.fillRect(split, top, right - split, height);
      if (!here && thick > 3) this.dashes(left, top, right - left, height, shade);
      if (thick >= 9 && right - left > LEAST_TEXT_PX && shade === 1) {
        pen.globalAlpha = 1;
        pen.fillStyle = split - left > LEAST_TEXT_PX ? colour.ink : colours.ink;
        const room = (split - left > LEAST_TEXT_PX ? split - left : right - left) - 8;
        pen.fillText(`${bar.job} ${bar.user}`.slice(0, Math.floor(room / LETTER_PX)), Math.max(left, view.label) + 4, top + height / 2);
      }
    }

    dashes(left, top, width, height, shade) {
      const { pen, colours } = this;
      pen.globalAlpha = shade;
      pen.strokeStyle = colours.quiet;
      pen.lineWidth = 1;
      pen.setLineDash([3, 2]);
      pen.strokeRect(left + 0.5, top + 0.5, Math.max(1, width - 1), Math.max(1, height - 1));
      pen.setLineDash([]);
    }

    middle(piece) {
      const { facts, view } = this;
      const thick = (facts.lanePx - 4) / facts.lanes[piece.lane].slots;
      return facts.rowOfLane[piece.lane] - view.scroll + chart.AXIS_PX + 2 + (piece.slot + 0.5) * thick;
    }

    /* A cut at the end of each run that was stopped, and a thread to the job for which it made room. */
    threads() {
      const { pen, facts, view, colours } = this;
      for (const stop of facts.stops) {
        const from = facts.first.get(stop.bar);
        const to = stop.to < 0 ? null : facts.first.get(stop.to);
        const [x, y] = [view.x(stop.at), from ? this.middle(from) : 0];
        const [x2, y2] = to ? [view.x(facts.bars[stop.to].start), this.middle(to)] : [x, y];
        const aside = Math.max(x, x2) < view.label || Math.min(x, x2) > view.width;
        if (!from || aside || Math.max(y, y2) < 0 || Math.min(y, y2) > view.height) continue;
        pen.globalAlpha = facts.faded[stop.bar] && (stop.to < 0 || facts.faded[stop.to]) ? FADED : stop.done ? 1 : 0.55;
        pen.strokeStyle = colours.bad;
        if (to) {
          pen.lineWidth = 1;
          pen.beginPath();
          pen.moveTo(x, y);
          pen.bezierCurveTo(x + 18, y, x2 - 18, y2, x2, y2);
          pen.stroke();
        }
        pen.lineWidth = 2;
        pen.beginPath();
        pen.moveTo(x - 4, y - 5); pen.lineTo(x + 4, y + 5);
        pen.moveTo(x + 4, y - 5); pen.lineTo(x - 4, y + 5);
        pen.stroke();
      }
      pen.globalAlpha = 1;
    }

    saves() {
      const { pen, facts, view, colours } = this;
      pen.fillStyle = colours.good;
      for (const save of facts.saves) {
        const piece = facts.first.get(save.bar);
        if (!piece) continue;
        const [x, y] = [view.x(save.at), this.middle(piece) + 4];
        pen.globalAlpha = facts.faded[save.bar] ? FADED : 1;
        pen.fillRect(x - 1, y - 8, 2, 10);
        pen.fillRect(x - 3, y - 9, 6, 3);
      }
      pen.globalAlpha = 1;
    }

    outline(piece) {
      const { pen, view, facts, colours } = this;
      const thick = (facts.lanePx - 4) / facts.lanes[piece.lane].slots;
      const [left, right] = [Math.max(view.x(piece.from), view.label + 1), Math.min(view.x(piece.to), view.width - 1)];
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      pen.strokeRect(left - 1, this.middle(piece) - thick / 2 - 1, Math.max(3, right - left + 2), Math.max(3, thick + 1));
    }

    labels() {
      const { pen, view, colours } = this;
      pen.textBaseline = "middle";
      this.eachRow((row, top) => {
        const heading = row.lane < 0 && !row.unit;
        const label = row.unit ? unitLabel(row.unit, view.now) : row.label;
        pen.fillStyle = colours.paper;
        pen.fillRect(0, top, heading ? view.width : view.label, row.height);
        pen.fillStyle = heading || row.off ? colours.quiet : colours.ink;
        pen.font = `${heading ? "600 " : ""}11px ${colours.font}`;
        const most = Math.floor((heading ? view.width : view.label - 12) / LETTER_PX);
        pen.fillText(label.length > most ? `${label.slice(0, most - 1)}…` : label, 6, top + row.height / 2);
        if (row.off) pen.fillRect(6, top + row.height / 2, Math.min(view.label - 14, row.label.length * LETTER_PX), 1);
      });
    }

    axis(words) {
      const { pen, view, colours } = this;
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, view.width, chart.AXIS_PX);
      pen.font = `11px ${colours.font}`;
      pen.fillStyle = colours.quiet;
      pen.fillText(words.zone, 6, chart.AXIS_PX / 2);
      const { marks, days } = chart.marks(view);
      const now = view.x(view.now);
      for (const at of marks) {
        const x = view.x(at);
        if (x > view.label && x < view.width - 36 && Math.abs(x - now) > 40) pen.fillText(words.moment(at, days), x + 3, chart.AXIS_PX / 2);
      }
      if (now < view.label || now > view.width) return;
      pen.fillStyle = colours.accent;
      pen.fillRect(Math.round(now) - 1, 4, 2, view.height);
      pen.fillText(words.now, Math.min(now + 5, view.width - 30), chart.AXIS_PX / 2);
    }
  };
})();
