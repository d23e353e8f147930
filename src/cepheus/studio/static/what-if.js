// What if: the numbers of the rules as sliders, counts at once, and a sweep over one of them.
import uPlot from "./vendor/uplot.js";
import { ask } from "./api.js";
import { colour, duration, guarded, make, number, say } from "./dom.js";

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
    this.choice.onchange = () => this.bounds();
    page.append(
      make("div", { class: "card", id: "knobs-card" }, make("div", { class: "bar" }, make("h2", {}, "What if the numbers were others?"), make("span", { class: "grow" }),
        make("button", { onclick: () => this.reset() }, "Reset"), make("button", { id: "apply-knobs", onclick: () => this.apply() }, "Write into the rules")), this.counts, this.list),
      make("div", { class: "card", id: "sweep-card" }, make("div", { class: "bar" }, make("h2", {}, "Sweep"), this.choice, this.low, "to", this.high,
        make("label", { class: "quiet" }, this.labelled, " precision and recall by labels"), make("button", { id: "sweep", class: "main", onclick: () => this.sweep() }, "Sweep")), this.chart));
  }

  changed() { this.shown(); }
  ran() { this.base = this.app.ran?.counts ?? {}; this.values = {}; if (this.app.page === "what-if") this.shown(true); }

  async shown(always = false) {
    const text = this.app.editor.text;
    if (text === this.text && !always) return;
    const knobs = await ask("knobs", { text }).catch(() => null);
    if (!knobs) return;
    this.text = text;
    this.knobs = knobs;
    this.values = {};
    this.base = this.app.ran?.counts ?? {};
    this.list.replaceChildren(...(knobs.length ? knobs.map((knob) => this.slider(knob)) : [make("p", { class: "quiet" }, "These rules have no numbers to turn.")]));
    this.choice.replaceChildren(...knobs.map((knob) => make("option", { value: knob.name }, knob.name)));
    this.bounds();
    this.labelled.disabled = !this.app.events?.labels.length;
    this.tell(this.base, null);
  }

  slider(knob) {
    const time = knob.unit === "time";
    const show = (value) => (time ? duration(value) : String(+value.toPrecision(5)));
    const value = make("output", {}, show(knob.value));
    const step = knob.whole && !time ? 1 : (knob.high - knob.low) / 400;
    const range = make("input", { type: "range", min: knob.low, max: knob.high, step, value: knob.value, "aria-label": knob.name,
      oninput: () => { this.values[knob.name] = +range.value; value.textContent = show(+range.value); this.wait(); } });
    range.value = knob.value;
    knob.range = range;
    knob.output = value;
    return make("div", { class: "knob" }, make("span", {}, make("span", { class: "quiet" }, `${knob.rule} `), make("code", {}, knob.text)), range, value,
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

  wait() { clearTimeout(this.timer); this.timer = setTimeout(() => this.turn(), 120); }

  async turn() {
    if (!this.app.events) { say("Open a file of events first", true); return; }
    if (this.turning) { this.again = true; return; }
    this.turning = true;
    const view = this.app.timeline.view;
    const told = await guarded(() => ask("turn", { text: this.text, values: this.values,
      view: { start: Math.floor(view.start), end: Math.ceil(view.end), width: 800, keys: {} } }));
    this.turning = false;
    if (told) {
      this.tell(told.counts, told.seconds);
      this.app.timeline.extra = told.lanes;
    }
    if (this.again) { this.again = false; this.turn(); }
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
    this.app.timeline.extra = null;
    this.tell(this.base, null);
  }

  apply() {
    const turned = this.knobs.filter((knob) => this.values[knob.name] !== undefined && knob.span);
    for (const knob of [...turned].sort((a, b) => b.span[0] - a.span[0])) {
      const old = this.text.slice(...knob.span);
      const value = this.values[knob.name];
      const written = knob.unit === "time"
        ? old.replace(/\d+(\.\d+)?\s*[a-zA-Z.]+/, `${Math.round(value / 1000)} ms`.replace(/(\d+)000 ms/, "$1 s"))
        : knob.whole ? String(Math.round(value)) : String(+value.toPrecision(6));
      this.app.editor.replace(knob.span[0], knob.span[1], written);
    }
    say(turned.length ? "The numbers are in the rules; run them" : "No slider was moved");
  }

  async sweep() {
    if (!this.app.events) { say("Open a file of events first", true); return; }
    say("Sweeping…");
    const found = await guarded(() => ask("sweep", { text: this.text, knob: this.choice.value, low: +this.low.value * this.scale, high: +this.high.value * this.scale,
      steps: 21, use_labels: this.labelled.checked }));
    if (!found) return;
    this.found = found;
    this.plot();
    say(`${found.points.length} values tried`);
  }

  restyle() { if (this.found) this.plot(); }

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
