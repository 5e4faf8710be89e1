/* What the lane chart says: a job's story in one line, moments on the reader's clock, and the table of what is seen.
   The sentences stand in the page (`data-say`), in its language; names go into them as text, never as markup. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const MOST_ROWS = 300;
  const language = () => document.documentElement.lang;

  chart.Words = class {
    constructor(root) {
      this.said = {};
      root.querySelectorAll("[data-say]").forEach((each) => { this.said[each.dataset.say] = each.textContent.trim(); });
      this.now = this.said.now;
      this.clock = new Intl.DateTimeFormat(language(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
      const zone = new Intl.DateTimeFormat(language(), { timeZoneName: "short" }).formatToParts(new Date());
      this.zone = (zone.find((part) => part.type === "timeZoneName") || { value: "" }).value;
    }

    /* Made when they are needed: each takes some milliseconds, and the first frame waits. */
    get day() {
      return (this.days ??= new Intl.DateTimeFormat(language(), { month: "short", day: "numeric" }));
    }

    get full() {
      return (this.whole ??= new Intl.DateTimeFormat(language(), {
        month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
      }));
    }

    moment(at, days = false) { return (days ? this.day : this.clock).format(at * 1000); }

    /* With the day, where that is not today's. */
    exact(at) {
      const today = new Date().toDateString() === new Date(at * 1000).toDateString();
      return today ? this.moment(at) : this.full.format(at * 1000);
    }

    say(name, values = {}) {
      return (this.said[name] || name).replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
    }

    level(facts, bar) { return bar.level === null ? this.said.none : facts.answer.levels[bar.level] || `P${bar.level}`; }

    nodes(facts, bar) {
      const names = bar.lanes.slice(0, 3).map((lane) => facts.answer.lanes[lane].name);
      return bar.lanes.length > 3 ? this.say("more", { nodes: names.join(", "), n: bar.lanes.length - 3 }) : names.join(", ");
    }

    ends(bar) {
      const times = { at: bar.end && this.exact(bar.end), low: bar.low && this.exact(bar.low), high: bar.high && this.exact(bar.high) };
      const name = { forecast: "ends-forecast", limit: "ends-limit", stop: "ends-stop", known: "ends-now" }[bar.end_by] || "ends-open";
      return this.say(name, times);
    }

    what(bar) {
      const times = { from: this.exact(bar.start), at: bar.end && this.exact(bar.end) };
      if (bar.kind === "running") return `${this.say("running", times)} ${this.ends(bar)}`;
      if (bar.kind === "expected" && bar.low !== null) {
        const range = { ...times, low: this.exact(bar.low), high: bar.high === null ? "…" : this.exact(bar.high) };
        return this.say("expected-range", range);
      }
      return this.say(bar.kind, { ...times, plan: bar.plan });
    }

    story(facts, index) {
      const bar = facts.bars[index];
      const head = this.say("who", { job: bar.job, name: bar.name, user: bar.user, level: this.level(facts, bar), nodes: this.nodes(facts, bar) });
      const marks = [
        ...facts.saves.filter((save) => save.bar === index).map((save) => this.say("saved", { at: this.exact(save.at) })),
        ...facts.stops.filter((stop) => stop.bar === index).map((stop) =>
          this.say(stop.done ? "stopped" : "to-be-stopped", { at: this.exact(stop.at), job: stop.served, user: stop.served_user })),
      ];
      return [head, this.what(bar), ...marks, bar.why].filter(Boolean).join(" ");
    }
  };

  /* The same as rows, of the time that is seen; made when the table is opened, and not while somebody is in it. */
  chart.fillTable = function (table, facts, view, words, address) {
    const shown = facts.bars.map((bar, index) => ({ bar, index })).filter(({ bar, index }) => {
      const piece = facts.first.get(index);
      return piece && !facts.faded[index] && piece.from < view.to && piece.to > view.from;
    });
    shown.sort((a, b) => a.bar.lanes[0] - b.bar.lanes[0] || a.bar.start - b.bar.start);
    const body = table.tBodies[0];
    body.replaceChildren(...shown.slice(0, MOST_ROWS).map(({ bar, index }) => row(facts, bar, index, words, address)));
    const more = shown.length - MOST_ROWS;
    table.closest("details").querySelector("[data-lanes-more]").textContent = more > 0 ? words.say("rows-more", { n: MOST_ROWS, more }) : "";
  };

  function row(facts, bar, index, words, address) {
    const line = document.createElement("tr");
    const link = document.createElement("a");
    link.href = address(bar.job);
    link.textContent = bar.job;
    const served = facts.stops.filter((stop) => stop.bar === index).map((stop) =>
      words.say(stop.done ? "stopped" : "to-be-stopped", { at: words.exact(stop.at), job: stop.served, user: stop.served_user }));
    const cells = [words.nodes(facts, bar), link, bar.name, bar.user, words.level(facts, bar), [words.what(bar), ...served].join(" ")];
    cells.forEach((content) => line.insertCell().append(content));
    return line;
  }
})();
