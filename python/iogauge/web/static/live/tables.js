// The tables of a running measurement: its jobs, and what the charts show, in numbers.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const { duration, rate, megabytes, percent, clock, joined, bandBegin, BANDS } = window.iogauge;
  const DIRECTIONS = { read: "Reads", write: "Writes", trim: "Trims", sync: "Syncs" };
  const QUANTILES = { p50_ns: "p50", p99_ns: "p99", p999_ns: "p99.9" };
  const NOTHING = { ios: 0, bytes: 0 }; // the figures of an interval in which nothing completed
  const MOST_ROWS = 120; // intervals in the table; of more, several share a row
  const TIMES = 6; // columns of the table of latencies

  const titleOf = (direction) => DIRECTIONS[direction] ?? direction;

  function cells(kind, texts, words) {
    const tr = document.createElement("tr");
    texts.forEach((text, index) => {
      const cell = document.createElement(kind === "th" || (words && index === 0) ? "th" : "td");
      cell.textContent = text;
      if (index < words) cell.className = "words";
      if (cell.tagName === "TH") cell.scope = kind === "th" ? "col" : "row";
      tr.append(cell);
    });
    return tr;
  }

  const figuresOf = ({ ios, bytes, ...figures }, seconds) => [
    rate(ios / seconds), megabytes(bytes / seconds), ...Object.keys(QUANTILES).map((name) => duration(figures[name])),
  ];

  // The latest interval of each job of the step. `steady` says a verdict in words.
  function jobsTable(body, { rows, current }, steady) {
    const lines = [];
    for (const label of current) {
      const row = rows.get(label);
      const last = row?.intervals.at(-1);
      for (const name of last ? row.directions : []) {
        const figures = last.directions[name] ?? NOTHING;
        const limit = row.limits[name];
        const share = limit ? `${percent(figures.ios / last.seconds / limit)} of ${rate(limit)}` : "";
        lines.push(cells("td", [label, titleOf(name), ...figuresOf(figures, last.seconds), share, row.steady ? steady(row.steady) : ""], 2));
      }
    }
    body.replaceChildren(...lines);
  }

  const timeOf = ({ x, at }, virtual) => (virtual ? `${rate(x)} s` : clock(at));

  // Parts of a list, in order, as equal in length as they can be.
  function parted(list, most) {
    const count = Math.min(most, list.length);
    return Array.from({ length: count }, (_, index) =>
      list.slice(Math.round((index * list.length) / count), Math.round(((index + 1) * list.length) / count)),
    );
  }

  // The intervals that the charts show, the last one first. Returns how many share a row at most.
  function intervalsTable(body, visible, names, virtual) {
    const parts = parted(visible, MOST_ROWS);
    const lines = [];
    for (const part of parts.reverse()) {
      const both = part.reduce(joined);
      for (const name of names) {
        const figures = figuresOf(both.directions[name] ?? NOTHING, both.seconds);
        lines.push(cells("td", [timeOf(both, virtual), `${titleOf(name)}${both.ramp ? " (ramp)" : ""}`, ...figures], 2));
      }
    }
    body.replaceChildren(...lines);
    return parts.reduce((most, { length }) => Math.max(most, length), 0);
  }

  // The heat map in numbers: of each part of the time, the share of its requests in each band.
  function bandsTable(table, visible, direction, virtual) {
    const counted = parted(visible, TIMES).map((part) => {
      const bands = new Map();
      for (const { directions } of part)
        for (const [band, count] of directions[direction]?.bands ?? []) bands.set(band, (bands.get(band) ?? 0) + count);
      return { bands, total: [...bands.values()].reduce((sum, count) => sum + count, 0), last: part.at(-1) };
    });
    const used = [...new Set(counted.flatMap(({ bands }) => [...bands.keys()]))].sort((a, b) => b - a);
    const edges = (band) => (band ? (band === BANDS - 1 ? `from ${duration(bandBegin(band))}` : `${duration(bandBegin(band))} to ${duration(bandBegin(band + 1))}`) : `below ${duration(bandBegin(1))}`);
    const head = document.createElement("thead");
    head.append(cells("th", ["latency", ...counted.map(({ last }) => `until ${timeOf(last, virtual)}`)], 1));
    const body = document.createElement("tbody");
    body.append(
      ...used.map((band) => cells("td", [edges(band), ...counted.map(({ bands, total }) => (bands.has(band) ? percent(bands.get(band) / total) : ""))], 1)),
    );
    table.replaceChildren(head, body);
  }

  Object.assign(window.iogauge, { titleOf, NOTHING, QUANTILES, jobsTable, intervalsTable, bandsTable });
})();
