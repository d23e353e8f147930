// Belief: the Bayesian network of a rule, drawn and edited. Every edit is checked by the server and lands in the rule text.
import { ask } from "./api.js";
import { draw, download, guarded, make, say } from "./dom.js";
import { edge, frame, layout, node, text } from "./graph.js";

const WIDTH = 172;

export class Belief {
  constructor(page, app) {
    this.page = page;
    this.app = app;
    this.network = null;
    this.chosen = null;
    this.season = null; // the period whose table is edited: a number, "new", or null for the table outside all periods
    this.rule = make("select", { id: "belief-rule", "aria-label": "Rule", onchange: () => { this.chosen = this.season = null; this.show(); } });
    this.moment = make("input", { type: "datetime-local", id: "belief-time", step: 1, "aria-label": "Time, in UTC", onchange: () => this.show() });
    this.when = make("label", { class: "quiet", hidden: true }, "at ", this.moment, " UTC");
    this.none = make("div", { class: "empty" }, "Networks belong to rules of TESLA. Write one, or open an example.");
    this.probability = make("b", { id: "belief-probability" });
    this.graph = make("div", { class: "card", id: "belief-graph" });
    this.side = make("div", { class: "card", id: "belief-side" });
    this.file = make("input", { type: "file", accept: ".bif,.xdsl", hidden: true, onchange: () => this.read(this.file.files[0]) });
    page.append(
      make("div", { class: "bar" }, make("label", { class: "quiet" }, "Rule ", this.rule), "Probability when all its parts are observed: ", this.probability, this.when, make("span", { class: "grow" }),
        make("button", { id: "add-node", onclick: () => this.addNode() }, "Add a node"), make("button", { onclick: () => this.file.click() }, "Import…"), this.file,
        make("select", { "aria-label": "Export the network", onchange: (change) => { this.write(change.target.value); change.target.value = ""; } },
          make("option", { value: "" }, "Export…"), make("option", { value: "bif" }, "as BIF"), make("option", { value: "xdsl" }, "as XDSL"))),
      make("div", { class: "split" }, this.graph, this.side), this.none);
  }

  get at() { return this.moment.value && !this.when.hidden ? Date.parse(`${this.moment.value}Z`) * 1000 : null; }
  get state() { return { rule: this.rule.value, chosen: this.chosen, at: this.moment.value }; }
  restore(kept) { this.kept = kept; }

  shown() {
    const rules = this.app.rules.filter((rule) => rule.language === "tesla");
    const kept = this.kept?.rule ?? this.rule.value;
    if (this.kept) { this.chosen = this.kept.chosen; this.moment.value = this.kept.at ?? ""; this.when.hidden = !this.moment.value; this.kept = null; }
    this.none.hidden = rules.length > 0;
    for (const each of this.page.children) if (each !== this.none) each.hidden = !rules.length;
    this.rule.replaceChildren(...rules.map((rule) => make("option", { value: rule.name }, rule.name)));
    if (rules.some((rule) => rule.name === kept)) this.rule.value = kept;
    this.show();
  }

  changed() { if (this.app.editor.text !== this.network?.text) this.shown(); }

  async show() {
    if (!this.rule.value) return;
    const found = await guarded(() => ask("belief", { text: this.app.editor.text, rule: this.rule.value, at: this.at }));
    if (found) this.take(found);
  }

  take(network) {
    this.network = network;
    this.probability.textContent = network.probability.toFixed(6);
    this.when.hidden = !network.scheduled;
    this.when.title = network.changes ? `until ${network.changes}` : "without a time: what holds outside all periods";
    this.chosen = network.nodes.some((each) => each.name === this.chosen) ? this.chosen : network.nodes.find((each) => each.composite).name;
    this.drawGraph();
    this.drawSide();
  }

  async edit(change) {
    const found = await guarded(() => ask("belief/edit", { text: this.app.editor.text, rule: this.rule.value, at: this.at, ...change }));
    if (!found) return false;
    this.take(found);
    this.app.editor.text = found.text;
    this.app.remember();
    say(`${found.rule}: probability ${found.probability.toFixed(6)}`);
    return true;
  }

