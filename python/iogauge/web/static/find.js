// Finds reviews in a list that has no server: a row stays if it has all words.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const rows = [...document.querySelectorAll("tr[data-review]")].map((row) => [row, row.textContent.toLowerCase()]);
  const count = document.getElementById("count");
  const everything = count.textContent;
  document.getElementById("find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown.toLocaleString("en")} of ${everything}` : everything;
  });
})();
