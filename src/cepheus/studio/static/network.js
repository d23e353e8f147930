// Network: processors, trees, partial rules and traffic: of nodes that run, or of a simulation that is played back, with
// faults at a click. Nodes that run are only watched: what breaks a network is for the simulator, which runs the same processors.
import { ask } from "./api.js";
import { draw, guarded, make, number, say } from "./dom.js";
import { frame, node, spread, text } from "./graph.js";

const WIDTH = 124;
const LIVE = "live nodes";
const HISTORY = 120;
const several = (count, what) => (count ? `${count} ${what}${count === 1 ? "" : "s"}` : "");
const listed = (names) => names.join(", ") || "none";

export class Network {
  constructor(page, app) {
    this.app = app;
    this.page = page;
    this.found = null;
    this.chosen = null; // the name of a processor, or the two names of a link
    this.place = null;
    this.faults = [];
    this.history = [];
    this.timer = this.polling = 0;
    this.scenario = make("select", { id: "scenario", "aria-label": "Scenario or live nodes", onchange: () => this.turned() });
    this.strategy = make("select", { id: "strategy", "aria-label": "Strategy" }, make("option", { value: "" }, "its own strategy"));
    this.start = make("button", { id: "simulate", class: "main", onclick: () => this.simulate() }, "Simulate");
    this.play = make("button", { id: "play", disabled: true, onclick: () => this.playback() }, "Play");
    this.slider = make("input", { type: "range", id: "moment", min: 0, max: 60, value: 60, disabled: true, "aria-label": "Moment", oninput: () => { this.stop(); this.at(+this.slider.value); } });
    this.about = make("span", { class: "quiet", id: "network-about" });
    this.broken = make("div", { class: "bar", id: "faults", "aria-label": "Faults" });
    this.graph = make("div", { class: "card", id: "network-graph" });
    this.side = make("div", { class: "card", id: "network-side" });
    this.body = [make("div", { class: "bar" }, this.scenario, this.strategy, this.start, this.play, this.slider, this.about), this.broken, make("div", { class: "split" }, this.graph, this.side)];
    this.none = make("div", { class: "empty" }, make("p", {}, "No network. Start the studio with one of these:"), make("pre", {}, "--scenario FILE.toml   a network to simulate\n--node HOST:PORT       a node that runs"));
    page.append(...this.body, this.none);
  }

  offer(scenarios, sources) {
    this.nodes = sources.filter((each) => each.kind === "node").map((each) => each.source);
    const options = [...scenarios, ...(this.nodes.length ? [LIVE] : [])];
    this.scenario.replaceChildren(...options.map((name) => make("option", { value: name }, name)));
    for (const each of this.body) each.hidden = !options.length;
    this.none.hidden = options.length > 0;
    ask("network").then((found) => { this.strategy.append(...found.strategies.map((name) => make("option", { value: name }, name))); if (this.kept) this.strategy.value = this.kept.strategy; }).catch(() => {});
    this.turned();
  }

  get live() { return this.scenario.value === LIVE; }
  get state() { return { scenario: this.scenario.value, strategy: this.strategy.value, faults: this.faults, chosen: this.chosen, place: this.place }; }

  restore(kept) {
    if (![...this.scenario.options].some((each) => each.value === kept.scenario)) return;
    this.scenario.value = kept.scenario;
    this.kept = kept;
    this.strategy.value = kept.strategy ?? "";
    this.faults = kept.faults ?? [];
    this.turned(false);
  }

  turned(anew = true) {
    clearInterval(this.polling);
    this.stop();
    if (anew) { this.found = null; this.chosen = null; this.faults = []; this.graph.replaceChildren(); this.side.replaceChildren(); this.about.textContent = ""; }
    this.history = [];
    this.start.textContent = this.live ? "Watch" : "Simulate";
    this.strategy.hidden = this.live;
    this.showFaults();
  }

  async simulate() {
    if (this.live) { this.watch(); return; }
    say("Simulating…");
    this.start.disabled = true;
    const found = await guarded(() => ask("network/simulate", { scenario: this.scenario.value, strategy: this.strategy.value || null, faults: this.faults }));
    this.start.disabled = false;
    if (!found) return;
    this.found = found;
    this.place = null;
    this.chosen ??= this.kept?.chosen ?? found.processors[0].name;
    this.slider.max = found.frames.length;
    this.slider.value = found.frames.length;
    this.play.disabled = this.slider.disabled = !found.frames.length;
    const delay = found.delay === null ? "nothing received" : `${found.delay.toFixed(1)} ms to sinks, at most ${found.worst.toFixed(1)} ms`;
    say(`${found.strategy}: ${found.traffic.toFixed(1)} messages per second, ${delay}${found.faults.length ? `; ${several(found.faults.length, "fault")}: ${number(found.received)} received${found.calm === null ? "" : found.received === found.calm ? ", as without faults" : `, ${number(found.calm)} without faults`}` : ""}`);
    this.show();
    this.app.remember();
  }

