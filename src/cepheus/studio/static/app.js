// The page: tabs, the rules on the left, what is done with them on the right, and the state in the address.
import { ask, upload } from "./api.js";
import { at, clock, duration, guarded, make, number, say } from "./dom.js";
import { Editor } from "./editor.js";
import { Timeline } from "./timeline.js";
import { showWhy, showWhyNot, summary } from "./why.js";
import { WhatIf } from "./what-if.js";
import { Belief } from "./belief.js";
import { Live } from "./live.js";
import { Network } from "./network.js";
import { recalled, Share } from "./share.js";

const PAGES = [["timeline", "Timeline"], ["what-if", "What if"], ["belief", "Belief"], ["live", "Live"], ["network", "Network"]];

class App {
  constructor() {
    this.events = null;
    this.ran = null;
    this.rules = [];
    this.documents = [];
    this.page = "timeline";
    this.asked = null;
    this.shown = null; // the example whose events are loaded
    this.language = null;
    this.share = new Share(this);
    this.editor = new Editor(at("editor"), { changed: (found) => this.analysed(found), moved: () => this.drawRules(), run: () => this.run(), format: () => this.format() });
    this.buildTimeline();
    this.pages = {
      "what-if": new WhatIf(at("page-what-if"), this), belief: new Belief(at("page-belief"), this),
      live: new Live(at("page-live"), this), network: new Network(at("page-network"), this),
    };
    this.buildTabs();
    at("run").onclick = () => this.run();
    at("format").onclick = () => this.format();
    at("save").onclick = () => this.save();
    at("theme").onclick = () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    at("example").onchange = (change) => { this.example(change.target.value); change.target.value = ""; };
    at("document").onchange = (change) => this.openDocument(this.documents[change.target.selectedIndex]);
  }

