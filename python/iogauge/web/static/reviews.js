// Loads the rows of the list where the reader is, filters while one types, and keeps what is chosen.
"use strict";
(() => {
  const WAIT_MS = 120;
  const READING_MS = 2000;
  const PASSING_MS = 60; // rows that are only scrolled past are not loaded
  const MOST_CHOSEN = 50;
  const form = document.getElementById("reviews");
  const table = form.querySelector("table");
  const count = document.getElementById("count");
  const tray = document.getElementById("chosen");
  const trayText = document.getElementById("chosen-text");
  const saved = form.querySelector("[data-save]");
  const page = Number(table.dataset.page);
  const columns = table.tHead.rows[0].cells.length;
  const FILTERS = ["search", "drive", "host", "suite", "tag", "since", "until", "order"];
  document.documentElement.classList.add("scripted");

  // The chosen reviews: their names by their ids.
  const chosen = new Map();
  for (const box of form.querySelectorAll("input[name=review]:checked"))
    chosen.set(box.value, box.dataset.name ?? box.closest("tr").dataset.name);

  function filters() {
    const query = new URLSearchParams();
    for (const name of FILTERS) {
      const { value } = form.elements[name];
      if (value && !(name === "order" && form.elements[name].selectedIndex === 0)) query.set(name, value);
    }
    return query;
  }

  // The address brings back what is shown.
  function remember() {
    const query = filters();
    saved.href = `/?${new URLSearchParams([...query, ["save", 1]])}`;
    for (const id of chosen.keys()) query.append("review", id);
    history.replaceState(null, "", query.size ? `/?${query}` : "/");
  }

  async function ask(address, options) {
    const answer = await fetch(address, options);
    const content = await answer.json();
    if (!answer.ok) throw new Error([content.error, content.hint].filter(Boolean).join(". hint: "));
    return content;
  }

  function complain(error) {
    if (error.name === "AbortError") return;
    count.textContent = error instanceof TypeError ? "The server does not answer. hint: start it again" : error.message;
  }

  const elements = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html; // from this server's template, which escapes every name
    for (const box of holder.content.querySelectorAll("input[name=review]")) box.checked = chosen.has(box.value);
    return holder.content;
  };

  // The rows are in groups of one page each. A group far from the reader is an empty room of the same height.
  let asking = new AbortController();
  let rowHeight = 64;
  const near = new Set();

  function room(group, height) {
    const row = document.createElement("tr");
    row.dataset.room = "";
    row.append(Object.assign(document.createElement("td"), { colSpan: columns }));
    row.cells[0].style.height = `${height}px`;
    group.replaceChildren(row);
    group.dataset.empty = "";
    group.setAttribute("aria-hidden", "true");
  }

  function settle(group, rows) {
    group.replaceChildren(rows);
    delete group.dataset.empty;
    group.removeAttribute("aria-hidden");
    if (group.rows.length) rowHeight = group.offsetHeight / group.rows.length;
  }

  async function fill(group) {
    const query = filters();
    query.set("offset", group.dataset.first);
    try {
      const { html } = await ask(`/reviews/rows?${query}`, { signal: asking.signal });
      if (group.isConnected && near.has(group)) settle(group, elements(html));
    } catch (error) {
      complain(error);
    }
  }

  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target: group, isIntersecting } of entries) {
        if (isIntersecting) {
          near.add(group);
          if ("empty" in group.dataset) setTimeout(() => near.has(group) && "empty" in group.dataset && fill(group), PASSING_MS);
        } else {
          near.delete(group);
          if (!("empty" in group.dataset) && !group.contains(document.activeElement)) room(group, group.offsetHeight);
        }
      }
    },
    { rootMargin: "100% 0px" },
  );

  // Make a group for each page of the list; `rows` are those of the page that begins at `first`.
  function lay(total, first, rows) {
    observer.disconnect();
    near.clear();
    for (const group of [...table.tBodies]) group.remove();
    table.setAttribute("aria-rowcount", total + 1);
    for (let at = 0; at < Math.max(total, 1); at += page) {
      const group = table.createTBody();
      group.setAttribute("role", "rowgroup");
      group.dataset.first = at;
      if (at === first) settle(group, rows);
      else room(group, Math.round(Math.min(page, total - at) * rowHeight));
      observer.observe(group);
    }
  }

  async function filter() {
    asking.abort();
    asking = new AbortController();
    remember();
    try {
      const { total, html, count: text } = await ask(`/reviews/rows?${filters()}`, { signal: asking.signal });
      form.querySelector("[data-nothing]")?.remove();
      lay(total, 0, elements(html));
      count.textContent = text;
    } catch (error) {
      complain(error);
    }
  }

  // While the server reads reviews, the list grows. It stays as it is where somebody works in it.
  const reading = document.querySelector("[data-reading]");
  async function grow() {
    try {
      const { state, total, html, count: text } = await ask(`/reviews/rows?${filters()}`, { signal: asking.signal });
      if (!table.contains(document.activeElement)) {
        form.querySelector("[data-nothing]")?.toggleAttribute("hidden", total > 0);
        if (scrollY < table.offsetTop + innerHeight || !state) lay(total, 0, elements(html));
      }
      count.textContent = text;
      reading.querySelector("[data-state]").textContent = state;
      reading.hidden = !state;
      // What there is to filter by is known in the end.
      if (!state && started && !filters().size && !chosen.size) location.reload();
      else if (state) setTimeout(grow, READING_MS);
    } catch (error) {
      complain(error);
      setTimeout(grow, READING_MS);
    }
  }

  let timer = 0;
  form.addEventListener("input", ({ target }) => {
    if (!FILTERS.includes(target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(filter, WAIT_MS);
  });
  form.querySelector("[data-clear]").addEventListener("click", (event) => {
    event.preventDefault();
    for (const name of FILTERS) form.elements[name].value = "";
    form.elements.order.selectedIndex = 0;
    filter();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (event.submitter?.id === "compare") {
      const query = new URLSearchParams([...chosen.keys()].map((id) => ["review", id]));
      location.assign(`/compare?${query}`);
    } else {
      filter();
    }
  });

  function showChosen() {
    trayText.textContent = chosen.size ? `${chosen.size} chosen for comparing` : "Choose reviews to compare them";
    tray.replaceChildren(
      ...[...chosen].map(([id, name]) => {
        const box = Object.assign(document.createElement("input"), { type: "checkbox", value: id, checked: true });
        const label = Object.assign(document.createElement("label"), { className: "inline" });
        label.append(box, ` ${name}`);
        const item = document.createElement("li");
        item.append(label);
        return item;
      }),
    );
    document.getElementById("compare").disabled = !chosen.size;
  }

  form.addEventListener("change", ({ target }) => {
    if (target.type !== "checkbox") return;
    const id = target.value;
    if (!target.checked) chosen.delete(id);
    else if (chosen.size < MOST_CHOSEN) chosen.set(id, target.closest("tr").dataset.name);
    else {
      target.checked = false;
      count.textContent = `At most ${MOST_CHOSEN} reviews can be compared at once.`;
    }
    const fromTray = tray.contains(target);
    for (const box of table.querySelectorAll("input[name=review]")) if (box.value === id) box.checked = chosen.has(id);
    showChosen();
    if (fromTray) (tray.querySelector("input") ?? document.getElementById("compare")).focus();
    remember();
  });

  // Notes are written by a dialog, where the server lets them be written.
  const dialog = document.getElementById("notes");
  let edited = null;
  let version = ""; // of the text that the dialog began with
  table.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-edit]");
    if (!button) return;
    edited = button.closest("tr");
    const state = dialog.querySelector("[data-state]");
    state.textContent = "";
    dialog.querySelector("[data-name]").textContent = edited.dataset.name;
    try {
      const { text, version: before } = await ask(`/notes?${new URLSearchParams({ review: edited.dataset.review })}`);
      dialog.querySelector("textarea").value = text;
      version = before;
      dialog.showModal();
    } catch (error) {
      complain(error);
    }
  });
  dialog?.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
  dialog?.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const state = dialog.querySelector("[data-state]");
    try {
      const { html } = await ask("/notes", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ review: edited.dataset.review, text: dialog.querySelector("textarea").value, version }),
      });
      const row = elements(html).querySelector("tr");
      row.setAttribute("aria-rowindex", edited.getAttribute("aria-rowindex"));
      edited.replaceWith(row);
      dialog.close();
      row.querySelector("[data-edit]").focus();
    } catch (error) {
      state.textContent = error instanceof TypeError ? "The server does not answer." : error.message;
    }
  });

  // On a phone the list comes before its filters.
  if (innerWidth < 700 && !filters().size) form.querySelector(".filters").open = false;
  form.querySelector(".paging").remove();
  const server = table.tBodies[0];
  const rows = document.createDocumentFragment();
  rowHeight = server.rows.length ? server.offsetHeight / server.rows.length : rowHeight;
  rows.append(...server.rows);
  const first = Number(server.dataset.first);
  const total = Number(table.dataset.total);
  lay(total, first, rows);
  if (first) table.querySelector(`tbody[data-first="${first}"]`).scrollIntoView();
  showChosen();
  const started = !total;
  if (reading) setTimeout(grow, READING_MS);
})();
