// Redraws the charts with the reader's choices, and saves them. Charts, data and libraries are all in the page.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("charts").textContent);
  const QUIET = { ast: true, actions: false, renderer: "svg", defaultStyle: false };
  const NARROW = 560;
  const MOST_ROWS = 500;
  const PHONE = 212;
  const PHONE_SIDE = 34;
  const PHONE_LINES = 42;
  const PHONE_BARS = 80;
  const PHONE_LETTER = 6.2;
  const PHONE_SYMBOL = 20;
  document.documentElement.classList.add("scripted");

  // Rows refer to a list of distinct texts, and omit the first values that equal those of the row before.
  for (const chart of Object.values(page.charts)) {
    let before = [];
    chart.values = chart.values.map((row) => {
      const own = row.map((value) => (Array.isArray(value) ? chart.texts[value[0]] : value));
      return (before = [...before.slice(0, chart.columns.length - own.length), ...own]);
    });
  }
  const records = ({ columns, values }) =>
    values.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));

  const cell = (value) => {
    const formula = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value));
    const text = value === null ? "" : `${formula ? "'" : ""}${value}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = ({ columns, values }) => [columns, ...values].map((row) => row.map(cell).join(",") + "\n").join("");

  // A picture would cut off lines that are wider than it is.
  const inLines = (text, most) =>
    text.match(new RegExp(`\\S.{0,${most - 1}}(?=\\s|$)|\\S+`, "g")) ?? [];

  function download(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // Slanted labels and long ones beside an axis need room at the left, which a narrow page lacks.
  function upright(part) {
    if (part.labelAngle) part.labelAngle = -90;
    else if (part.axis?.labelLimit && !part.axis.minExtent) part.axis.labelLimit = 130;
    for (const child of Object.values(part))
      if (child && typeof child === "object" && child !== part.datasets) upright(child);
  }

  const sideOf = (panel) => panel.layer.map((layer) => layer.encoding?.y?.axis?.minExtent).find(Boolean);

  // Small charts stand in columns. Their axes have fixed widths, smaller ones on a phone; the charts take the rest.
  function sideBySide(fitted, width) {
    const narrow = width < NARROW;
    if (narrow) Object.assign(fitted, { columns: 2, spacing: 5 });
    const column = Math.floor((width - 14 - fitted.spacing * (fitted.columns - 1)) / fitted.columns);
    for (const panel of fitted.concat) {
      let side = 0;
      for (const { axis } of panel.layer.map((layer) => layer.encoding.y).filter((y) => y?.axis?.minExtent)) {
        side = narrow ? PHONE_SIDE : axis.minExtent;
        axis.minExtent = axis.maxExtent = side;
      }
      panel.width = column - side - 8;
      if (narrow) panel.height = panel.layer[0].mark.type === "bar" ? PHONE_BARS : PHONE_LINES;
      panel.title.dx = -side;
      panel.title.limit = column - 12;
      if (narrow) panel.title.fontSize = 11;
    }
  }

  // Charts are drawn one after the other, when the reader scrolls near: a page of many charts opens at once.
  let waiting = Promise.resolve();
  const inTurn = (draw) => (waiting = waiting.then(draw).catch((error) => console.error(error)));

  for (const figure of document.querySelectorAll("[data-chart]")) {
    const name = figure.dataset.chart;
    const chart = page.charts[name];
    const plot = figure.querySelector("[data-plot]");
    const data = records(chart);
    let shown = null;
    let drawnWidth = 0;

    const chosen = (control) =>
      figure.querySelector(`[data-control=${control}] :is(input:checked, select)`)?.value;
    const choice = () => chosen("choice") ?? Object.keys(chart.choices)[0];

    const scaled = () => chosen("scale") || chart.choices[choice()].scale;

    function spec() {
      const scale = scaled();
      const { patches } = chart.choices[choice()];
      const copy = structuredClone({ ...chart.specs[scale], ...patches[scale] });
      copy.datasets = { [page.dataset]: data };
      copy.config = structuredClone(page.config);
      return copy;
    }

    // On the page the title is HTML, which wraps. In a saved picture it is part of the chart.
    async function draw() {
      const width = Math.floor(plot.clientWidth);
      if (!width) return;
      drawnWidth = width;
      const fitted = spec();
      figure.querySelector("[data-title]").textContent = fitted.title.text;
      figure.querySelector("[data-subtitle]").textContent = fitted.title.subtitle;
      delete fitted.title;
      fitted.config.background = null;
      // A picture and its table say more to a screen reader than hundreds of marks, one by one.
      fitted.config.aria = false;
      fitted.config.padding = { left: 2, right: 10, top: 6, bottom: 4 };
      if (width < NARROW) {
        const longest = Math.max(...data.map(({ drive, group }) => (drive ?? group)?.length ?? 0));
        const room = width - (fitted.vconcat ? sideOf(fitted.vconcat[0]) : PHONE_SIDE) - 20;
        const columns = room < 2 * (PHONE_LETTER * longest + PHONE_SYMBOL) ? 1 : 2;
        fitted.config.legend = { ...fitted.config.legend, columns, offset: 6, labelFontSize: 11 };
        upright(fitted);
        // On a phone the first screen has to hold it.
        if (fitted.height && figure.classList.contains("hero")) fitted.height = PHONE;
        if (figure.classList.contains("hero")) for (const panel of fitted.vconcat ?? []) panel.height = Math.round(0.45 * panel.height);
      }
      if (fitted.vconcat) {
        const side = sideOf(fitted.vconcat[0]);
        for (const panel of fitted.vconcat) panel.width = width - side - 20;
      } else if (fitted.concat) {
        sideBySide(fitted, width);
      } else {
        fitted.width = width;
        fitted.autosize = { type: "fit-x", contains: "padding" };
      }
      const holder = document.createElement("div");
      let result = await vegaEmbed(holder, fitted, QUIET);
      // Labels can reach beyond panels of this width; how far is known only after drawing.
      const panels = fitted.vconcat ?? fitted.concat;
      for (let tries = 0; panels && tries < 3; tries += 1) {
        const over = Math.ceil(holder.querySelector("svg").getAttribute("width") - width);
        if (over <= 0) break;
        for (const panel of panels) panel.width -= Math.ceil(over / (fitted.columns ?? 1));
        result.finalize();
        result = await vegaEmbed(holder, fitted, QUIET);
      }
      const drawing = holder.querySelector("svg");
      for (const part of drawing.querySelectorAll("[role]")) part.removeAttribute("role");
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", fitted.description);
      shown?.finalize();
      shown = result;
      plot.replaceChildren(holder);
      figure.dataset.drawn = choice();
      figure.dataset.scale = scaled();
    }

    async function save(format) {
      const file = Object.keys(chart.choices).length > 1 && format !== "csv" ? `${name}-${choice()}` : name;
      if (format === "csv") return download(`${file}.csv`, new Blob([csv(chart)], { type: "text/csv" }));
      const captioned = spec();
      const { title, subtitle } = page.lines;
      captioned.title = {
        ...captioned.title,
        text: inLines(captioned.title.text, title),
        subtitle: [captioned.title.subtitle, chart.caption].flatMap((text) => inLines(text, subtitle)),
      };
      const { view, finalize } = await vegaEmbed(document.createElement("div"), captioned, QUIET);
      if (format === "svg") {
        download(`${file}.svg`, new Blob([await view.toSVG()], { type: "image/svg+xml" }));
      } else {
        const canvas = await view.toCanvas(2);
        canvas.toBlob((blob) => download(`${file}.png`, blob), "image/png");
      }
      finalize();
    }

    // Many tables are long: each is made when it is unfolded, and ends where reading would.
    const dataTable = figure.querySelector("[data-table]");
    dataTable.addEventListener("toggle", () => {
      const table = dataTable.querySelector("table");
      if (!dataTable.open || table.rows.length) return;
      const row = (parent, cells, tag) => {
        const added = parent.appendChild(document.createElement("tr"));
        for (const text of cells) {
          const made = added.appendChild(document.createElement(tag));
          made.textContent = text === null ? "" : typeof text === "number" ? text.toLocaleString("en") : text;
          if (tag === "th") made.scope = "col";
        }
      };
      row(table.createTHead(), chart.columns, "th");
      const body = table.createTBody();
      for (const values of chart.values.slice(0, MOST_ROWS)) row(body, values, "td");
      if (chart.values.length > MOST_ROWS) {
        table.createCaption().textContent =
          `The first ${MOST_ROWS} of ${chart.values.length.toLocaleString("en")} rows; the CSV has all.`;
      }
    });

    figure.addEventListener("change", () => inTurn(draw));
    for (const button of figure.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => save(button.dataset.save));
    }
    let near = false;
    const outdated = () => near && Math.abs(plot.clientWidth - drawnWidth) > 4;
    const refresh = () => outdated() && inTurn(() => outdated() && draw());
    new ResizeObserver(refresh).observe(plot);
    new IntersectionObserver(
      ([entry]) => {
        near = entry.isIntersecting;
        refresh();
      },
      { rootMargin: "100% 0px" },
    ).observe(plot);
  }

  // The target of a link can be inside a folded part.
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let folded = target.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  for (const button of document.querySelectorAll("[data-copy]")) {
    const code = button.parentElement.querySelector("code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // a page opened as a file has no access to the clipboard
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2_000);
    });
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open], [data-table])")];
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });
})();
