/* Where the lane chart's facts come from: one answer for the time that is seen and some more on both sides, asked
   again every few seconds, and not while nobody looks or updates are paused. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const POLL_MS = 5000;
  const IDLE_MS = 120000; // after this, only one poll in five is made
  const SETTLE_MS = 150;
  const LONGEST_S = 8 * 86400 - 7200;

  /* What the page's own head asks for (`rel=preload`), in the server's time. */
  function asked() {
    const link = document.querySelector("link[data-lanes-first]");
    const query = new URLSearchParams(link ? new URL(link.href).search : "");
    return query.has("from") ? { from: Number(query.get("from")), to: Number(query.get("to")), rows: query.get("rows") } : null;
  }

  /* What the page has brought along: of many lanes those that are seen. Once only: it is no news later. */
  function brought() {
    const data = document.getElementById("lanes-first");
    if (!data) return null;
    data.remove();
    return JSON.parse(data.textContent);
  }

  chart.Source = class {
    /* `take(answer)` is given what is new; `fail(gone)` hears that there is no answer, or none for us any more. */
    constructor(address, take, fail) {
      Object.assign(this, { address, take, fail, loaded: null, wanted: null, tag: "", asking: null, early: asked(), ended: false, polls: 0, waiting: 0, failed: 0 });
      this.active = Date.now();
      ["pointermove", "keydown", "wheel"].forEach((name) =>
        document.addEventListener(name, () => { this.active = Date.now(); }, { passive: true }));
      window.setInterval(() => this.poll(), POLL_MS);
      document.addEventListener("visibilitychange", () => { if (!document.hidden) this.poll(); });
    }

    /* What is there already is taken at once, in the same frame. */
    begin(view) {
      const told = brought();
      if (!told) return;
      this.view = view;
      this.take(told);
      this.askForAll();
    }

    /* Who moves about is asked for when they rest for a moment. */
    see(view) {
      this.view = view;
      const { loaded } = this;
      const covers = (part) => part !== null && view.from >= part.from && view.to <= part.to;
      // What is being asked for is waited for, however slow the answer: asking anew would only give it up.
      if (covers(loaded) || (this.asking && covers(this.wanted)) || this.waiting || Date.now() - this.failed < POLL_MS) return;
      this.waiting = window.setTimeout(() => { this.waiting = 0; this.ask(); }, loaded ? SETTLE_MS : 0);
    }

    get paused() {
      const pause = document.querySelector("[data-pause]");
      return pause !== null && pause.getAttribute("aria-pressed") === "true";
    }

    poll() {
      this.polls += 1;
      const idle = Date.now() - this.active > IDLE_MS && this.polls % 5 !== 0;
      if (!document.hidden && !this.paused && !idle && this.view) this.ask(true);
    }

    lost(gone) {
      this.ended = gone;
      this.failed = Date.now();
      this.fail(gone);
    }

    /* Half a window more on both sides, on round moments: so whoever looks at the same asks for the same. The first
       question is the one that the page has had asked while it was read itself. */
    window() {
      const { from, span } = this.view;
      const { early } = this;
      if (early && early.from <= from && early.to >= from + span) return early;
      const beside = Math.min(span / 2, (LONGEST_S - span) / 2);
      const step = span > 7200 ? 1800 : 300;
      return { from: Math.floor((from - beside) / step) * step, to: Math.ceil((from + span + beside) / step) * step };
    }

    /* Of many lanes those that are seen come first. The others follow when the page is there: they are a thousand, and
       would keep it waiting. */
    askForAll() {
      const ask = () => { this.waiting = window.setTimeout(() => { this.waiting = 0; this.ask(); }, 0); };
      this.waiting = -1;
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ask, { once: true }); else ask();
    }

    async ask(again = false) {
      if (this.ended || (again && (this.asking || this.waiting))) return;
      if (this.asking) this.asking.abort();
      const asking = new AbortController();
      const wanted = this.window();
      Object.assign(this, { asking, wanted });
      const query = `?from=${wanted.from}&to=${wanted.to}${wanted.rows ? `&rows=${wanted.rows}` : ""}`;
      const known = this.tag && this.query === query ? { "If-None-Match": this.tag } : {};
      try {
        const answer = await fetch(this.address + query, { headers: known, signal: asking.signal });
        if (answer.ok) {
          const told = await answer.json();
          this.early = null;
          this.take(told);
          if (chart.isWhole(told)) Object.assign(this, { loaded: wanted, query, tag: answer.headers.get("ETag") || "" });
          else this.askForAll();
        } else if (answer.status !== 304) {
          this.lost(answer.status < 500);
        }
      } catch (error) {
        if (error.name === "AbortError") return; // another view was asked for meanwhile
        this.lost(false);
        if (!(error instanceof TypeError)) throw error; // what fetch says when nobody answers
      } finally {
        if (this.asking === asking) this.asking = null;
      }
    }
  };
})();
