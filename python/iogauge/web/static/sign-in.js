// Exchanges the token for a cookie. The token is in the fragment of the link, which a browser never sends.
"use strict";
(() => {
  const state = document.getElementById("state");
  const form = document.getElementById("sign-in");

  async function signIn(token) {
    const answer = await fetch("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) return location.reload();
    const { error, hint } = await answer.json();
    state.textContent = `${error}. hint: ${hint}`;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn(form.token.value);
  });
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    signIn(token);
  }
})();
