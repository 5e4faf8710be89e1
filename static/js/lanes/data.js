/* The lane chart's facts: what the API tells, put in order once per answer so that drawing only reads.
   `docs/api.md` has the fields. A piece is a job on one lane. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const HOUR = 3600;

  /* Whether all lanes are told, or the first ones only. */
  chart.isWhole = (answer) => (answer.of_lanes ?? null) === null;

  /* Few nodes have room to show their jobs below each other; how high a lane is hangs on their number alone, so that
     nothing jumps. */
  function laneHeight(count) { return count <= 8 ? 48 : count <= 24 ? 32 : chart.LANE_PX; }

  /* Jobs that share a lane stand below each other: each takes the first place that is free when it begins. */
  function packed(pieces) {
    pieces.sort((a, b) => a.from - b.from || a.to - b.to);
    const free = [];
    pieces.forEach((piece) => {
      let slot = free.findIndex((until) => until <= piece.from);
      if (slot < 0) slot = free.length;
      free[slot] = piece.to;
      piece.slot = slot;
    });
    return { pieces, slots: Math.max(1, free.length) };
  }

  /* Without an end a job is drawn open; for the order it lasts a day. */
  function endOf(bar, now) {
    if (bar.end === null) return Math.max(now, bar.start) + 24 * HOUR;
    return bar.kind === "running" ? Math.max(bar.end, now + 1) : bar.end;
  }

  function runKey(job, start, restarts) {
    return `${job} ${start} ${restarts}`;
  }

  function piecesOf(answer) {
    const byLane = answer.lanes.map(() => []);
    answer.bars.forEach((bar, index) => {
      const to = endOf(bar, answer.now);
      bar.lanes.forEach((lane) => byLane[lane].push({ bar: index, lane, from: bar.start, to, slot: 0 }));
    });
    return byLane.map(packed);
  }

  function firstPieces(lanes) {
    const first = new Map();
    lanes.forEach((lane) => lane.pieces.forEach((piece) => { if (!first.has(piece.bar)) first.set(piece.bar, piece); }));
    return first;
  }

  /* Where a stop leads to: the first run of the job that it served after it, or where that is to be. */
  function servedBar(stop, byJob) {
    const bars = (byJob.get(stop.served) || []).filter(({ bar }) => bar.kind !== "kept" && bar.start >= stop.at - 5);
    bars.sort((a, b) => a.bar.start - b.bar.start);
    return bars.length ? bars[0].index : -1;
  }

  /* What the chart draws from, of one answer; `fold`: which units are one lane. */
  chart.facts = function (answer, fold) {
    const byRun = new Map();
    const byJob = new Map();
    answer.bars.forEach((bar, index) => {
      byRun.set(runKey(bar.job, bar.start, bar.restarts), index);
      if (!byJob.has(bar.job)) byJob.set(bar.job, []);
      byJob.get(bar.job).push({ bar, index });
    });
    const lanes = piecesOf(answer);
    const runOf = (mark) => byRun.get(runKey(mark.job, mark.start, mark.restarts));
    const known = (mark) => mark.bar !== undefined;
    return chart.arrange({
      answer, lanes, bars: answer.bars, first: firstPieces(lanes), lanePx: laneHeight(answer.lanes.length),
      stops: answer.stops.map((stop) => ({ ...stop, bar: runOf(stop), to: servedBar(stop, byJob) })).filter(known),
      saves: answer.checkpoints.map((save) => ({ ...save, bar: runOf(save) })).filter(known),
      faded: new Uint8Array(answer.bars.length),
    }, fold);
  };

  /* What the filters above the chart leave out is faded: a part of the number, name or user, and the level. */
  chart.fade = function (facts, text, level) {
    const wanted = text.trim().toLowerCase();
    facts.bars.forEach((bar, index) => {
      const fits = !wanted || bar.job.startsWith(wanted) || bar.user.toLowerCase().includes(wanted)
        || bar.name.toLowerCase().includes(wanted);
      const same = level === "" || (level === "none" ? bar.level === null : String(bar.level) === level);
      facts.faded[index] = fits && same ? 0 : 1;
    });
  };

  /* The pieces of a lane between two moments; `each` may end the walk with true. They are in the order of their starts. */
  chart.walk = function (lane, from, to, each) {
    const { pieces } = lane;
    for (let i = 0; i < pieces.length && pieces[i].from < to; i += 1) {
      if (pieces[i].to > from && each(pieces[i])) return;
    }
  };
})();