  // Nodes that run: asked once a second; what they told is kept for two minutes, and can be gone back to.
  watch() {
    clearInterval(this.polling);
    const poll = async () => {
      if (this.app.page !== "network" || !this.live) return;
      const told = await guarded(() => ask("network/nodes"));
      if (!told) return;
      this.history.push({ at: Date.now(), told });
      if (this.history.length > HISTORY) this.history.shift();
      this.slider.disabled = this.play.disabled = this.history.length < 2;
      this.slider.max = this.history.length - 1;
      if (this.place === null) { this.slider.value = this.history.length - 1; this.at(this.history.length - 1, false); }
    };
    this.place = null;
    poll();
    this.polling = setInterval(poll, 1000);
    say("Watching the nodes");
  }

  // What nodes told at one moment, as the simulator tells it: rates are differences to the moment before.
  told(place) {
    const now = this.history[place];
    const before = this.history[place - 1];
    const processors = now.told.filter((each) => !each.error);
    const away = now.told.filter((each) => each.error);
    const names = new Set(processors.map((each) => each.name));
    const others = [...new Set(processors.flatMap((each) => each.links.map((link) => link.name)))].filter((name) => !names.has(name));
    const links = new Map();
    for (const each of processors) {
      const old = before?.told.find((one) => one.name === each.name);
      for (const link of each.links) {
        const key = [each.name, link.name].sort().join(">");
        const known = links.get(key) ?? { one: key.split(">")[0], other: key.split(">")[1], there: 0, back: 0, connected: true };
        const was = old?.links.find((one) => one.name === link.name);
        const spent = old ? Math.max(each.at - old.at, 1e-3) : each.seconds;
        known[known.one === each.name ? "there" : "back"] = Math.max(0, link.sent - (was?.sent ?? 0)) / spent;
        if (!names.has(link.name)) known[known.one === each.name ? "back" : "there"] = Math.max(0, link.received - (was?.received ?? 0)) / spent;
        known.connected &&= link.connected;
        links.set(key, known);
      }
    }
    const ghosts = others.map((name) => ({ name, sources: [], sinks: [], trees: [], parts: [], links: [], ghost: true }));
    return { processors: [...processors, ...ghosts], links: [...links.values()], away, at: now.at };
  }

  stop() { clearInterval(this.timer); this.timer = 0; this.play.textContent = "Play"; }

  playback() {
    if (this.timer) { this.stop(); return; }
    let place = this.live ? 0 : 0;
    this.play.textContent = "Stop";
    this.timer = setInterval(() => {
      this.slider.value = place;
      this.at(place);
      place += 1;
      if (place > +this.slider.max) this.stop();
    }, 120);
  }

  at(place, picked = true) {
    if (this.live) {
      this.place = picked && place < this.history.length - 1 ? place : null;
      this.found = this.told(place);
      this.chosen ??= this.found.processors[0]?.name;
    } else this.place = place < this.found.frames.length ? place : null;
    this.show();
  }

  get frame() { return this.live || this.place === null ? null : this.found.frames[this.place]; }

  show() {
    this.drawGraph();
    this.drawSide();
    this.showFaults();
    if (this.live) {
      const when = new Date(this.found.at).toLocaleTimeString();
      this.about.textContent = `${this.place === null ? "now" : when}${this.found.away.map((each) => `; ${each.address} does not answer`).join("")}`;
    } else this.about.textContent = this.frame ? `until ${this.frame.time.toFixed(1)} s: ${number(this.frame.received)} received` : `${this.found.seconds} s, ${number(this.found.received)} received, ${number(Math.round(this.found.bytes))} bytes/s`;
  }

  // Whether something has failed at the moment that is shown.
  down(what) {
    if (!this.frame) return false;
    const step = this.found.seconds / this.found.frames.length;
    return this.found.faults.some((fault) => fault.at < this.frame.time && fault.until > this.frame.time - step
      && (typeof what === "string" ? fault.processor === what : fault.link && fault.link.includes(what[0]) && fault.link.includes(what[1])));
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
    for (const link of this.found.links) this.drawLink(svg, link, places, load, most, tree);
    for (const each of nodes) {
      const about = [several(each.sources.length, "source"), several(each.sinks.length, "sink")].filter(Boolean).join(", ");
      const down = this.down(each.name);
      const state = each.ghost ? "not asked" : down ? "has crashed" : about || several(each.parts.length, "partial rule") || "passes on";
      const css = [each.name === this.chosen && "chosen", down && "down", each.ghost && "ghost"].filter(Boolean).join(" ");
      svg.append(node(places.get(each.name), each.width, each.height, { label: `${each.name}: ${state}, ${several(each.parts.length, "partial rule") || "no partial rules"}`, css, chosen: () => { this.chosen = each.name; this.show(); this.app.remember(); } },
        text(10, 20, each.name), text(10, 38, state, "quiet")));
    }
    this.graph.replaceChildren(svg);
  }

