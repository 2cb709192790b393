// Writes numbers with their units as the server does (text/numbers.py), for pages that change while they are open.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
  const LANGUAGE = "en-US";

  const fixed = (value, digits) =>
    value.toLocaleString(LANGUAGE, { minimumFractionDigits: digits, maximumFractionDigits: digits });

  // So many significant digits; the digits before the point are never dropped.
  const significant = (value, digits) => {
    if (!value) return "0";
    const magnitude = Number(value.toExponential(digits - 1).split("e")[1]);
    return fixed(value, Math.min(Math.max(digits - 1 - magnitude, 0), 6));
  };

  const duration = (ns) => {
    if (ns === null || ns === undefined || !Number.isFinite(ns)) return "-";
    const rounded = Number(ns.toPrecision(3));
    const [unit, name] = TIMES.find(([least]) => rounded >= least) ?? [1, "ns"];
    return `${unit === 1 ? Math.round(ns) : significant(ns / unit, 3)} ${name === "us" ? "µs" : name}`;
  };

  const rate = (value) => (!value || value >= 100 ? fixed(value, 0) : significant(value, 3));

  const megabytes = (bytes) => (bytes ? significant(bytes / 1e6, 4) : "-");

  const percent = (share) => (share > 0 && share < 0.0005 ? "<0.1 %" : `${fixed(100 * share, 1)} %`);

  const pad = (number) => String(number).padStart(2, "0");

  // A waiting time.
  const waiting = (seconds) => {
    const total = Math.max(Math.round(seconds), 0);
    if (total < 60) return `${total} s`;
    if (total < 3600) return `${Math.floor(total / 60)} min ${pad(total % 60)} s`;
    return `${Math.floor(total / 3600)} h ${pad(Math.floor(total / 60) % 60)} min`;
  };

  // A time of day, from Unix seconds.
  const clock = (at) => {
    const date = new Date(1000 * at);
    return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  };

  Object.assign(window.iogauge, { duration, rate, megabytes, percent, waiting, clock });
})();
