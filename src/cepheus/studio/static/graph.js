// Small graphs as SVG: dagre finds the places, boxes and edges are drawn here so that keyboards and readers reach them.
import { dagre } from "./vendor/dagre.js";
import { draw } from "./dom.js";

export function layout(nodes, edges, direction = "TB") {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: direction, nodesep: 36, ranksep: 52, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.name, { width: node.width, height: node.height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const size = graph.graph();
  return { places: new Map(nodes.map((node) => [node.name, graph.node(node.name)])), lines: new Map(edges.map(([from, to]) => [`${from}>${to}`, graph.edge(from, to).points])), width: size.width, height: size.height };
}

export function frame(width, height, label) {
  const arrow = draw("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" }, draw("path", { d: "M0 0L10 5L0 10z", class: "arrow" }));
  return draw("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMidYMid meet", role: "group", "aria-label": label }, draw("defs", {}, arrow));
}

export function edge(points) {
  const [first, ...rest] = points;
  const path = `M${first.x} ${first.y}${rest.map((point) => `L${point.x} ${point.y}`).join("")}`;
  return draw("path", { d: path, class: "edge", "marker-end": "url(#arrow)" });
}

export function node(place, width, height, { label, css, chosen }, ...inside) {
  const group = draw("g", { class: `node ${css}`, transform: `translate(${place.x - width / 2} ${place.y - height / 2})`, tabindex: 0, role: "button", "aria-label": label,
    onclick: chosen, onkeydown: (key) => (key.key === "Enter" || key.key === " ") && chosen() });
  group.append(draw("rect", { class: "box", width, height, rx: 8 }), ...inside);
  return group;
}

export function text(x, y, words, css = "", anchor = "start") {
  const made = draw("text", { x, y, class: css, "text-anchor": anchor });
  made.textContent = words;
  return made;
}
