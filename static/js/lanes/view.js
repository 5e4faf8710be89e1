/* The lane chart's view: which time and which lanes are seen, and where a moment and a lane stand on the canvas. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  chart.LANE_PX = 22;
  chart.GROUP_PX = 20;
  chart.AXIS_PX = 22;
  const SHORTEST_S = 600;
  const LONGEST_S = 7 * 86400;
  const FAR_S = 300 * 86400;
  const AT_NOW = 0.5; // where now stands while the view follows it

  chart.View = class {
    constructor(now) {
      this.span = 3600;
      this.follow = true;
      this.width = 600;
      this.height = 300;
      this.label = 110;
      this.scroll = 0;
      this.tick(now);
    }

    /* Time goes on: the view goes along only while it is at now. */
    tick(now) {
      this.now = now;
      if (this.follow) this.from = now - this.span * AT_NOW;
    }

    get to() { return this.from + this.span; }

    get plot() { return Math.max(50, this.width - this.label); }

    x(moment) { return this.label + ((moment - this.from) / this.span) * this.plot; }

    moment(x) { return this.from + ((x - this.label) / this.plot) * this.span; }

    pan(seconds) {
      this.follow = false;
      this.from = Math.min(Math.max(this.from + seconds, this.now - FAR_S), this.now + FAR_S);
    }

    /* The moment at `x` stays where it is; while the view follows now, that does. */
    zoom(factor, x) {
      const span = Math.min(Math.max(this.span * factor, SHORTEST_S), LONGEST_S);
      if (this.follow) {
        this.span = span;
        this.tick(this.now);
        return;
      }
      const fixed = this.moment(x);
      this.from = fixed - ((fixed - this.from) * span) / this.span;
      this.span = span;
    }

    goToNow() {
      this.follow = true;
      this.tick(this.now);
    }
  };

  /* Marks of the time axis: a step that leaves room for the words, on whole hours and days of the reader's clock. */
  const STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  chart.marks = function (view) {
    const step = STEPS.find((each) => (each / view.span) * view.plot > 64) || 86400;
    const shift = -new Date(view.from * 1000).getTimezoneOffset() * 60;
    const marks = [];
    for (let at = Math.ceil((view.from + shift) / step) * step - shift; at < view.to; at += step) marks.push(at);
    return { marks, days: step >= 43200 };
  };
})();