  drawLink(svg, link, places, load, most, tree) {
    const a = places.get(link.one);
    const b = places.get(link.other);
    const there = load.get(`${link.one}>${link.other}`) ?? 0;
    const back = load.get(`${link.other}>${link.one}`) ?? 0;
    const share = Math.max(there, back) / most;
    const inTree = tree.has(`${link.one}>${link.other}`) || tree.has(`${link.other}>${link.one}`);
    const cut = link.connected === false || this.down([link.one, link.other]);
    const words = this.frame ? `${there + back}` : `${(there + back).toFixed(1)}/s`;
    const chosen = Array.isArray(this.chosen) && this.chosen.includes(link.one) && this.chosen.includes(link.other);
    const choose = () => { this.chosen = [link.one, link.other]; this.show(); this.app.remember(); };
    const line = draw("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: cut ? "edge cut" : share > 0.02 ? "edge busy" : "edge link", "stroke-dasharray": inTree && !cut ? "none" : "5 4", "stroke-opacity": cut || chosen ? 1 : 0.35 + 0.65 * share });
    line.style.strokeWidth = `${1 + share * 7}px`;
    const group = draw("g", { class: `link-of ${chosen ? "chosen" : ""}`, tabindex: 0, role: "button", "aria-label": `Link ${link.one} and ${link.other}: ${cut ? "cut" : words}`, onclick: choose, onkeydown: (key) => (key.key === "Enter" || key.key === " ") && choose() },
      draw("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: "touch" }), line);
    const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
    const label = cut ? "cut" : there + back > 0 ? words : "";
    if (label) group.append(draw("rect", { class: "label-back", x: x - 4 - label.length * 3.6, y: y - 9, width: 8 + label.length * 7.2, height: 18, rx: 4 }), text(x, y + 4, label, cut ? "wrong" : "quiet", "middle"));
    svg.append(group);
  }

  drawSide() {
    if (Array.isArray(this.chosen)) { this.drawLinkSide(); return; }
    const each = this.found.processors.find((one) => one.name === this.chosen) ?? this.found.processors[0];
    if (!each) { this.side.replaceChildren(make("div", { class: "empty" }, this.found.away?.map((one) => one.error).join("; ") ?? "")); return; }
    const crash = this.live ? "" : make("button", { id: "crash", title: "Simulate again, with this processor down from the moment shown on", onclick: () => this.fault({ processor: each.name }) }, "Crash it here");
    const trees = each.trees.map((tree) => make("div", {}, `root ${tree.root}, ${tree.father ? `father ${tree.father}` : "this is the root"}`));
    this.side.replaceChildren(make("div", { class: "bar" }, make("h2", {}, each.name), make("span", { class: "grow" }), crash),
      make("div", { class: "quiet" }, each.ghost ? "This node was not named with --node: only its links are known." : `sources: ${listed(each.sources)}; sinks: ${listed(each.sinks)}`),
      ...(each.rules ? [make("h3", {}, "Whole rules"), make("div", {}, listed(each.rules))] : []),
      make("h3", {}, "Trees"), ...(trees.length ? trees : [make("div", { class: "quiet" }, "none")]),
      make("h3", {}, "Partial rules"), ...(each.parts.length ? each.parts.map((part) => make("div", {}, make("span", { class: "quiet" }, `of ${part.rule}, sent ${part.sends}`), make("pre", {}, part.text))) : [make("div", { class: "quiet" }, "none: it evaluates whole rules, or passes events on")]));
  }

  drawLinkSide() {
    const [one, other] = this.chosen;
    const link = this.found.links.find((each) => this.chosen.includes(each.one) && this.chosen.includes(each.other));
    const cut = this.live ? "" : make("button", { id: "cut", title: "Simulate again, with this link cut from the moment shown on", onclick: () => this.fault({ link: [one, other] }) }, "Cut it here");
    this.side.replaceChildren(make("div", { class: "bar" }, make("h2", {}, `${one} and ${other}`), make("span", { class: "grow" }), cut),
      link ? make("div", { class: "quiet" }, link.delay === undefined ? (link.connected ? "connected" : "not connected") : `takes ${link.delay} ms`) : "",
      ...(link ? [make("div", {}, `${link.one} to ${link.other}: ${link.there.toFixed(2)} messages per second`), make("div", {}, `${link.other} to ${link.one}: ${link.back.toFixed(2)} messages per second`)] : []));
  }

  // A fault at the moment that is shown; at the end of the simulation there is none, so it is in the middle then.
  fault(what) {
    const seconds = this.found.seconds;
    const at = this.frame ? Math.max(0, this.frame.time - seconds / this.found.frames.length) : seconds / 2;
    this.faults.push({ ...what, at, seconds: Math.min(5, Math.max(seconds / 10, 0.5)) });
    this.simulate();
  }

  showFaults() {
    this.broken.hidden = this.live || !this.faults.length;
    this.broken.replaceChildren(make("span", { class: "quiet" }, "Faults"), ...this.faults.map((fault, place) => make("button", { class: "chip", title: "Mend it, and simulate again", onclick: () => { this.faults.splice(place, 1); this.simulate(); } },
      `${fault.processor ? `${fault.processor} crashes` : `${fault.link.join(" and ")} are cut apart`} at ${fault.at.toFixed(1)} s for ${fault.seconds.toFixed(1)} s ✕`)));
  }
}
