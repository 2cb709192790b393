// The form of a new review: its plan, and its start; and the form that resumes one.
"use strict";
(() => {
  const { ask, say } = window.iogauge;
  const form = document.getElementById("review");
  const plan = document.getElementById("plan");
  const run = document.getElementById("run");
  const element = (id) => document.getElementById(id);
  const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

  // What the form says, as the server takes it.
  function wanted() {
    const data = new FormData(form);
    return {
      targets: [...data.getAll("targets").filter(Boolean), ...lines(data.get("others"))],
      suites: data.getAll("suites"),
      use: data.getAll("use").filter(Boolean),
      pace: data.get("pace"),
      size: data.get("size"),
      note: data.get("note"),
    };
  }

  function keepInAddress(content) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(content))
      for (const part of [value].flat()) if (part && !(name === "pace" && part === "quick")) query.append(name, part);
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }

  const made = (tag, text, name = "") => Object.assign(document.createElement(tag), { textContent: text, className: name });

  function field({ path, model, needs_serial, has_serial }) {
    const text = needs_serial
      ? `The content of ${path}${model ? ` (${model})` : ""} will be lost. Type its ${has_serial ? "serial number" : "path"} to allow that`
      : `If iogauge did not make ${path}, type this path to allow overwriting it; otherwise leave this empty`;
    const label = made("label", text);
    const input = Object.assign(document.createElement("input"), { autocomplete: "off", spellcheck: false });
    input.dataset.destroy = path;
    label.append(input);
    return label;
  }

  function show(answer) {
    element("plan-sentence").textContent = answer.sentence;
    element("plan-lost").replaceChildren(...[...answer.lost, ...answer.unknown].map((text) => made("li", text)));
    element("consents").replaceChildren(...answer.consents.map(field));
    element("confirm").hidden = !answer.consents.length;
    element("confirm").querySelector("input").checked = false;
    element("confirm").querySelector("span").textContent = `Write to ${answer.consents.map(({ path }) => path).join(", ")}`;
    element("plan-caption").textContent = answer.left_out ? `${answer.left_out} more steps are not listed here; they run too.` : "";
    const rows = [];
    let before = "";
    for (const [title, ...cells] of answer.steps) {
      if (title !== before) {
        const row = document.createElement("tr");
        row.append(Object.assign(made("th", title, "words"), { colSpan: 4, scope: "colgroup" }));
        rows.push(row);
        before = title;
      }
      const row = document.createElement("tr");
      row.append(...cells.map((text, index) => made("td", text, index ? "" : "words")));
      rows.push(row);
    }
    element("plan-steps").replaceChildren(...rows);
    plan.hidden = false;
    element("plan-title").focus();
  }

  // What was typed and ticked to allow writes, in a form.
  function consent(within) {
    const destroy = {};
    for (const input of within.querySelectorAll("[data-destroy]")) if (input.value) destroy[input.dataset.destroy] = input.value;
    return { destroy, confirmed: within.querySelector("[data-confirmed]")?.checked ?? false };
  }

  async function start(address, content, within) {
    const button = within.querySelector("button");
    button.disabled = true;
    say("Starting: this takes a few seconds.");
    const answer = await ask(address, { ...content, ...consent(within) });
    button.disabled = false;
    if (!answer) return;
    location.assign(answer.running ? `/live/${answer.pid}` : `/review/${answer.review.split("/").map(encodeURIComponent).join("/")}`);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const content = wanted();
    keepInAddress(content);
    say("Planning.");
    const answer = await ask("/start/plan", content);
    if (!answer) return;
    say("");
    show(answer);
  });
  // A plan that is no longer that of the form must not be run.
  form.addEventListener("input", () => {
    plan.hidden = true;
  });
  run.addEventListener("submit", (event) => {
    event.preventDefault();
    start("/start/run", wanted(), run);
  });
  element("resume")?.addEventListener("submit", (event) => {
    event.preventDefault();
    start("/start/resume", { review: event.target.dataset.review }, event.target);
  });
})();
