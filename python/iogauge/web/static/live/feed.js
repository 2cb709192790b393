// Follows the events of a measurement: each event once, in order, whatever happens to the connection.
"use strict";
window.iogauge = window.iogauge ?? {};
(() => {
  const AGAIN_MS = 2000;

  // take(event) gets the events after number `after`; on.state(text) what the connection does, on.cost(cost) what
  // watching costs. A page in the background lets its connection go, since a browser has few, and catches up later.
  function follow({ pid, start, after, take, on = {} }) {
    let last = after;
    let source = null;
    let timer = 0;
    let over = false;

    function receive({ data }) {
      const event = JSON.parse(data);
      // What is repeated after a gap has an earlier number.
      if (event.seq !== undefined && !event.again) {
        if (event.seq <= last) return;
        last = event.seq;
      }
      if (event.event === "end" || event.event === "over") {
        over = true;
        close();
      }
      take(event);
    }

    function close() {
      clearTimeout(timer);
      source?.close();
      source = null;
    }

    function open() {
      close();
      if (over || document.hidden) return;
      const address = `/live/${pid}/events?start=${start}&after=${last}`;
      const opened = new EventSource(address);
      source = opened;
      source.onopen = () => on.state?.("");
      source.onmessage = receive;
      source.addEventListener("cost", ({ data }) => {
        const cost = JSON.parse(data);
        window.iogauge.setNow(cost.now);
        on.cost?.(cost);
      });
      source.onerror = async () => {
        // The browser tries again by itself, unless the server refused: then it says why to whoever asks plainly.
        const refused = opened.readyState === EventSource.CLOSED ? await refusal(address) : null;
        if (source !== opened) return;
        on.state?.(refused?.text ?? "The connection to the server is lost; trying again.");
        if (refused?.status === 401) close();
        else if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS);
      };
    }

    document.addEventListener("visibilitychange", open);
    open();
  }

  // Why the server does not send a stream; null: it does not answer, or it would send it now.
  async function refusal(address) {
    const stop = new AbortController();
    try {
      const answer = await fetch(address, { signal: stop.signal });
      if (answer.ok) return null;
      const { error, hint } = await answer.json();
      const again = answer.status === 401 ? "" : " Trying again.";
      return { status: answer.status, text: `${error[0].toUpperCase()}${error.slice(1)}. hint: ${hint}.${again}` };
    } catch {
      return null;
    } finally {
      stop.abort();
    }
  }

  // The time by the server's clock, in Unix seconds.
  let ahead = 0;
  const now = () => Date.now() / 1000 + ahead;
  const setNow = (seconds) => {
    ahead = seconds - Date.now() / 1000;
  };

  // The state of a measurement as its step goes on: what the server's pages say of it (live/state.py).
  class Progress {
    begin = null;
    step = null;
    ended = false;
    end = null;
    over = false;
    stages = new Map();
    spent = 0;
    expected = 0;

    add(event) {
      if (event.event === "begin") this.begin = event;
      else if (event.event === "step") {
        this.step = event;
        this.ended = false;
        this.stages.clear();
      } else if (event.event === "rows") this.stages.clear();
      else if (event.event === "interval")
        this.stages.set(event.stage, Math.max(this.stages.get(event.stage) ?? 0, event.end_s));
      else if (event.event === "step_end") {
        this.ended = true;
        if (this.step && event.complete) {
          this.spent += Math.max(event.at - this.step.at, 0);
          this.expected += this.step.expected_s ?? 0;
        }
      } else if (event.event === "end") this.end = event;
      else if (event.event === "over") this.over = true;
    }

    get virtual() {
      return this.begin?.virtual ?? false;
    }

    // The seconds of the step that have passed, by the clock of its intervals.
    get measured() {
      return [...this.stages.values()].reduce((sum, seconds) => sum + seconds, 0);
    }

    left(now) {
      if (!this.step || this.end || this.step.expected_s === null) return null;
      let here = this.step.expected_s;
      const passed = Math.max(now - this.step.at, 0);
      if (this.virtual) {
        const share = here ? Math.min(this.measured / here, 1) : 0;
        if (!share) return null;
        here = passed / share;
      }
      const rest = this.ended ? 0 : Math.max(here - passed, 0);
      const ahead = this.step.ahead_s ?? 0;
      if (!ahead) return rest;
      if (this.expected) return rest + (ahead * this.spent) / this.expected;
      return rest + ahead * (this.virtual ? here / this.step.expected_s : 1);
    }

    sentence(now) {
      const outcomes = { done: "It is done", interrupted: "It was interrupted", failed: "It failed" };
      if (this.end) return `${outcomes[this.end.outcome] ?? "It has ended"}${this.end.text ? `: ${this.end.text}` : ""}.`;
      if (this.over) return "Its process has ended without reporting an outcome.";
      if (!this.step) return "It is being prepared.";
      const { number, steps, more, search, label } = this.step;
      const place = search ? "A search" : steps === 1 && !more ? "Running" : `Step ${number} of ${steps}${more ? " or more" : ""}`;
      const left = this.left(now);
      return `${place}: ${label}.${left === null ? "" : ` About ${window.iogauge.waiting(left)} left.`}`;
    }
  }

  Object.assign(window.iogauge, { follow, now, setNow, Progress });
})();