  drawGraph() {
    const nodes = this.network.nodes.map((each) => ({ ...each, width: WIDTH, height: 30 + each.states.length * 18 }));
    const edges = nodes.flatMap((each) => each.parents.map((parent) => [parent, each.name]));
    const { places, lines, width, height } = layout(nodes, edges);
    const svg = frame(Math.max(width, 300), Math.max(height, 160), `Network of ${this.network.rule}`);
    for (const [from, to] of edges) svg.append(edge(lines.get(`${from}>${to}`)));
    for (const each of nodes) {
      const bars = each.states.flatMap((state, place) => {
        const y = 28 + place * 18;
        const share = each.posterior[state];
        return [draw("rect", { class: "bar-back", x: 76, y, width: 56, height: 11, rx: 2 }), draw("rect", { class: "bar-fill", x: 76, y, width: 56 * share, height: 11, rx: 2 }),
          text(10, y + 10, state.slice(0, 10), "quiet"), text(WIDTH - 6, y + 10, share.toFixed(2), "quiet", "end")];
      });
      const css = [each.composite && "composite", each.observed && "observed", each.name === this.chosen && "chosen"].filter(Boolean).join(" ");
      const label = `${each.name}${each.observed ? `, observed ${each.observed}` : ""}: ${each.states.map((state) => `${state} ${each.posterior[state].toFixed(3)}`).join(", ")}`;
      svg.append(node(places.get(each.name), each.width, each.height, { label, css, chosen: () => { this.chosen = each.name; this.season = null; this.drawGraph(); this.drawSide(); this.app.remember(); } },
        text(10, 18, each.name.length > 20 ? `${each.name.slice(0, 19)}…` : each.name), ...bars));
    }
    this.graph.replaceChildren(svg);
  }

  drawSide() {
    const each = this.network.nodes.find((one) => one.name === this.chosen);
    const about = each.composite ? "what the rule makes" : each.part ? "a part of the rule: every match observes it" : "added";
    const evidence = make("select", { "aria-label": `Evidence on ${each.name}`, disabled: each.part || each.composite || !each.added,
      onchange: (change) => this.edit(change.target.value ? { node: each.name, observe: change.target.value } : { node: each.name, forget: true }) },
      make("option", { value: "" }, "not known"), ...each.states.map((state) => make("option", { value: state, selected: each.observed === state }, `is ${state}`)));
    this.side.replaceChildren(make("div", { class: "bar" }, make("h2", {}, each.name), make("span", { class: "quiet" }, about), make("span", { class: "grow" }), evidence,
      each.added ? make("button", { onclick: () => this.edit({ node: each.name, remove: true }) }, each.part || each.composite ? "As the rule says" : "Remove") : ""),
      ...this.table(each), this.parents(each), make("h3", {}, "As text, in the rules"), make("pre", {}, this.network.network));
  }

  table(each) {
    if (each.numeric) return [make("p", { class: "quiet" }, "A number with a distribution: its bands are shown. Edit it in the rule text.")];
    const season = typeof this.season === "number" ? each.seasons[this.season] : null;
    const rows = (season?.rows ?? each.rows).map((row) => [...row]);
    const start = make("input", { type: "text", size: 9, value: season?.start ?? "07:00", "aria-label": "From" });
    const end = make("input", { type: "text", size: 9, value: season?.end ?? "09:30", "aria-label": "To" });
    const period = () => (this.season === null ? {} : { season: typeof this.season === "number" ? this.season : null, period: [start.value, end.value] });
    const sums = rows.map(() => make("td", { class: "number" }));
    const save = make("button", { id: "save-table", class: "main", onclick: () => this.set(each, rows, period()) }, "Set table");
    const check = () => {
      let right = true;
      rows.forEach((row, place) => {
        const sum = row.reduce((one, other) => one + other, 0);
        const fits = Math.abs(sum - 1) < 1e-9;
        right = right && fits;
        sums[place].textContent = fits ? "Σ 1" : `Σ ${+sum.toPrecision(4)}`;
        sums[place].className = fits ? "number right" : "number wrong";
      });
      save.disabled = !right;
    };
    const cells = rows.map((row, place) => make("tr", {}, ...each.cases[place].map((state) => make("td", {}, state)),
      ...row.map((value, column) => make("td", {}, make("input", { type: "number", min: 0, max: 1, step: "any", value: +value.toPrecision(12), "aria-label": `${each.cases[place].join(", ")} ${each.states[column]}`.trim(),
        oninput: (change) => {
          row[column] = +change.target.value;
          if (row.length === 2) { row[1 - column] = +(1 - row[column]).toPrecision(12); change.target.closest("tr").querySelectorAll("input")[1 - column].value = row[1 - column]; }
          check();
        } }))), sums[place]));
    check();
    return [make("table", { class: "cpt" }, make("tr", {}, ...each.parents.map((parent) => make("th", {}, parent)), ...each.states.map((state) => make("th", {}, state)), make("th", {}, "")), ...cells),
      make("div", { class: "bar" }, save, typeof this.season === "number" ? make("button", { onclick: () => { const place = this.season; this.season = null; this.edit({ node: each.name, season: place }); } }, "Remove the period") : ""),
      this.schedule(each, start, end)];
  }

