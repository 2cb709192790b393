// Asks the server for changes, says how they went, and ends measurements.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const line = document.querySelector("[data-said]");

  function say(text, failed = false) {
    line.textContent = text;
    line.className = `said${failed ? " failed" : ""}`;
  }

  // Return the answer, or null where the server refused; then the reason and its hint are on the page.
  async function ask(address, content) {
    let answer;
    try {
      const response = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(content) });
      answer = await response.json();
      if (response.ok) return answer;
    } catch {
      answer = { error: "the server does not answer", hint: "look at its terminal" };
    }
    say(`${answer.error}.${answer.hint ? ` hint: ${answer.hint}` : ""}`, true);
    line.scrollIntoView({ block: "nearest" });
    return null;
  }

  for (const button of document.querySelectorAll("[data-end]"))
    button.addEventListener("click", async () => {
      button.disabled = true;
      say("Ending: complete steps are kept.");
      const answer = await ask("/start/end", { pid: Number(button.dataset.end), start_ticks: Number(button.dataset.start) });
      if (answer) say(`It is ending.${answer.review ? " It can be resumed later." : ""}`);
      else button.disabled = false;
    });

  Object.assign(window.iogauge, { ask, say });
})();
