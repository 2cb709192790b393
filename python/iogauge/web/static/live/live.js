// The page of a running measurement: reads its events, keeps its intervals, and draws the chosen job.
"use strict";
(() => {
  const { duration, rate, megabytes, percent, follow, setNow, Progress, History, Lines, heat, columns, MOST_INTERVALS } = window.iogauge;
  const { titleOf, NOTHING, QUANTILES, jobsTable, intervalsTable, bandsTable } = window.iogauge;
  const sent = JSON.parse(document.getElementById("data").textContent);
  const served = document.body.dataset.place === "server";
  // The clock of the events is the server's; in a saved file it stands still.
  if (served) setNow(sent.now);
  const now = served ? window.iogauge.now : () => sent.now;
  const element = (id) => document.getElementById(id);
  const MOST_NOTICES = 100;
  const MOST_STEPS = 100;
  const DRAW_MS = 200;
  const WRITE_MS = 1000;
  const SAY_MS = 10_000;
  const SPANS = { 60: "the last minute", 600: "the last 10 minutes", all: "all that is kept" };

  const progress = new Progress();
  const history = new History();
  const drives = new Map();
  const state = new URLSearchParams(location.search);
  const charts = { iops: new Lines(element("iops")), bandwidth: new Lines(element("bandwidth")), latency: new Lines(element("latency")) };
  let paused = false;
  let shown = history; // while the display is paused, what was kept then
  let dirty = true;
  let drawnAt = -Infinity;
  let wroteAt = -Infinity;
  let latest = null; // the interval that came last
  let begun = null; // when the stage of the latest interval began, by the clock of the events
  let ending = false;

  const missing = (events) =>
    events === 1
      ? "1 earlier event is missing: the feed had dropped it before it was read."
      : `${events} earlier events are missing: the feed had dropped them before they were read.`;

  function take(event) {
    progress.add(event);
    history.add(event);
    if (event.event === "notice") notice(event);
    else if (event.event === "step_end") stepEnd(event);
    else if (event.event === "drive") drives.set(event.path, event);
    else if (event.event === "gap") notice({ text: missing(event.to - event.from + 1), hint: "" });
    else if (event.event === "interval") interval(event);
    else if (event.event === "end" || event.event === "over") end();
    if (!paused) dirty = true;
  }

  function interval(event) {
    const place = `${event.stage} ${progress.step?.seq}`;
    const start = event.at - event.end_s;
    begun = begun?.place === place ? { place, start: Math.min(begun.start, start) } : { place, start };
    latest = event;
  }

  const item = (text, hint) => {
    const li = document.createElement("li");
    li.textContent = text;
    if (hint) {
      const small = document.createElement("span");
      small.className = "hint";
      small.textContent = ` hint: ${hint}`;
      li.append(small);
    }
    return li;
  };

  function notice({ text, hint }) {
    const list = element("notices");
    list.append(item(text, hint));
    while (list.children.length > MOST_NOTICES) list.firstElementChild.remove();
    element("notices-part").hidden = false;
  }

  function stepEnd({ label, complete, text }) {
    const list = element("steps");
    list.prepend(item(`${label}: ${complete ? text || "complete" : "interrupted"}`));
    while (list.children.length > MOST_STEPS) list.lastElementChild.remove();
    element("steps-part").hidden = false;
  }

  // What is shown: a row, a direction and a span. An address keeps what was chosen.
  function chosen() {
    const labels = [...shown.rows.keys()];
    const current = shown.current.filter((label) => shown.rows.has(label));
    const label = labels.includes(state.get("row")) ? state.get("row") : (current[0] ?? labels.at(-1));
    const row = shown.rows.get(label);
    const last = row?.intervals.at(-1);
    const names = row?.directions ?? [];
    const direction = names.includes(state.get("direction")) ? state.get("direction") : names[0];
    return { label, row, last, names, direction, span: SPANS[state.get("span")] ? state.get("span") : "60" };
  }

  function choose(name, value) {
    state.set(name, value);
    if (served) window.history.replaceState(null, "", `?${state}`);
    drawNow();
  }

  // The options of a list change only where they differ, so that an open list stays open.
  function fill(select, entries, value) {
    const texts = JSON.stringify(entries);
    if (select.dataset.entries !== texts) {
      select.dataset.entries = texts;
      select.replaceChildren(...entries.map(([key, text]) => new Option(text, key)));
    }
    if (select.value !== value) select.value = value;
  }

  function drawNow() {
    dirty = true;
    drawnAt = wroteAt = -Infinity;
    draw();
  }

  function draw() {
    const at = performance.now();
    if (!dirty || at - drawnAt < DRAW_MS / 2) return;
    dirty = false;
    drawnAt = at;
    const choice = chosen();
    const { label, row, names, direction, span } = choice;
    element("headline").textContent = progress.sentence(now());
    fill(element("row"), [...shown.rows.keys()].map((name) => [name, shown.current.includes(name) ? name : `${name} (earlier)`]), label ?? "");
    fill(element("direction"), names.map((name) => [name, titleOf(name)]), direction ?? "");
    element("span").value = span;
    if (row) course(choice);
    const drawn = latest;
    if (drawn && served && !ending && !paused) requestAnimationFrame(() => setTimeout(() => lag(drawn)));
    if (at - wroteAt >= WRITE_MS || ending) {
      wroteAt = at;
      write(choice);
    }
  }

  // The intervals within the chosen span, and its first and last x.
  function spanned({ row, span }) {
    const to = row.intervals.at(-1).x;
    const from = span === "all" ? row.intervals[0].x - row.intervals[0].seconds : to - Number(span);
    return { visible: row.intervals.filter(({ x }) => x > from), from, to };
  }

  function course({ row, names, direction, span }) {
    const { virtual } = progress;
    const { visible, from, to } = spanned({ row, span });
    const common = { window: [from, Math.max(to, from + 1e-3)], virtual };
    const titles = names.map(titleOf);
    const rates = (field) => names.map((name) => ({ directions, seconds }) => (directions[name]?.[field] ?? 0) / seconds);
    charts.iops.draw({ ...common, lines: titles, data: columns(visible, rates("ios")), log: false, unit: rate });
    charts.bandwidth.draw({ ...common, lines: titles, data: columns(visible, rates("bytes")), log: false, unit: (value) => rate(value / 1e6) });
    const quantiles = Object.keys(QUANTILES).map((name) => ({ directions }) => directions[direction]?.[name] || null);
    charts.latency.draw({ ...common, lines: Object.values(QUANTILES), data: columns(visible, quantiles), log: true, unit: duration });
    heat(element("heat"), visible, direction, charts.latency);
    for (const key of document.querySelectorAll("[data-key=directions]")) {
      key.hidden = names.length < 2;
      [...key.children].forEach((part, index) => {
        part.hidden = index >= names.length;
        part.lastElementChild.textContent = titles[index] ?? "";
      });
    }
    for (const title of document.querySelectorAll("[data-of]")) title.textContent = direction ? `${titleOf(direction)} of ${row.label}` : row.label;
    const limits = [
      row.halved && `Older points stand for up to ${2 ** row.halved} intervals: the mean of their rates, the largest of their quantiles.`,
      row.dropped && "The oldest are left out.",
    ].filter(Boolean);
    element("resolution").textContent = limits.length ? `${limits.join(" ")} This page keeps at most ${MOST_INTERVALS} points.` : "";
  }

  // From the end of the latest interval until it is on the screen.
  function lag({ at, end_s }) {
    const ended = progress.virtual ? at : begun.start + end_s;
    const passed = now() - ended;
    document.body.dataset.lag = passed.toFixed(3);
    document.body.dataset.drawn = String(at);
    element("lag").textContent = passed > 0 && passed < 60 ? `The last interval was shown ${passed.toFixed(1)} s after its end.` : "";
  }

  const figure = (name, value, under) => {
    const part = document.createElement("div");
    for (const [tag, text] of [["dt", name], ["dd", value]]) part.append(Object.assign(document.createElement(tag), { textContent: text }));
    const strong = document.createElement("strong");
    strong.textContent = value;
    part.lastChild.replaceChildren(strong, under ? ` ${under}` : "");
    return part;
  };

  const steadiness = ({ attained, criterion, limit, unit }) => {
    const both = [criterion, limit].every((value) => value !== null && value !== undefined);
    const number = (value) => (unit === "ns" ? duration(value) : `${rate(value)} ${unit ?? ""}`.trim());
    return [attained ? "steady" : "not steady yet", both ? `${number(criterion)}, limit ${number(limit)}` : ""];
  };

  // Figures and tables are written once a second: nobody reads faster.
  function write({ row, last, names, direction }) {
    const parts = [];
    if (last) {
      for (const name of names) {
        const { ios, bytes } = last.directions[name] ?? NOTHING;
        parts.push(figure(titleOf(name), `${rate(ios / last.seconds)} IOPS`, bytes ? `${megabytes(bytes / last.seconds)} MB/s` : ""));
        const limit = row.limits[name];
        if (limit) parts.push(figure(`${titleOf(name)}, share of the rate set`, percent(ios / last.seconds / limit), `of ${rate(limit)} IOPS`));
      }
      const figures = last.directions[direction];
      if (direction) for (const [name, text] of Object.entries(QUANTILES)) parts.push(figure(`${text} of ${titleOf(direction).toLowerCase()}`, duration(figures?.[name])));
      if (row.steady) parts.push(figure("Steady state", ...steadiness(row.steady)));
    }
    for (const { path, temperature_C, throttled, hot } of drives.values()) {
      const warmth = temperature_C === null ? "-" : `${Math.round(temperature_C)} °C`;
      parts.push(figure(path, warmth, throttled ? "throttled" : hot ? "hot" : throttled === false ? "not throttled" : ""));
    }
    element("figures").replaceChildren(...parts);
    jobsTable(element("rows"), shown, (verdict) => steadiness(verdict)[0]);
    tables();
  }

  // What the charts show, as tables, while they are open.
  function tables() {
    const { row, direction, span } = chosen();
    if (!row) return;
    const { visible } = spanned({ row, span });
    if (element("intervals-part").open) {
      const most = intervalsTable(element("intervals"), visible, row.directions, progress.virtual);
      element("shared").textContent = most > 1 ? `A row stands for up to ${most} intervals: the mean of their rates, the largest of their quantiles.` : "";
    }
    if (element("bands-part").open) bandsTable(element("bands"), visible, direction, progress.virtual);
  }

  // The end is shown also while the display is paused; its figures stay then as they are.
  function end() {
    ending = true;
    element("headline").textContent = progress.sentence(now());
    element("connection").textContent = "";
    for (const control of document.querySelectorAll("[data-running]")) control.hidden = !(paused && control.id === "pause");
    for (const control of document.querySelectorAll("[data-ended]")) control.hidden = false;
    say();
  }

  // The summary for those who listen: at a pace at which it can be heard.
  function say() {
    const { last, names, direction } = chosen();
    const figures = last ? names.map((name) => `${titleOf(name)} ${rate((last.directions[name] ?? NOTHING).ios / last.seconds)} IOPS`) : [];
    const p99 = last?.directions[direction]?.p99_ns;
    element("summary").textContent = [progress.sentence(now()), figures.join(", "), p99 ? `p99 ${duration(p99)}` : ""].filter(Boolean).join(" ");
  }

  function pause() {
    paused = !paused;
    shown = paused ? history.frozen() : history;
    element("pause").setAttribute("aria-pressed", String(paused));
    element("pause").textContent = paused ? "Continue the display" : "Pause the display";
    if (ending) element("pause").hidden = !paused;
    drawNow();
  }

  for (const name of ["row", "direction", "span"]) element(name).addEventListener("change", ({ target }) => choose(name, target.value));
  element("pause").addEventListener("click", pause);
  for (const part of ["intervals-part", "bands-part"]) element(part).addEventListener("toggle", tables);
  const redraw = () => {
    dirty = true;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
  document.documentElement.classList.add("scripted");

  for (const event of sent.events) take(event);
  draw();
  setInterval(draw, DRAW_MS);
  if (served) {
    let said = performance.now();
    setInterval(() => {
      if (paused || ending || performance.now() - said < SAY_MS) return;
      said = performance.now();
      say();
    }, 1000);
    follow({
      pid: sent.pid,
      start: sent.start,
      after: 0,
      take,
      on: {
        state: (text) => (element("connection").textContent = text),
        cost: ({ cpu_share, nice, streams }) =>
          (element("cost").textContent = `Watching costs ${percent(cpu_share)} of one CPU, at nice ${nice}, for ${streams === 1 ? "this page" : `${streams} pages`}.`),
      },
    });
  }
})();
