// What if: the numbers of the rules as sliders, counts at once, and a sweep over one of them.
import uPlot from "./vendor/uplot.js";
import { ask } from "./api.js";
import { colour, duration, guarded, length, make, number, say } from "./dom.js";
import { Timeline } from "./timeline.js";

// Labels as a person writes them: a line for each, one time or two.
function labelled(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => line.split(/\s+(?:to\s+)?/).map((time) => {
    const at = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(time) ? time : `${time}Z`);
    if (Number.isNaN(at)) throw new Error(`'${time}' is no time: write 2026-01-01T09:00:00, or two of them for a stretch`);
    return at * 1000;
  }));
}

export class WhatIf {
  constructor(page, app) {
    this.page = page;
    this.app = app;
    this.knobs = [];
    this.values = {};
    this.base = {};
    this.text = null;
    this.timer = 0;
    this.list = make("div", { id: "knobs" });
    this.counts = make("div", { id: "what-if-counts", "aria-live": "polite" });
    this.choice = make("select", { id: "sweep-knob", "aria-label": "Number to sweep" });
    this.low = make("input", { type: "number", step: "any", "aria-label": "From", title: "From" });
    this.high = make("input", { type: "number", step: "any", "aria-label": "To", title: "To" });
    this.labelled = make("input", { type: "checkbox", id: "use-labels" });
    this.chart = make("div", { id: "sweep-chart" });
    this.own = make("textarea", { id: "labels", rows: 3, hidden: true, "aria-label": "Times at which it should have been found", placeholder: "2026-01-01T09:20:00\n2026-01-01T09:40:00 2026-01-01T09:50:00", oninput: () => { this.labelled.disabled = false; this.labelled.checked = Boolean(this.own.value.trim()); } });
    const compare = make("div", { class: "canvas-holder compare", id: "compare" });
    this.choice.onchange = () => this.bounds();
    page.append(
      make("div", { class: "card", id: "knobs-card" }, make("div", { class: "bar" }, make("h2", {}, "What if the numbers were others?"), make("span", { class: "grow" }),
        make("button", { onclick: () => this.reset() }, "Reset"), make("button", { id: "apply-knobs", onclick: () => this.apply() }, "Write into the rules")), this.counts, this.list),
      compare,
      make("div", { class: "card", id: "sweep-card" }, make("div", { class: "bar" }, make("h2", {}, "Sweep"), this.choice, this.low, "to", this.high,
        make("label", { class: "quiet" }, this.labelled, " precision and recall by labels"), make("button", { id: "own-labels", onclick: () => { this.own.hidden = !this.own.hidden; } }, "Labels…"),
        make("button", { id: "sweep", class: "main", onclick: () => this.sweep() }, "Sweep")), this.own, this.chart));
    this.compare = new Timeline(compare, {
      chosen: (row) => { this.app.turn("timeline"); this.app.why(row); }, moment: () => {}, moved: () => {}, source: (view) => this.turn(view),
    });
  }

  get state() { return { values: this.values }; }
  restore(kept) { this.values = kept.values ?? {}; }

  changed() { this.shown(); }
  ran() { this.base = this.app.ran?.counts ?? {}; this.text = null; if (this.app.page === "what-if") this.shown(true); }

  async shown(always = false) {
    const text = this.app.editor.text;
    if (text === this.text && !always) { this.look(); return; }
    const knobs = await ask("knobs", { text }).catch(() => null);
    if (!knobs) return;
    this.text = text;
    this.knobs = knobs;
    const names = new Set(knobs.map((knob) => knob.name)); // a name tells the number in the text: with another text they go
    this.values = Object.fromEntries(Object.entries(this.values).filter(([name]) => names.has(name)));
    this.base = this.app.ran?.counts ?? {};
    this.list.replaceChildren(...(knobs.length ? knobs.map((knob) => this.slider(knob)) : [make("p", { class: "quiet" }, "These rules have no numbers to turn.")]));
    this.choice.replaceChildren(...knobs.map((knob) => make("option", { value: knob.name }, knob.name)));
    this.bounds();
    this.labelled.disabled = !this.app.events?.labels.length && !this.own.value.trim();
    this.tell(this.base, null);
    for (const knob of knobs) if (this.values[knob.name] !== undefined) { knob.range.value = this.values[knob.name]; knob.show(); }
    this.look();
  }

  // The timeline of what was found shows the stretch that the page Timeline shows.
  look() {
    const view = this.app.timeline.view;
    if (!view || !this.app.events) return;
    this.compare.whole = this.app.timeline.whole;
    this.compare.labels = this.app.events.labels;
    this.compare.show(view.start, view.end);
  }

  slider(knob) {
    const time = knob.unit === "time";
    const show = (value) => (time ? duration(value) : String(+value.toPrecision(5)));
    const value = make("output", {}, show(knob.value));
    const step = knob.whole && !time ? 1 : (knob.high - knob.low) / 400;
    const range = make("input", { type: "range", min: knob.low, max: knob.high, step, value: knob.value, "aria-label": knob.name,
      oninput: () => { this.values[knob.name] = knob.whole || time ? Math.round(+range.value) : +range.value; knob.show(); this.wait(); } });
    range.value = knob.value;
    knob.show = () => { value.textContent = show(+range.value); range.setAttribute("aria-valuetext", value.textContent); };
    knob.range = range;
    knob.output = value;
    const mark = (spans) => () => this.app.editor.highlight(this.app.editor.text === this.text ? spans : []);
    const [here, gone] = [mark(knob.span ? [knob.span] : []), mark([])];
    return make("div", { class: "knob", onpointerenter: here, onpointerleave: gone, onfocusin: here, onfocusout: gone }, make("span", {}, make("span", { class: "quiet" }, `${knob.rule} `), make("code", {}, knob.text)), range, value,
      make("span", { class: "quiet" }, `now ${knob.shown}`));
  }

