// Saves your own queries in this browser; the page works without it.
"use strict";
(() => {
  const KEY = "iogauge queries";
  const MOST = 100;
  const text = document.getElementById("sql");
  const form = document.getElementById("save-query");
  const list = document.getElementById("own-queries");
  const state = document.getElementById("saved-state");

  function read() {
    try {
      const saved = JSON.parse(localStorage.getItem(KEY));
      return Array.isArray(saved) ? saved.filter(({ name, sql }) => typeof name === "string" && typeof sql === "string") : [];
    } catch {
      return [];
    }
  }

  function write(queries) {
    try {
      localStorage.setItem(KEY, JSON.stringify(queries));
      return true;
    } catch {
      state.textContent = "This browser cannot save queries. Bookmark this page instead.";
      return false;
    }
  }

  function show() {
    list.replaceChildren();
    for (const { name, sql } of read()) {
      const item = list.appendChild(document.createElement("li"));
      const link = item.appendChild(document.createElement("a"));
      link.textContent = name;
      link.href = `/explore?${new URLSearchParams({ sql })}`;
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = "Remove";
      button.setAttribute("aria-label", `Remove ${name}`);
      button.addEventListener("click", () => {
        if (!write(read().filter((query) => query.name !== name))) return;
        show();
        state.textContent = `${name} is removed.`;
        form.elements.name.focus();
      });
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = form.elements.name.value.trim();
    if (!name || !text.value.trim()) return;
    const others = read().filter((query) => query.name !== name);
    if (others.length >= MOST) {
      state.textContent = `${MOST} queries are saved. Remove one first.`;
      return;
    }
    if (!write([...others, { name, sql: text.value }])) return;
    form.reset();
    show();
    state.textContent = `${name} is saved in this browser.`;
  });

  document.getElementById("saved").hidden = false;
  show();
})();
