// Live: rules at work on what is still coming. The page asks twice a second and keeps the last matches only.
import uPlot from "./vendor/uplot.js";
import { ask } from "./api.js";
import { colour, duration, eventLine, guarded, make, number, say } from "./dom.js";

const MOST = 100;
const KINDS = { live: "live run", follow: "file", checkpoint: "stream", node: "node" };
const START = { live: "Watch, or run", follow: "Start", checkpoint: "Watch", node: "Watch" };
const TITLES = {
  live: "Watches the run of another process; if there is none, runs it here with its own sources, sinks and state",
  follow: "Puts the editor's rules to work on the file", checkpoint: "Watches the stream by its checkpoint", node: "Watches the node",
};
const bytes = (size) => (size >= 1e6 ? `${(size / 1e6).toFixed(1)} MB` : size >= 1e3 ? `${(size / 1e3).toFixed(1)} kB` : `${size} B`);

export class Live {
  constructor(page, app) {
    this.page = page;
    this.app = app;
    this.forget();
    this.running = false;
    this.turn = 0; // of all loops that ask, only the latest goes on
    this.options = [];
    this.source = make("select", { id: "live-source", "aria-label": "What to watch", onchange: () => this.named() });
    this.begin = make("button", { id: "live-start", class: "main", onclick: () => this.start() }, "Start");
    this.hold = make("button", { id: "live-pause", disabled: true, onclick: () => this.pause() }, "Pause");
    this.end = make("button", { id: "live-stop", disabled: true, onclick: () => this.stop() }, "Stop");
    this.edit = make("button", { id: "live-edit", disabled: true, title: "Open the rules that are at work in the editor", onclick: () => this.open() }, "Its rules");
    this.deploy = make("button", { id: "live-deploy", disabled: true, title: "Show what would change, then withdraw and deploy", onclick: () => this.plan() }, "Deploy the editor's rules…");
    this.what = make("div", { id: "live-name" });
    this.tiles = make("div", { class: "tiles", id: "live-tiles" });
    this.chart = make("div", { class: "card", id: "live-chart" });
    this.change = make("div", { class: "card diff", hidden: true, id: "live-plan" });
    this.matches = make("div", { id: "live-matches", role: "log", "aria-label": "Matches, the latest first" });
    this.body = [make("div", { class: "bar" }, this.source, this.begin, this.hold, this.end, make("span", { class: "grow" }), this.edit, this.deploy), this.what, this.tiles, this.change, this.chart,
      make("div", { class: "card details" }, make("h2", {}, "Matches, the latest first"), this.matches)];
    this.none = make("div", { class: "empty" }, make("p", {}, "Nothing to watch. Start the studio with one of these:"), make("pre", {},
      "--live live.toml      a live run\n--checkpoint DIR      a stream of Spark\n--node HOST:PORT      a node of a network\n--follow FILE.jsonl   a file that grows"));
    page.append(...this.body, this.none);
    new ResizeObserver(() => this.drawn?.setSize({ width: this.width, height: 150 })).observe(this.chart);
  }

  get width() { return Math.max(280, this.chart.clientWidth - 30); }

  forget() {
    this.since = this.received = this.missed = this.twice = 0;
    this.began = null;
  }

  offer(sources) {
    this.options = sources;
    this.source.replaceChildren(...sources.map(({ kind, source }) => make("option", {}, `${KINDS[kind]} ${source}`)));
    for (const each of this.body) each.hidden = !sources.length || each === this.change || each === this.chart;
    this.none.hidden = sources.length > 0;
    this.named();
  }

  named() {
    const chosen = this.options[this.source.selectedIndex];
    if (!chosen) return;
    this.begin.textContent = START[chosen.kind];
    this.begin.title = TITLES[chosen.kind];
  }

  get state() { return { source: this.source.selectedIndex }; }
  restore(kept) { if (this.options[kept.source]) { this.source.selectedIndex = kept.source; this.named(); } }

  async start() {
    const chosen = this.options[this.source.selectedIndex];
    this.begin.disabled = true;
    const state = await guarded(() => ask("live/start", { text: this.app.editor.text, name: this.app.editor.name, ...chosen }));
    this.begin.disabled = false;
    if (!state) return;
    this.forget();
    this.matches.replaceChildren();
    this.chart.replaceChildren();
    this.drawn = null;
    say(`${state.name}: watching`);
    this.run();
  }

  run() {
    this.running = true;
    this.end.disabled = this.edit.disabled = false;
    this.turn += 1;
    this.tick(this.turn);
  }

  shown() { if (this.options.length && !this.running) ask("live").then((found) => found.running && this.run()).catch(() => {}); }