  // The schedule: which period the table above is for.
  schedule(each, start, end) {
    if (each.composite && !each.parents.length && !each.added) return "";
    const choose = (value) => { this.season = value === "" ? null : value === "new" ? "new" : +value; this.drawSide(); };
    const periods = each.seasons.map((season, place) => make("option", { value: place, selected: this.season === place }, `from ${season.start} to ${season.end}`));
    return make("div", { class: "bar", id: "schedule" }, make("span", { class: "quiet" }, "Schedule: this table holds "),
      make("select", { "aria-label": "Period of the table", onchange: (change) => choose(change.target.value) }, make("option", { value: "", selected: this.season === null }, each.seasons.length ? "at all other times" : "at all times"), ...periods,
        make("option", { value: "new", selected: this.season === "new" }, "in a new period…")),
      ...(this.season === null ? [] : [start, "to", end, make("span", { class: "quiet" }, "07:00, Mon 07:00, 12-01; UTC")]));
  }

  async set(each, rows, period) {
    if (await this.edit({ node: each.name, parents: each.parents, states: each.states, rows, ...period }) && this.season === "new") { this.season = this.network.nodes.find((one) => one.name === each.name).seasons.length - 1; this.drawSide(); }
  }

  parents(each) {
    const others = this.network.nodes.filter((one) => one.name !== each.name);
    const boxes = others.map((one) => {
      const box = make("input", { type: "checkbox", checked: each.parents.includes(one.name), onchange: () => this.link(each, one.name, box) });
      return make("label", { class: "chip" }, box, ` ${one.name}`);
    });
    return make("div", {}, make("h3", {}, "Depends on"), ...boxes);
  }

  async link(each, parent, box) {
    const parents = box.checked ? [...each.parents, parent] : each.parents.filter((name) => name !== parent);
    const before = each.parents;
    const axes = parents.map((name) => this.network.nodes.find((one) => one.name === name).states);
    const cases = axes.reduce((all, states) => all.flatMap((given) => states.map((state) => [...given, state])), [[]]);
    const rows = cases.map((given) => {
      const found = each.cases.findIndex((old) => old.every((state, place) => {
        const at = parents.indexOf(before[place]);
        return at < 0 || given[at] === state;
      }));
      return [...each.rows[Math.max(0, found)]];
    });
    if (!(await this.edit({ node: each.name, parents, states: each.states, rows }))) box.checked = !box.checked;
  }

  addNode() {
    const name = make("input", { type: "text", placeholder: "Name, such as Barbecue", "aria-label": "Name of the node" });
    const states = make("input", { type: "text", value: "YES, NO", "aria-label": "States" });
    const add = () => {
      const listed = states.value.split(",").map((state) => state.trim()).filter(Boolean);
      this.chosen = name.value;
      return this.edit({ node: name.value, parents: [], states: listed, rows: [listed.map((_, place) => (place === listed.length - 1 ? +(1 - (listed.length - 1) * +(1 / listed.length).toFixed(3)).toPrecision(12) : +(1 / listed.length).toFixed(3)))] });
    };
    this.side.replaceChildren(make("h2", {}, "A new node"), make("div", { class: "bar" }, name, states, make("button", { class: "main", onclick: add }, "Add")),
      make("p", { class: "quiet" }, "Something that has a say in what is observed: a barbecue makes smoke, too. Then let a part of the rule depend on it."));
    name.focus();
  }

  async read(file) {
    if (!file) return;
    await this.edit({ file: await file.text(), kind: file.name.endsWith(".xdsl") ? "xdsl" : "bif" });
    this.file.value = "";
  }

  async write(kind) {
    const found = await guarded(() => ask("belief/export", { text: this.app.editor.text, rule: this.rule.value, kind }));
    if (found) download(found.name, found.text, "text/plain");
  }
}