  bounds() {
    const knob = this.knobs.find((each) => each.name === this.choice.value);
    if (!knob) return;
    const scale = knob.unit === "time" ? 1e6 : 1;
    this.scale = scale;
    this.low.value = +(knob.low / scale).toPrecision(6);
    this.high.value = +(knob.high / scale).toPrecision(6);
    this.low.title = this.high.title = scale === 1 ? "a number" : "seconds";
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.app.remember(); if (this.app.events) this.compare.refresh(); else say("Open a file of events first", true); }, 120);
  }

  async turn(view) {
    const told = await ask("turn", { text: this.text, values: this.values, view: { start: view.start, end: view.end, width: view.width, keys: {} } });
    this.tell(told.counts, Object.keys(this.values).length ? told.seconds : null);
    const shown = told.lanes.map((lane, place) => (place < told.changed ? { ...lane, name: `${lane.name} (what if)`, what: true } : lane));
    return { start: view.start, end: view.end, lanes: Object.keys(this.values).length ? shown : shown.filter((lane) => !lane.what) };
  }

  tell(counts, seconds) {
    const names = [...new Set([...Object.keys(this.base), ...Object.keys(counts)])].sort();
    this.counts.replaceChildren(...names.map((name) => {
      const now = counts[name] ?? 0;
      const before = this.base[name] ?? 0;
      const change = now - before;
      return make("span", { class: `chip ${change > 0 ? "up" : change < 0 ? "down" : ""}` }, `${name} ${number(now)}${change ? ` (${change > 0 ? "+" : "−"}${number(Math.abs(change))})` : ""}`);
    }), make("span", { class: "quiet" }, seconds === null ? " as the rules are" : ` in ${seconds.toFixed(2)} s`));
  }

  reset() {
    this.values = {};
    for (const knob of this.knobs) { knob.range.value = knob.value; knob.output.textContent = knob.shown; }
    this.tell(this.base, null);
    this.look();
  }

  apply() {
    if (this.app.language !== "tesla") { say("Numbers are written into rules of TESLA; here, change them in the text", true); return; }
    const turned = this.knobs.filter((knob) => this.values[knob.name] !== undefined && knob.span);
    for (const knob of [...turned].sort((a, b) => b.span[0] - a.span[0])) {
      const old = this.text.slice(...knob.span);
      const value = this.values[knob.name];
      const after = "+-*/".includes(this.text.slice(0, knob.span[0]).trimEnd().at(-1) ?? " "); // where -- would be a comment
      const written = knob.unit === "time" ? old.replace(/\d+(\.\d+)?\s*[a-zA-Z]+/, length(value)) : value < 0 && after ? `(${value})` : String(value);
      this.app.editor.replace(knob.span[0], knob.span[1], written);
    }
    say(turned.length ? "The numbers are in the rules; run them" : "No slider was moved");
  }

  async sweep() {
    if (!this.app.events) { say("Open a file of events first", true); return; }
    if (!this.choice.value) { say("These rules have no numbers to sweep", true); return; }
    say("Sweeping…");
    const found = await guarded(async () => ask("sweep", { text: this.text, knob: this.choice.value, low: +this.low.value * this.scale, high: +this.high.value * this.scale,
      steps: 21, labels: this.labelled.checked ? labelled(this.own.value) : [], use_labels: this.labelled.checked }));
    if (!found) return;
    this.found = found;
    this.plot();
    say(`${found.points.length} values tried`);
  }

  restyle() { this.compare.restyle(); if (this.found) this.plot(); }

  plot() {
    const { points, composite, knob } = this.found;
    const scored = points.some((point) => point.recall !== undefined);
    const xs = points.map((point) => point.value / this.scale);
    const data = [xs, points.map((point) => point.count), ...(scored ? [points.map((point) => point.precision ?? null), points.map((point) => point.recall ?? null)] : [])];
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    const line = (label, ink, scale) => ({ label, stroke: colour(ink), width: 2, scale, points: { size: 6 } });
    this.chart.replaceChildren();
    new uPlot({
      width: Math.max(300, this.chart.clientWidth - 10), height: 250, scales: { x: { time: false }, share: { range: [0, 1.02] } },
      series: [{ label: knob.text }, line(`${composite} found`, "made", "y"), ...(scored ? [line("precision", "given", "share"), line("recall", "good", "share")] : [])],
      axes: [axis, { ...axis, scale: "y" }, ...(scored ? [{ ...axis, scale: "share", side: 1, grid: { show: false } }] : [])],
    }, data, this.chart);
    this.chart.setAttribute("aria-label", `Found by value: ${points.map((point) => `${point.shown}: ${point.count}`).join(", ")}`);
    this.chart.setAttribute("role", "img");
  }
}
