/* Many nodes are shown by compute unit: one lane for each, with how many of its nodes are busy. A click on it shows its
   nodes, and another one folds them again; a button does it for all. */
(function () {
  "use strict";

  const chart = (window.givewayLanes = window.givewayLanes || {});
  const MANY = 64; // with more nodes than these, units are folded unless told

  chart.Fold = class {
    constructor() {
      this.wanted = null; // what the button has said of all
      this.turned = new Set(); // those that are otherwise
    }

    all(lanes) { return this.wanted === null ? lanes.length > MANY : this.wanted; }

    shown(lanes) { return (this.wanted !== null || lanes.length > MANY) && lanes.some((lane) => lane.unit); }

    folds(lanes, key) { return this.all(lanes) !== this.turned.has(key); }

    turn(key) { if (!this.turned.delete(key)) this.turned.add(key); }

    turnAll(lanes) {
      this.wanted = !this.all(lanes);
      this.turned.clear();
    }
  };

  chart.unitKey = (lane) => `${lane.group}\n${lane.unit}`;

  /* How many lanes of a unit are busy from when on: `[moment, number]`, in order. Nodes that are only kept are not. */
  chart.busySteps = function (facts, places) {
    const changes = [];
    places.forEach((place) => {
      let until = -Infinity;
      facts.lanes[place].pieces.forEach(({ bar, from, to }) => { // they are in the order of their starts
        if (facts.bars[bar].kind === "kept" || to <= until) return;
        if (from > until) changes.push([from, 1]); else changes.pop();
        changes.push([to, -1]);
        until = to;
      });
    });
    changes.sort((a, b) => a[0] - b[0]);
    const steps = [];
    let busy = 0;
    changes.forEach(([at, by]) => {
      busy += by;
      if (steps.length && steps[steps.length - 1][0] === at) steps[steps.length - 1][1] = busy; else steps.push([at, busy]);
    });
    return steps;
  };

  chart.busyAt = function (steps, moment) {
    let busy = 0;
    for (let i = 0; i < steps.length && steps[i][0] <= moment; i += 1) [, busy] = steps[i];
    return busy;
  };

  /* The rows from the top: the heading of each kind, its units, and the lanes of those that are not folded. */
  chart.arrange = function (facts, fold) {
    const { lanes } = facts.answer;
    const inUnits = fold.shown(lanes);
    const rows = [];
    const rowOfLane = [];
    let top = 0;
    let group = null;
    let unit = null;
    const add = (row) => { rows.push({ top, ...row }); top += row.height; };
    lanes.forEach((lane, index) => {
      if (lane.group !== group) {
        [group, unit] = [lane.group, null];
        add({ height: chart.GROUP_PX, lane: -1, label: group });
      }
      const key = inUnits && lane.unit ? chart.unitKey(lane) : "";
      if (key && (!unit || unit.key !== key)) {
        unit = { key, name: lane.unit, places: [], folded: fold.folds(lanes, key) };
        add({ height: chart.LANE_PX, lane: -1, unit, label: lane.unit });
      }
      if (!key) unit = null;
      if (unit) unit.places.push(index);
      if (unit && unit.folded) {
        rowOfLane[index] = rows[rows.length - 1].top;
      } else {
        rowOfLane[index] = top;
        add({ height: facts.lanePx, lane: index, label: lane.name, off: !lane.up });
      }
    });
    const known = chart.isWhole(facts.answer) ? lanes.length : facts.answer.of_lanes;
    rows.filter((row) => row.unit).forEach(({ unit: { places }, unit: each }) => {
      Object.assign(each, { steps: chart.busySteps(facts, places), known: places[places.length - 1] < known });
    });
    return Object.assign(facts, { rows, height: top, rowOfLane });
  };
})();
