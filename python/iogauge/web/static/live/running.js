// Keeps the panel of a running review up to date, and offers its new results without taking the reader anywhere.
"use strict";
(() => {
  const { follow, now, rate, megabytes, Progress } = window.iogauge;
  const panel = document.getElementById("running");
  if (!panel) return;
  const { pid, start, seq } = panel.dataset;
  const DIRECTIONS = { read: "reads", write: "writes", trim: "trims", sync: "syncs" };
  const WRITE_MS = 1000;
  const part = (name) => panel.querySelector(`[data-part=${name}]`);

  const progress = new Progress();
  const rows = new Map();
  let steps = 0;

  // The latest rates of all rows together.
  function rates() {
    const sums = new Map();
    for (const { directions, start_s, end_s } of rows.values())
      for (const [name, { ios, bytes }] of Object.entries(directions)) {
        const sum = sums.get(name) ?? { ios: 0, bytes: 0 };
        sums.set(name, { ios: sum.ios + ios / (end_s - start_s), bytes: sum.bytes + bytes / (end_s - start_s) });
      }
    return [...sums]
      .map(([name, { ios, bytes }]) => `${DIRECTIONS[name] ?? name} ${rate(ios)} IOPS${bytes ? `, ${megabytes(bytes)} MB/s` : ""}`)
      .join("; ");
  }

  function take(event) {
    progress.add(event);
    if (event.event === "step" || event.event === "rows") rows.clear();
    else if (event.event === "interval") {
      for (const [key, { stage }] of rows) if (stage !== event.stage) rows.delete(key);
      rows.set(event.row, event);
    } else if (event.event === "step_end" && event.complete && event.seq > Number(seq)) steps += 1;
  }

  function write() {
    part("sentence").textContent = progress.sentence(now());
    part("rates").textContent = progress.end || progress.over ? "" : rates();
    const offer = part("offer");
    const over = progress.end || progress.over;
    if (over || steps) {
      const text = over ? "The review has ended." : steps === 1 ? "One more step is complete." : `${steps} more steps are complete.`;
      if (part("news").textContent !== text) part("news").textContent = text;
      offer.hidden = false;
    }
    if (over) clearInterval(timer);
  }

  follow({ pid, start, after: 0, take });
  const timer = setInterval(write, WRITE_MS);
})();