  async tick(turn) {
    if (!this.running || turn !== this.turn) return;
    const state = await guarded(() => ask("live/state", { since: this.since }).catch((error) => { if (turn === this.turn) throw error; }));
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
    this.hold.disabled = state.can_pause === false;
    this.deploy.disabled = false;
    this.canDeploy = state.can_deploy;
    if (this.began !== null && this.began !== state.began) { // started anew by another page: numbers begin again
      this.forget();
      this.began = state.began;
      this.matches.replaceChildren();
      return;
    }
    this.began = state.began;
    this.receive(state.matches);
    this.what.replaceChildren(make("b", {}, state.name), state.paused ? make("span", { class: "chip unsure" }, "paused") : "", make("span", { class: "quiet" }, state.note ? ` ${state.note}` : ""),
      ...Object.entries(state.links ?? {}).map(([name, link]) => make("span", { class: `chip ${link.connected ? "" : "down"}`, title: link.trouble || `${number(link.passed)} passed` }, `${link.kind} ${name}${link.connected ? "" : " is not connected"}`)));
    this.tiles.replaceChildren(...this.figures(state).map(([name, value, title]) => make("div", { class: "tile", title: title ?? "" }, make("span", { class: "big" }, value), make("small", {}, name))));
    this.tiles.dataset.matched = state.matched;
    for (const name of ["received", "missed", "twice"]) this.tiles.dataset[name] = this[name];
    if (state.error && this.since >= state.matched) { say(state.error, true); this.running = false; this.hold.disabled = this.deploy.disabled = true; }
    this.plot(state.rates);
  }

  figures(state) {
    const last = state.rates.at(-1);
    const whole = last && last[0] >= Math.floor(state.now) ? state.rates.at(-2) : last;
    const rate = whole && state.now - whole[0] < 3 ? whole[1] : 0;
    const told = [["events", state.events], ["events/s", state.kind === "stream" ? last?.[1] ?? null : rate], ["matches", state.kind === "stream" ? Object.values(state.by_type).reduce((one, other) => one + other, 0) : state.matched],
      ["late", state.late], ["bad", state.skipped], [state.kind === "file" ? "bytes waiting" : "waiting", state.waiting], ["micro-batches", state.batches === undefined || state.batches === null ? null : state.batches + 1], ["under way", state.under_way],
      ["last micro-batch", state.batch_seconds ? duration(state.batch_seconds * 1e6) : null], ["state", state.state_bytes ? bytes(state.state_bytes) : null],
      ["time reached", state.reached ? state.reached.slice(0, 19).replace("T", " ") : null, "The latest time up to which events were processed: the watermark"],
      ["not received", this.missed || null, "Matches that came while this page was away"]];
    const shown = told.filter(([, value]) => value !== null && value !== undefined).map(([name, value, title]) => [name, typeof value === "number" ? number(value) : value, title]);
    return [...shown, ...Object.entries(state.by_type).map(([name, count]) => [name, number(count), "Composite events of this type"]), ["rules at work", state.rules.join(", ") || "none"]];
  }

  plot(rates) {
    this.chart.hidden = rates.length < 2;
    if (rates.length < 2) return;
    const data = [rates.map((each) => each[0]), rates.map((each) => each[1]), rates.map((each) => each[2])];
    if (this.drawn) { this.drawn.setData(data); return; }
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    this.drawn = new uPlot({ width: this.width, height: 150, axes: [axis, axis, { ...axis, side: 1, scale: "found", grid: { show: false } }],
      series: [{}, { label: "events/s", stroke: colour("given"), width: 2, fill: `${colour("given")}22` }, { label: "matches", stroke: colour("made"), width: 2, scale: "found" }] }, data, this.chart);
    this.chart.setAttribute("role", "img");
    this.chart.setAttribute("aria-label", "Events and matches of the last five minutes");
  }

  restyle() { this.drawn?.destroy(); this.drawn = null; this.chart.replaceChildren(); }

  async pause() {
    const state = await guarded(() => ask("live/pause", { paused: !this.paused }));
    if (!state) return;
    this.tell({ ...state, matches: [] });
    say(state.paused ? "Paused: what comes waits and is not lost" : "Going on");
  }

  async stop() {
    this.running = false;
    this.turn += 1; // what is still asked may find nothing that runs
    await guarded(() => ask("live/stop", {}));
    this.hold.disabled = this.end.disabled = this.deploy.disabled = this.edit.disabled = true;
    say("Stopped watching; what other processes run goes on");
  }

  async open() {
    const texts = await guarded(() => ask("live/rules", {}));
    if (texts) this.app.open("rules at work", `${Object.values(texts).join("\n\n")}\n`);
  }

  async plan() {
    const given = { text: this.app.editor.text, name: this.app.editor.name };
    const told = await guarded(() => ask("live/plan", given));
    if (!told) return;
    const apply = async () => { if (await guarded(() => ask("live/apply", given))) { this.change.hidden = true; say("The rules are at work"); } };
    const line = (text) => make("div", { class: text.startsWith("+") ? "plus" : text.startsWith("-") ? "minus" : "" }, text);
    const can = told.length > 0 && this.canDeploy;
    this.change.replaceChildren(make("div", { class: "bar" }, make("h2", {}, told.length ? "This would change" : "Nothing would change"), make("span", { class: "grow" }),
      can ? make("button", { id: "live-apply", class: "main", onclick: apply }, "Apply") : "", make("button", { onclick: () => { this.change.hidden = true; } }, can ? "Cancel" : "Close")),
      this.canDeploy ? "" : make("p", { class: "quiet" }, "A stream of Spark takes other rules when it is started: stop it, and start it with these rules on the same checkpoint. Rules that are the same keep their state."),
      ...told.map((each) => make("div", {}, make("b", {}, `${each.kind} ${each.name}`), make("pre", {}, ...each.diff.split("\n").filter((text) => !text.startsWith("@@")).map(line)))));
    this.change.hidden = false;
    this.change.scrollIntoView({ block: "nearest" });
  }
}
