// Draws the course of a row: lines of rates and quantiles by uPlot, and a heat map of its latencies.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const HEIGHT = 190;
  const SIDE = 62;
  const RIGHT = 30;
  const BANDS = 25; // quarters of a decade, from 1 us on, as live/bands.py has them
  const DASHES = [[], [7, 4], [2, 3], [8, 3, 2, 3]];
  const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4"];
  const MOST_POINTS = 1200; // a chart is not wider than that

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const bandBegin = (band) => (band ? 1000 * 10 ** (band / 4) : 0); // ns

  const seconds = (value) => `${window.iogauge.rate(value)} s`;
  const ticks = (virtual) => (_, splits) => splits.map((at) => (virtual ? seconds(at) : window.iogauge.clock(at)));

  // Lines over time. `lines` are names for people; `unit` writes a value of the axis.
  class Lines {
    #holder;
    #plot = null;
    #made = "";

    constructor(holder) {
      this.#holder = holder;
    }

    // `data`: an array of x, then one of each line; `window`: the first and the last x.
    draw({ lines, data, window: [from, to], virtual, log, unit }) {
      const width = Math.max(Math.floor(this.#holder.clientWidth), 200);
      const made = JSON.stringify([lines, virtual, log, ink("--ink")]);
      if (made !== this.#made) {
        this.#plot?.destroy();
        this.#made = made;
        this.#plot = new uPlot(this.#options({ lines, virtual, log, unit, width }), data, this.#holder);
        this.#holder.querySelector("canvas").setAttribute("aria-hidden", "true");
      }
      if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
      this.#plot.batch(() => {
        this.#plot.setData(data, false);
        this.#plot.setScale("x", { min: from, max: to });
        const values = data.slice(1).flatMap((line) => line.filter((value) => value > 0));
        const most = values.length ? values.reduce((a, b) => Math.max(a, b)) : 1;
        const least = values.length ? values.reduce((a, b) => Math.min(a, b)) : most / 10;
        this.#plot.setScale("y", log ? { min: least / 1.3, max: Math.max(most * 1.3, (least / 1.3) * 10) } : { min: 0, max: most * 1.08 });
      });
    }

    place(x) {
      return this.#plot.valToPos(x, "x");
    }

    #options({ lines, virtual, log, unit, width }) {
      const grid = { stroke: ink("--rule"), width: 1 };
      const axis = { stroke: ink("--soft"), grid, ticks: { show: false }, gap: 8, font: "12px system-ui, sans-serif" };
      return {
        width,
        height: HEIGHT,
        padding: [8, RIGHT, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, auto: false }, y: { auto: false, distr: log ? 3 : 1 } },
        axes: [
          { ...axis, size: 30, values: ticks(virtual), space: 80 },
          { ...axis, size: SIDE, values: (_, splits) => splits.map((value) => (value === null ? "" : unit(value))), ...(log ? { splits: decades, filter: (__, splits) => splits } : {}) },
        ],
        series: [
          {},
          ...lines.map((label, index) => ({
            label,
            stroke: ink(COLOURS[index % COLOURS.length]),
            width: 1.75,
            dash: DASHES[index % DASHES.length],
            points: { show: false },
            spanGaps: false,
          })),
        ],
      };
    }
  }

  // Marks of a logarithmic axis: at 1, 2 and 5 of each decade, or of two decades and more at 1.
  function decades(_, __, least, most) {
    const digits = most / least > 100 ? [1] : [1, 2, 5];
    const marks = [];
    for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10)
      marks.push(...digits.map((digit) => digit * decade).filter((mark) => mark >= least && mark <= most));
    return marks;
  }

  // Latency upwards, time to the right; the darker, the larger a band's share of the interval's requests.
  function heat(canvas, intervals, direction, lines) {
    const width = Math.max(Math.floor(canvas.parentElement.clientWidth), 200);
    const ratio = window.devicePixelRatio || 1;
    const bottom = 6;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const band = (HEIGHT - 2 * bottom) / BANDS;
    const top = (index) => HEIGHT - bottom - (index + 1) * band;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = ink("--soft");
    context.strokeStyle = ink("--rule");
    context.lineWidth = 1;
    ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].forEach((label, decade) => {
      const y = Math.round(top(4 * decade) + band) + 0.5;
      context.fillText(label, SIDE - 8, Math.min(Math.max(y, 8), HEIGHT - 8));
      context.beginPath();
      context.moveTo(SIDE, y);
      context.lineTo(width - RIGHT, y);
      context.stroke();
    });
    context.save();
    context.beginPath();
    context.rect(SIDE, 0, width - RIGHT - SIDE, HEIGHT);
    context.clip();
    context.fillStyle = ink("--accent");
    for (const { x, seconds: length, directions } of intervals) {
      const figures = directions[direction];
      if (!figures?.bands.length) continue;
      const total = figures.bands.reduce((sum, [, count]) => sum + count, 0);
      const right = SIDE + lines.place(x);
      const left = Math.min(SIDE + lines.place(x - length), right - 1);
      for (const [index, count] of figures.bands) {
        context.globalAlpha = 0.08 + 0.92 * Math.sqrt(count / total);
        context.fillRect(left, top(index), right - left + 0.3, band);
      }
    }
    context.restore();
  }

  // The columns of a chart. Steps are apart, so no line leads from one to the next. Where there are more intervals than
  // points, several share two points: the least and the greatest of their values, in the order in which they came.
  function columns(intervals, lines) {
    const most = intervals.length > MOST_POINTS ? Math.ceil((2 * intervals.length) / MOST_POINTS) : 1;
    const data = [[], ...lines.map(() => [])];
    let shared = [];

    function flush() {
      if (!shared.length) return;
      const ends = shared.length > 1 ? [shared[0], shared.at(-1)] : shared;
      data[0].push(...ends.map(({ x }) => x));
      lines.forEach((value, place) => data[place + 1].push(...extremes(shared.map(value)).slice(0, ends.length)));
      shared = [];
    }

    intervals.forEach((interval, index) => {
      if (index && (interval.apart || interval.x - interval.seconds > intervals[index - 1].x + 3 * interval.seconds)) {
        flush();
        data[0].push(interval.x - interval.seconds);
        for (const line of data.slice(1)) line.push(null);
      }
      shared.push(interval);
      if (shared.length === most) flush();
    });
    flush();
    return data;
  }

  function extremes(values) {
    let [least, most] = [-1, -1];
    values.forEach((value, index) => {
      if (value === null) return;
      if (least < 0 || value < values[least]) least = index;
      if (most < 0 || value > values[most]) most = index;
    });
    if (least < 0) return [null, null];
    return least < most ? [values[least], values[most]] : [values[most], values[least]];
  }

  Object.assign(window.iogauge, { Lines, heat, columns, bandBegin, BANDS });
})();