  buildTabs() {
    at("tabs").replaceChildren(...PAGES.map(([id, name]) => make("button", {
      id: `tab-${id}`, role: "tab", "aria-selected": String(id === this.page), "aria-controls": `page-${id}`, onclick: () => this.turn(id),
    }, name)));
    at("tabs").onkeydown = (key) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
      if (!by) return;
      key.preventDefault();
      const place = (PAGES.findIndex(([id]) => id === this.page) + by + PAGES.length) % PAGES.length;
      this.turn(PAGES[place][0]);
      at(`tab-${PAGES[place][0]}`).focus();
    };
  }

  buildTimeline() {
    this.file = make("input", { type: "file", hidden: true, "aria-label": "A file of events", accept: ".jsonl,.csv,.parquet,.arrow,.events,.gz", onchange: () => this.load(this.file.files[0]) });
    this.about = make("span", { id: "about" }, "No events");
    this.keys = make("span", { class: "bar" });
    const holder = make("div", { class: "canvas-holder", id: "timeline" });
    this.panel = make("div", { class: "card details", id: "details", "aria-live": "polite" });
    at("page-timeline").append(
      make("div", { class: "bar" }, make("button", { onclick: () => this.file.click() }, "Open events…"), this.file, this.about, make("span", { class: "grow" }), this.keys,
        make("button", { title: "Zoom in (+)", "aria-label": "Zoom in", onclick: () => this.timeline.zoom(0.5, (this.timeline.view.start + this.timeline.view.end) / 2) }, "+"),
        make("button", { title: "Zoom out (-)", "aria-label": "Zoom out", onclick: () => this.timeline.zoom(2, (this.timeline.view.start + this.timeline.view.end) / 2) }, "−"),
        make("button", { title: "All events (Home)", onclick: () => this.timeline.all() }, "All")),
      holder, this.panel);
    this.timeline = new Timeline(holder, {
      chosen: (row, found, lane) => (found ? this.why(row) : this.askAbout(row, lane)),
      moment: (time) => this.askAt(time),
      moved: () => this.share.soon(),
    });
  }

  async start() {
    const state = await guarded(() => ask("state"));
    if (!state) return;
    this.documents = state.documents;
    const kept = recalled();
    if (typeof kept.name === "string" && typeof kept.text === "string" && !this.documents.some((each) => each.name === kept.name)) this.documents.push({ name: kept.name, text: kept.text, saved: false });
    at("document").replaceChildren(...this.documents.map((each) => make("option", {}, each.name)));
    for (const name of state.examples) at("example").append(make("option", { value: name }, name));
    this.pages.live.offer(state.live);
    this.pages.network.offer(state.scenarios, state.live);
    this.theme(kept.theme ?? localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.openDocument(this.documents.find((each) => each.name === kept.name) ?? this.documents[0], kept.text);
    if (kept.keys) this.timeline.keys = kept.keys;
    if (!state.events && kept.example) { // a link to an example, in a studio that has nothing loaded
      const opened = await guarded(() => ask("example", { name: kept.example }));
      if (opened) { state.events = opened.events; state.ran = null; }
    }
    this.shown = kept.example ?? null;
    if (state.events) this.took(state.events, kept.view);
    for (const [name, page] of Object.entries(this.pages)) if (kept.pages?.[name]) page.restore?.(kept.pages[name]);
    if (state.ran && state.ran.text === this.editor.text) this.found(state.ran);
    this.turn(kept.page ?? "timeline");
    await this.editor.analyse();
    if (state.events && !this.ran && this.rules.length) await this.run();
    if (kept.asked) await this.reask(kept.asked);
    say(state.events ? "Ready" : "Ready: open a file of events, or an example");
    document.body.dataset.ready = "yes";
  }

  openDocument(document_, text) {
    this.editor.name = document_.name;
    this.editor.text = text ?? document_.text;
    at("save").hidden = !document_.saved;
    at("document").selectedIndex = Math.max(0, this.documents.indexOf(document_));
    this.remember();
  }

  // Open a text beside the documents that there are, or in the place of the one of that name.
  open(name, text) {
    const document_ = { name, text, saved: false };
    const known = this.documents.findIndex((each) => each.name === name && !each.saved);
    if (known >= 0) this.documents[known] = document_;
    else { this.documents.push(document_); at("document").append(make("option", {}, name)); }
    this.openDocument(document_);
  }

  analysed(found) {
    this.rules = found.rules;
    this.language = found.language;
    at("language").textContent = { tesla: "TESLA", etalis: "ETALIS", sql: "SQL", python: "Python" }[found.language] ?? "";
    at("findings").replaceChildren(...found.findings.slice(0, 6).map((each) => make("div", { class: each.severity, tabIndex: 0, onclick: () => this.editor.go(each.from ?? 0, each.to ?? 0) },
      each.message, each.hint ? make("span", { class: "hint" }, ` ${each.hint}`) : "")));
    at("run").disabled = !found.rules.length;
    if (found.rules.length) this.drawRules();
    this.share.soon();
    this.pages[this.page]?.changed?.();
  }

  async drawRules() {
    const text = this.editor.text;
    const caret = this.editor.view.state.selection.main.head;
    const here = this.rules.length > 3 ? this.ruleAt(caret) : null;
    const wanted = `${document.documentElement.dataset.theme} ${here?.name ?? ""} ${text}`;
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    const drawn = await ask("draw", { text, rule: here?.name ?? null }).catch(() => null);
    if (!drawn || wanted !== this.drawn) return;
    const image = at("drawing-image");
    const old = image.src;
    const dark = document.documentElement.dataset.theme === "dark";
    const themed = drawn.svg.replace("@media (prefers-color-scheme: dark)", dark ? "@media all" : "@media not all");
    image.src = URL.createObjectURL(new Blob([themed], { type: "image/svg+xml" }));
    image.alt = `Drawing of ${here?.name ?? this.rules.map((rule) => rule.name).join(", ")}: its automaton and its columns`;
    if (old.startsWith("blob:")) URL.revokeObjectURL(old);
  }

  // The rule in which a place stands, or the last one before it.
  ruleAt(place) {
    const before = this.rules.filter((rule) => rule.span && rule.span[0] <= place + 1);
    return before.at(-1) ?? this.rules[0];
  }

  async run() {
    if (!this.events) { say("Open a file of events, or an example, to run the rules over", true); return; }
    say("Running…");
    at("run").disabled = true;
    const ran = await guarded(() => ask("run", { text: this.editor.text, name: this.editor.name }));
    at("run").disabled = false;
    if (!ran) return;
    this.found(ran);
    say(`${number(ran.count)} composite event${ran.count === 1 ? "" : "s"} found in ${number(this.events.count)} events in ${ran.seconds.toFixed(2)} s`);
  }

  found(ran) {
    this.ran = ran;
    this.asked = null;
    this.timeline.marked = [];
    this.summarise();
    this.timeline.refresh();
    this.pages["what-if"].ran();
    document.body.dataset.ran = ran.count;
  }

  summarise() { summary(this.panel, this.events, this.ran, (row) => this.why(row)); this.editor.highlight([]); }

  close() { this.asked = null; this.timeline.cursor = null; this.timeline.mark([]); this.summarise(); this.remember(); }

  go(event) {
    const { start, end } = this.timeline.view;
    const span = end - start;
    if (event.time < start || event.time > end) this.timeline.show(event.time - span / 2, event.time + span / 2);
    this.timeline.cursor = event.time;
    this.timeline.draw();
  }

  get showing() { return { go: (event) => this.go(event), mark: (events) => this.timeline.mark(events), close: () => this.close(), highlight: (spans) => this.editor.highlight(spans) }; }

  async why(row) {
    this.asked = { why: row };
    await showWhy(this.panel, row, this.showing);
    this.remember();
  }

  async whyNot(question) {
    this.asked = { not: question };
    await showWhyNot(this.panel, question, this.showing);
    this.remember();
  }

  reask(asked) { return asked.not ? this.whyNot(asked.not) : this.why(asked.why); }

  askAbout(row, lane) { this.choose(`${lane.type}: why did it not complete`, (rule) => ({ rule, row })); }

  askAt(time) { this.choose(`At ${clock(time, 1e6)}: why did it not fire,`, (rule) => ({ rule, at: Math.round(time) })); }

  choose(title, question) {
    const rules = this.ran ? this.rules.filter((rule) => rule.language === "tesla") : [];
    if (!rules.length) { this.summarise(); return; }
    this.panel.replaceChildren(make("h2", {}, title),
      make("div", { class: "bar" }, ...rules.map((rule) => make("button", { class: "why-not", onclick: () => this.whyNot(question(rule.name)) }, `${rule.name}?`))));
  }

  async format() {
    const found = await guarded(() => ask("format", { text: this.editor.text, name: this.editor.name }));
    if (found) this.editor.text = found.text;
  }

  async save() {
    const { text, name } = this.editor;
    const saved = await guarded(() => ask("save", { text, name }));
    if (!saved) return;
    const kept = this.documents.find((each) => each.saved && each.name === name);
    if (kept) kept.text = text;
    say(`${saved.saved} is saved`);
  }

  async example(name) {
    if (!name) return;
    say(`Opening ${name}…`);
    const opened = await guarded(() => ask("example", { name }));
    if (!opened) return;
    const ending = { Python: "py", ETALIS: "etalis", SQL: "sql" }[name.split(" in ")[1]] ?? "tesla";
    this.open(`${name.split(" in ")[0]}.${ending}`, opened.text);
    this.shown = name;
    this.timeline.keys = {};
    this.took(opened.events);
    await this.editor.analyse();
    await this.run();
  }

  async load(file) {
    if (!file) return;
    say(`Loading ${file.name}…`);
    const loaded = await guarded(() => upload(file));
    if (!loaded) return;
    this.shown = null;
    this.took(loaded);
    say(`${number(loaded.count)} events loaded${loaded.skipped ? `, ${number(loaded.skipped)} bad ones skipped` : ""}`);
    if (this.rules.length) await this.run();
  }

  took(events, view) {
    this.events = events;
    this.ran = null;
    this.timeline.labels = events.labels;
    this.about.textContent = `${events.name} · ${number(events.count)} events · ${duration(events.end - events.start)}`;
    this.keys.replaceChildren(...events.types.filter((type) => type.attributes.length).slice(0, 6).map((type) => make("select", {
      "aria-label": `Lanes of ${type.name}`, title: `Lanes of ${type.name}`, onchange: (change) => this.split(type.name, change.target.value),
    }, make("option", { value: "" }, type.name), ...type.attributes.map((name) => make("option", { value: name, selected: this.timeline.keys[type.name] === name }, `${type.name} by ${name}`)))));
    this.timeline.open(events.start, events.end);
    if (view) this.timeline.show(view[0], view[1]);
    this.summarise();
  }

  split(type, attribute) {
    if (attribute) this.timeline.keys[type] = attribute;
    else delete this.timeline.keys[type];
    this.timeline.refresh();
    this.remember();
  }

  turn(id) {
    this.page = id;
    for (const [name] of PAGES) {
      at(`page-${name}`).hidden = name !== id;
      at(`tab-${name}`).setAttribute("aria-selected", String(name === id));
    }
    this.pages[id]?.shown?.();
    if (id === "timeline") this.timeline.draw();
    this.remember();
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("theme", name);
    this.timeline.restyle();
    for (const page of Object.values(this.pages)) page.restyle?.();
    if (this.rules.length) this.drawRules();
  }

  // What a link to the page holds.
  get state() {
    const view = this.timeline.view;
    const pages = Object.fromEntries(Object.entries(this.pages).filter(([, page]) => page.state).map(([name, page]) => [name, page.state]));
    return { page: this.page, name: this.editor.name, text: this.editor.text, keys: this.timeline.keys, asked: this.asked, example: this.shown, pages, view: view ? [Math.round(view.start), Math.round(view.end)] : null };
  }

  remember() { this.share.now(); }
}

const app = new App();
window.studio = app;
app.start();
