// Keeps the intervals of each row of a measurement, in bounded memory: when a row has too many, each two become one.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const MOST_INTERVALS = 3600;
  const MOST_LEFT = 2700; // after intervals were joined
  const MOST_ROWS = 16;
  const QUANTILES = ["p50_ns", "p99_ns", "p999_ns", "p9999_ns"];

  function joined(first, second) {
    const directions = {};
    for (const name of new Set([...Object.keys(first.directions), ...Object.keys(second.directions)])) {
      const [one, two] = [first.directions[name], second.directions[name]];
      directions[name] = one && two ? added(one, two) : (one ?? two);
    }
    return { ...second, seconds: first.seconds + second.seconds, apart: first.apart, ramp: first.ramp && second.ramp, directions };
  }

  // Counts are sums. A quantile of both is at most the larger of theirs; that one is kept, so that no peak is lost.
  function added(one, two) {
    const sum = { ios: one.ios + two.ios, bytes: one.bytes + two.bytes, errors: one.errors + two.errors };
    for (const name of QUANTILES)
      sum[name] = one[name] === null ? two[name] : two[name] === null ? one[name] : Math.max(one[name], two[name]);
    const bands = new Map(one.bands);
    for (const [band, count] of two.bands) bands.set(band, (bands.get(band) ?? 0) + count);
    sum.bands = [...bands].sort(([a], [b]) => a - b);
    return sum;
  }

  class History {
    rows = new Map(); // by label; the row whose interval came last is the last one
    current = []; // labels of the current step's rows
    #labels = new Map(); // by stage and number
    #virtual = false;
    #base = 0; // virtual seconds before the current stage
    #reached = 0;
    #stage = -1;
    #fresh = new Set(); // labels without an interval of this step

    add(event) {
      if (event.event === "begin") this.#virtual = event.virtual;
      else if (event.event === "step") this.#begin([]);
      else if (event.event === "rows") this.#begin(event.rows);
      else if (event.event === "interval") this.#interval(event);
      else if (event.event === "steady") this.#steady(event);
    }

    #begin(rows) {
      this.#base += this.#reached;
      this.#reached = 0;
      this.#stage = -1;
      this.#labels.clear();
      const counts = new Map();
      for (const row of rows) {
        const count = (counts.get(row.name) ?? 0) + 1;
        counts.set(row.name, count);
        const label = count === 1 ? row.name : `${row.name} (${count})`;
        this.#labels.set(`${row.stage} ${row.row}`, { label, row });
      }
      this.current = [...this.#labels.values()].map(({ label }) => label);
      this.#fresh = new Set(this.current);
    }

    #interval(event) {
      const known = this.#labels.get(`${event.stage} ${event.row}`);
      if (!known) return;
      if (event.stage !== this.#stage) {
        this.#base += this.#reached;
        this.#reached = 0;
        this.#stage = event.stage;
      }
      this.#reached = Math.max(this.#reached, event.end_s);
      const { label, row } = known;
      const history = this.rows.get(label) ?? { label, intervals: [], directions: [], usual: 0, halved: 0, dropped: false, steady: null, limits: {} };
      history.limits = row.asked_iops;
      const fresh = this.#fresh.delete(label);
      if (fresh) history.steady = null;
      for (const name of Object.keys(event.directions)) if (!history.directions.includes(name)) history.directions.push(name);
      const seconds = event.end_s - event.start_s;
      const next = {
        x: this.#virtual ? this.#base + event.end_s : event.at,
        seconds,
        apart: fresh,
        ramp: event.ramp,
        end_s: event.end_s,
        at: event.at,
        directions: event.directions,
      };
      const before = history.intervals.at(-1);
      // What is left at the end of a stage is too short to have a rate of its own. Virtual time passes at any speed.
      if (!this.#virtual && !fresh && before?.ramp === next.ramp && 2 * seconds < history.usual)
        history.intervals[history.intervals.length - 1] = joined(before, next);
      else {
        history.intervals.push(next);
        history.usual = seconds;
      }
      if (history.intervals.length > MOST_INTERVALS) this.#halve(history);
      this.rows.delete(label);
      this.rows.set(label, history);
      if (this.rows.size > MOST_ROWS) this.rows.delete(this.rows.keys().next().value);
    }

    #halve(history) {
      const { intervals } = history;
      history.intervals = [];
      for (let index = 0; index < intervals.length; index += 2) {
        const next = intervals[index + 1];
        // Steps stay apart.
        if (!next || next.apart) {
          history.intervals.push(intervals[index]);
          index -= 1;
        } else history.intervals.push(joined(intervals[index], next));
      }
      if (history.intervals.length < intervals.length) history.halved += 1;
      // Many short steps leave little to join: then the oldest go.
      if (history.intervals.length > MOST_LEFT) {
        history.intervals = history.intervals.slice(-MOST_LEFT);
        history.dropped = true;
      }
    }

    // What is kept now, as it stays while more events come.
    frozen() {
      const rows = new Map([...this.rows].map(([label, row]) => [label, { ...row, intervals: [...row.intervals] }]));
      return { rows, current: [...this.current] };
    }

    #steady(event) {
      for (const { label, row } of this.#labels.values())
        if (row.row === event.row && row.name === event.name && this.rows.has(label)) this.rows.get(label).steady = event;
    }
  }

  Object.assign(window.iogauge, { History, joined, MOST_INTERVALS });
})();
