// Live: rules at work on what is still coming. The page asks twice a second and keeps the last matches only.
import uPlot from "./vendor/uplot.js";
import { ask } from "./api.js";
import { colour, eventLine, guarded, make, number, say } from "./dom.js";

const MOST = 100;

export class Live {
  constructor(page, app) {
    this.page = page;
    this.app = app;
    this.forget();
    this.running = false;
    this.turn = 0; // of all loops that ask, only the latest goes on
    this.source = make("select", { id: "live-source", "aria-label": "What to follow" });
    this.begin = make("button", { id: "live-start", class: "main", onclick: () => this.start() }, "Start");
    this.hold = make("button", { id: "live-pause", disabled: true, onclick: () => this.pause() }, "Pause");
    this.end = make("button", { disabled: true, onclick: () => this.stop() }, "Stop");
    this.deploy = make("button", { id: "live-deploy", disabled: true, onclick: () => this.plan() }, "Deploy the editor's rules…");
    this.tiles = make("div", { class: "tiles", id: "live-tiles" });
    this.chart = make("div", { class: "card" });
    this.change = make("div", { class: "card diff", hidden: true, id: "live-plan" });
    this.matches = make("div", { id: "live-matches" });
    page.append(make("div", { class: "bar" }, this.source, this.begin, this.hold, this.end, make("span", { class: "grow" }), this.deploy), this.tiles, this.change, this.chart,
      make("div", { class: "card details" }, make("h2", {}, "Matches, the latest first"), this.matches));
    this.none = make("div", { class: "empty" }, "Nothing to follow. Start the studio with --follow FILE.jsonl for a file that grows, or with --node HOST:PORT for a node of a network.");
    page.append(this.none);
  }

  forget() {
    this.since = this.received = this.missed = this.twice = 0;
    this.began = null;
  }

  offer(live) {
    const options = [...live.files.map((name) => ["file", name, `file ${name}`]), ...live.nodes.map((name) => ["node", name, `node ${name}`])];
    this.options = options;
    this.source.replaceChildren(...options.map(([, , label]) => make("option", {}, label)));
    for (const child of this.page.children) child.hidden = options.length ? child === this.none || child === this.change : child !== this.none;
  }

  async start() {
    const [kind, name] = this.options[this.source.selectedIndex];
    const state = await guarded(() => ask("live/start", { text: this.app.editor.text, name: this.app.editor.name, [kind]: name }));
    if (!state) return;
    this.forget();
    this.matches.replaceChildren();
    this.run();
  }

  run() {
    this.running = true;
    this.hold.disabled = this.end.disabled = this.deploy.disabled = false;
    this.turn += 1;
    this.tick(this.turn);
  }

  shown() { if (this.options?.length && !this.running) ask("live").then((found) => found.running && this.run()).catch(() => {}); }

  async tick(turn) {
    if (!this.running || turn !== this.turn) return;
    const state = await guarded(() => ask("live/state", { since: this.since }));
    if (turn !== this.turn) return;
    if (state) this.tell(state);
    setTimeout(() => this.tick(turn), state && this.since < state.matched ? 0 : 500);
  }

  // Every match has a number: what comes again and what never came is counted, so that nothing is lost in silence.
  receive(matches) {
    const fresh = [];
    for (const match of matches) {
      if (match.number <= this.since) { this.twice += 1; continue; }
      this.missed += match.number - this.since - 1;
      this.received += 1;
      this.since = match.number;
      fresh.push(match);
    }
    this.matches.prepend(...fresh.slice(-MOST).reverse().map((event) => make("div", {}, eventLine(event))));
    while (this.matches.children.length > MOST) this.matches.lastChild.remove();
  }

  tell(state) {
    this.paused = state.paused;
    this.hold.textContent = state.paused ? "Resume" : "Pause";
    const rate = state.rates.length ? state.rates.at(-1)[1] : 0;
    if (this.began !== null && this.began !== state.began) { // started anew by another page: numbers begin again
      this.forget();
      this.began = state.began;
      this.matches.replaceChildren();
      return;
    }
    this.began = state.began;
    this.receive(state.matches);
    const tile = (name, value) => make("div", { class: "tile" }, make("span", { class: "big" }, typeof value === "number" ? number(value) : value), make("small", {}, name));
    this.tiles.replaceChildren(tile("events", state.events), tile("events/s now", rate), tile("matches", state.matched), tile("late", state.late), tile("bad", state.skipped), tile("waiting", state.waiting), this.missed ? tile("not received", this.missed) : "",
      ...Object.entries(state.by_type).map(([name, count]) => tile(name, count)), tile("rules", state.rules.join(", ") || "none"));
    this.tiles.dataset.matched = state.matched;
    for (const name of ["received", "missed", "twice"]) this.tiles.dataset[name] = this[name];
    if (state.error && this.since >= state.matched) { say(state.error, true); this.running = false; }
    this.plot(state.rates);
  }

  plot(rates) {
    if (rates.length < 2) return;
    const data = [rates.map((each) => each[0]), rates.map((each) => each[1]), rates.map((each) => each[2])];
    if (this.drawn) { this.drawn.setData(data); return; }
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    this.drawn = new uPlot({ width: Math.max(300, this.chart.clientWidth - 30), height: 150, axes: [axis, axis, { ...axis, side: 1, scale: "found", grid: { show: false } }],
      series: [{}, { label: "events/s", stroke: colour("given"), width: 2, fill: `${colour("given")}22` }, { label: "matches/s", stroke: colour("made"), width: 2, scale: "found" }] }, data, this.chart);
  }

  async pause() { const state = await guarded(() => ask("live/pause", { paused: !this.paused })); if (state) { this.paused = state.paused; say(state.paused ? "Paused: what comes waits and is not lost" : "Going on"); } }

  async stop() {
    await guarded(() => ask("live/stop", {}));
    this.running = false;
    this.turn += 1;
    this.hold.disabled = this.end.disabled = this.deploy.disabled = true;
    say("Stopped");
  }

  async plan() {
    const given = { text: this.app.editor.text, name: this.app.editor.name };
    const told = await guarded(() => ask("live/plan", given));
    if (!told) return;
    const apply = async () => { if (await guarded(() => ask("live/apply", given))) { this.change.hidden = true; say("The rules are at work"); } };
    const line = (text) => make("div", { class: text.startsWith("+") ? "plus" : text.startsWith("-") ? "minus" : "" }, text);
    this.change.replaceChildren(make("div", { class: "bar" }, make("h2", {}, told.length ? "This would change" : "Nothing would change"), make("span", { class: "grow" }),
      told.length ? make("button", { id: "live-apply", class: "main", onclick: apply }, "Apply") : "", make("button", { onclick: () => { this.change.hidden = true; } }, "Cancel")),
      ...told.map((each) => make("div", {}, make("b", {}, `${each.kind} ${each.name}`), make("pre", {}, ...each.diff.split("\n").map(line)))));
    this.change.hidden = false;
  }
}
