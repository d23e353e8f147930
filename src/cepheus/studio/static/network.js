// Network: a simulated network of processors. Trees, partial rules as text, traffic by link, playback, a crash at a click.
import { ask } from "./api.js";
import { draw, guarded, make, number, say } from "./dom.js";
import { frame, node, spread, text } from "./graph.js";

const WIDTH = 116;
const several = (count, what) => (count ? `${count} ${what}${count === 1 ? "" : "s"}` : "");

export class Network {
  constructor(page, app) {
    this.app = app;
    this.page = page;
    this.found = null;
    this.chosen = null;
    this.frame = null;
    this.timer = 0;
    this.scenario = make("select", { id: "scenario", "aria-label": "Scenario" });
    this.strategy = make("select", { id: "strategy", "aria-label": "Strategy" }, make("option", { value: "" }, "its own strategy"));
    this.start = make("button", { id: "simulate", class: "main", onclick: () => this.simulate() }, "Simulate");
    this.play = make("button", { id: "play", disabled: true, onclick: () => this.playback() }, "Play");
    this.slider = make("input", { type: "range", min: 0, max: 59, value: 59, disabled: true, "aria-label": "Moment of the simulation", oninput: () => this.at(+this.slider.value) });
    this.about = make("span", { class: "quiet" });
    this.graph = make("div", { class: "card", id: "network-graph" });
    this.side = make("div", { class: "card", id: "network-side" });
    page.append(make("div", { class: "bar" }, this.scenario, this.strategy, this.start, this.play, this.slider, this.about), make("div", { class: "split" }, this.graph, this.side));
    this.none = make("div", { class: "empty" }, "No scenario. Start the studio with --scenario FILE.toml to simulate a network of processors.");
    page.append(this.none);
  }

  offer(scenarios) {
    this.scenario.replaceChildren(...scenarios.map((name) => make("option", { value: name }, name)));
    for (const child of this.page.children) child.hidden = scenarios.length ? child === this.none : child !== this.none;
    ask("network").then((found) => this.strategy.append(...found.strategies.map((name) => make("option", { value: name }, name)))).catch(() => {});
  }

  async simulate(crash = null) {
    say("Simulating…");
    this.start.disabled = true;
    const found = await guarded(() => ask("network/simulate", { scenario: this.scenario.value, strategy: this.strategy.value || null, crash }));
    this.start.disabled = false;
    if (!found) return;
    this.found = found;
    this.frame = null;
    this.chosen = this.chosen ?? found.processors[0].name;
    this.play.disabled = this.slider.disabled = !found.frames.length;
    const delay = found.delay === null ? "nothing received" : `${found.delay.toFixed(1)} ms to sinks`;
    say(`${found.strategy}: ${found.traffic.toFixed(1)} messages per second, ${delay}${found.faults ? `; ${found.faults} failed on the way` : ""}`);
    this.show();
  }

  playback() {
    clearInterval(this.timer);
    let place = 0;
    this.timer = setInterval(() => {
      this.at(place);
      this.slider.value = place;
      place += 1;
      if (place >= this.found.frames.length) clearInterval(this.timer);
    }, 120);
  }

  at(place) { this.frame = this.found.frames[place]; this.show(); }

  show() {
    this.drawGraph();
    this.drawSide();
    this.about.textContent = this.frame ? `after ${this.frame.time.toFixed(1)} s: ${number(this.frame.received)} received` : `${this.found.seconds} s, ${number(this.found.received)} received, ${number(Math.round(this.found.bytes))} bytes/s`;
  }

  drawGraph() {
    const nodes = this.found.processors.map((each) => ({ ...each, width: WIDTH, height: 52 }));
    const edges = this.found.links.map((link) => [link.one, link.other]);
    const { places, width, height } = spread(nodes, edges);
    const svg = frame(Math.max(width, 320), Math.max(height, 200), "Network of processors");
    const load = new Map();
    if (this.frame) for (const [from, to, count] of this.frame.links) load.set(`${from}>${to}`, count);
    else for (const link of this.found.links) { load.set(`${link.one}>${link.other}`, link.there); load.set(`${link.other}>${link.one}`, link.back); }
    const most = Math.max(1e-9, ...load.values());
    const tree = new Set(this.found.processors.flatMap((each) => each.trees.map((one) => `${each.name}>${one.father}`)));
    for (const link of this.found.links) {
      const a = places.get(link.one);
      const b = places.get(link.other);
      const there = load.get(`${link.one}>${link.other}`) ?? 0;
      const back = load.get(`${link.other}>${link.one}`) ?? 0;
      const share = Math.max(there, back) / most;
      const inTree = tree.has(`${link.one}>${link.other}`) || tree.has(`${link.other}>${link.one}`);
      const line = draw("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: share > 0.02 ? "edge busy" : "edge link", "stroke-dasharray": inTree ? "none" : "5 4", "stroke-opacity": 0.35 + 0.65 * share });
      line.style.strokeWidth = `${1 + share * 8}px`;
      svg.append(line);
      const words = this.frame ? `${there + back}` : `${(there + back).toFixed(1)}/s`;
      if (there + back > 0) svg.append(text((a.x + b.x) / 2, (a.y + b.y) / 2 - 7, words, "quiet", "middle"));
    }
    for (const each of nodes) {
      const about = [several(each.sources.length, "source"), several(each.sinks.length, "sink")].filter(Boolean).join(", ");
      svg.append(node(places.get(each.name), each.width, each.height, { label: `${each.name}: ${about || "passes on"}, ${each.parts.length} partial rules`, css: each.name === this.chosen ? "chosen" : "", chosen: () => { this.chosen = each.name; this.show(); } },
        text(10, 20, each.name), text(10, 38, about || `${each.parts.length} partial rules`, "quiet")));
    }
    this.graph.replaceChildren(svg);
  }

  drawSide() {
    const each = this.found.processors.find((one) => one.name === this.chosen) ?? this.found.processors[0];
    this.side.replaceChildren(make("div", { class: "bar" }, make("h2", {}, each.name), make("span", { class: "grow" }), make("button", { onclick: () => this.simulate(each.name) }, "Simulate with a crash here")),
      make("div", { class: "quiet" }, `sources: ${each.sources.join(", ") || "none"}; sinks: ${each.sinks.join(", ") || "none"}`),
      make("h3", {}, "Trees"), ...each.trees.map((tree) => make("div", {}, `root ${tree.root}, ${tree.father ? `father ${tree.father}` : "this is the root"}`)),
      make("h3", {}, "Partial rules"), ...(each.parts.length ? each.parts.map((part) => make("div", {}, make("span", { class: "quiet" }, `of ${part.rule}, sent ${part.sends}`), make("pre", {}, part.text))) : [make("div", { class: "quiet" }, "none: it evaluates whole rules, or passes events on")]));
  }
}
