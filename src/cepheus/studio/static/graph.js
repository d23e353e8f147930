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

// Places for the nodes of a network, which has no direction: springs along links, everything else pushed apart.
export function spread(nodes, links) {
  const places = nodes.map((_, at) => {
    const turn = (2 * Math.PI * at) / nodes.length;
    return { x: Math.cos(turn), y: Math.sin(turn) };
  });
  const index = new Map(nodes.map((node, at) => [node.name, at]));
  for (let round = 0; round < 300; round += 1) {
    const heat = 0.1 * (1 - round / 300);
    const push = places.map(() => ({ x: 0, y: 0 }));
    places.forEach((one, i) => places.forEach((other, j) => {
      if (i === j) return;
      const x = one.x - other.x;
      const y = one.y - other.y;
      const far = Math.max(x * x + y * y, 0.001);
      push[i].x += (0.25 * x) / far;
      push[i].y += (0.25 * y) / far;
    }));
    for (const [from, to] of links) {
      const [i, j] = [index.get(from), index.get(to)];
      const x = places[j].x - places[i].x;
      const y = places[j].y - places[i].y;
      push[i].x += x; push[i].y += y; push[j].x -= x; push[j].y -= y;
    }
    places.forEach((place, i) => {
      const size = Math.max(Math.hypot(push[i].x, push[i].y), 1e-9);
      const step = Math.min(size, heat);
      place.x += (push[i].x / size) * step;
      place.y += (push[i].y / size) * step;
    });
  }
  const [left, top] = [Math.min(...places.map((each) => each.x)), Math.min(...places.map((each) => each.y))];
  const [right, bottom] = [Math.max(...places.map((each) => each.x)), Math.max(...places.map((each) => each.y))];
  const gap = 190 * Math.sqrt(nodes.length);
  const scale = gap / Math.max(right - left, bottom - top, 1e-9);
  const moved = new Map(nodes.map((node, at) => [node.name, { x: 80 + (places[at].x - left) * scale, y: 50 + (places[at].y - top) * scale }]));
  return { places: moved, width: 160 + (right - left) * scale, height: 100 + (bottom - top) * scale };
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
