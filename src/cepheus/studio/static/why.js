// Why a composite event was found, and why a rule did not fire: what the server tells, as trees and lists.
import { ask } from "./api.js";
import { eventLine, guarded, make, number } from "./dom.js";

const MOST_LISTED = 50;

export function eventsOf(tree) {
  return [tree.event, ...tree.parts.flatMap(eventsOf)];
}

function branch(tree, go) {
  const line = eventLine(tree.event, (click) => { click.preventDefault(); go(tree.event); });
  const by = tree.event.rule ? make("span", { class: "quiet" }, `  by rule ${tree.event.rule}`) : null;
  const inner = [
    ...tree.parts.map((part) => branch(part, go)),
    ...tree.unknown.map((each) => make("div", { class: "leaf quiet" }, `event ${each}, which is not at hand`)),
    ...tree.conditions.map((each) => make("div", { class: "leaf quiet" }, each)),
  ];
  if (!inner.length) return make("div", { class: "leaf" }, line, by);
  return make("details", { open: true }, make("summary", {}, line, by), ...inner);
}

export async function showWhy(panel, row, { go, mark, close }) {
  const told = await guarded(() => ask("why", { row }));
  if (!told) return;
  mark([...eventsOf(told.tree), ...told.counted.flatMap((each) => each.events)]);
  const counted = told.counted.map((each) => make("details", {},
    make("summary", {}, make("code", {}, each.part), make("span", { class: "quiet" }, `  ${each.says}`)),
    ...each.events.map((event) => make("div", { class: "leaf" }, eventLine(event, () => go(event)))),
    each.count > each.events.length ? make("div", { class: "leaf quiet" }, `and ${each.count - each.events.length} more`) : null));
  const factors = told.factors ? [make("h3", {}, "Probability"), make("table", {}, ...told.factors.map((each) => make("tr", {},
    make("td", { class: "number" }, each.probability.toFixed(6)), make("td", {}, `${each.reason}: ${each.text}`),
    make("td", { class: "quiet" }, each.method))))] : [];
  panel.replaceChildren(
    make("div", { class: "bar" }, make("h2", {}, `Why ${told.tree.event.type}?`), make("span", { class: "grow" }), make("button", { onclick: close }, "Close")),
    make("div", { class: "tree" }, branch(told.tree, go)),
    counted.length ? make("h3", {}, "Aggregates, with the events that they counted") : "", make("div", { class: "tree" }, ...counted), ...factors);
}

export async function showWhyNot(panel, question, { go, mark, close, highlight }) {
  const told = await guarded(() => ask("why-not", question));
  if (!told) return;
  const parts = told.parts.map((part) => make("div", { class: `part-finding ${part.outcome}`, onmouseenter: () => part.span && highlight([part.span]), onmouseleave: () => highlight([]) },
    make("code", {}, part.part),
    make("div", {}, { held: "✔ ", failed: "✘ ", undecided: "? " }[part.outcome], part.says),
    ...part.misses.map((miss) => make("div", { class: "leaf" }, make("span", { class: "quiet" }, "near miss "), eventLine(miss.event, () => go(miss.event)),
      make("div", { class: "quiet" }, `   ${miss.lacks.join(" and ")}`))),
    ...(part.misses.length ? [] : part.events.slice(0, 4).map((event) => make("div", { class: "leaf" }, eventLine(event, () => go(event)))))));
  mark(told.parts.flatMap((part) => [...part.events, ...part.misses.map((miss) => miss.event)]).concat(told.fired));
  panel.replaceChildren(
    make("div", { class: "bar" }, make("h2", {}, `Why not ${told.rule}?`), make("span", { class: "grow" }), make("button", { onclick: close }, "Close")),
    make("div", { id: "headline" }, told.headline), told.nearest ? make("div", { class: "nearest" }, told.nearest) : "", ...parts);
}

export function summary(panel, events, ran, choose) {
  if (!ran) {
    panel.replaceChildren(make("div", { class: "empty" }, events
      ? `${number(events.count)} events are loaded. Run the rules to see what they find.` : "Open a file of events, or one of the examples."));
    return;
  }
  const found = Object.entries(ran.counts);
  const list = make("div", { id: "found-list" });
  const listed = { type: null, first: 0 };
  const show = async (more) => {
    if (!more) { listed.first = 0; list.replaceChildren(); }
    const told = await guarded(() => ask("found", { first: listed.first, count: MOST_LISTED, type: listed.type }));
    if (!told) return;
    listed.first += told.events.length;
    list.querySelector("button")?.remove();
    list.append(...told.events.map((event) => make("div", {}, eventLine(event, () => choose(event.row)))),
      ...(listed.first < told.total ? [make("button", { onclick: () => show(true) }, `${number(Math.min(MOST_LISTED, told.total - listed.first))} more of ${number(told.total)}`)] : []));
  };
  const chips = found.map(([name, count]) => {
    const chip = make("button", { class: "chip", "aria-pressed": "false", title: `List only ${name}`, onclick: () => {
      listed.type = listed.type === name ? null : name;
      for (const each of chips) each.setAttribute("aria-pressed", String(each === chip && listed.type === name));
      show(false);
    } }, `${name} ${number(count)}`);
    return chip;
  });
  panel.replaceChildren(
    make("h2", {}, `${number(ran.count)} composite event${ran.count === 1 ? "" : "s"} in ${ran.seconds.toFixed(2)} s`),
    ...ran.warnings.map((text) => make("div", { class: "warned" }, text)),
    make("div", {}, ...chips),
    make("p", { class: "quiet" }, ran.count
      ? "Click a composite event, here or on the timeline, to see why it was found. Click an event or an empty place of the timeline to ask why a rule did not fire there."
      : "Nothing was found. Click a place on the timeline and ask why a rule did not fire there."),
    list);
  if (ran.count) show(false);
}
