// The timeline: lanes on a canvas. The server counts; here at most a few thousand items are drawn per frame.
import { ask } from "./api.js";
import { at, clock, colour, duration, guarded, make, number, say, shown } from "./dom.js";

const LANE = 34;
const AXIS = 26;
const NAMES = 150;
const INKS = ["card", "made", "given", "text", "quiet", "line", "soft", "accent", "good"];

export class Timeline {
  constructor(holder, { chosen, moment, moved, source = (wanted) => ask("timeline", wanted) }) {
    this.holder = holder;
    this.source = source;
    this.chosen = chosen;
    this.moment = moment;
    this.moved = moved;
    this.view = null;
    this.whole = null;
    this.data = null;
    this.keys = {};
    this.hidden = [];
    this.marked = [];
    this.cursor = null;
    this.standing = null; // the event at which the keyboard stands: its lane's name and row
    this.waiting = 0;
    this.labels = [];
    this.frames = [];
    this.asking = null;
    this.again = false;
    this.canvas = make("canvas", { tabIndex: 0, role: "img", "aria-label": "Timeline of events", "aria-describedby": "timeline-keys" });
    holder.append(this.canvas);
    if (!at("timeline-keys")) holder.append(make("span", { id: "timeline-keys", class: "visually-hidden" },
      "Arrows left and right pan, plus and minus zoom, Home shows all. Arrows up and down choose a lane, Shift with left and right goes from event to event, Enter tells why."));
    this.restyle();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  restyle() { this.colours = Object.fromEntries(INKS.map((name) => [name, colour(name)])); this.draw(); }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (wheel) => {
      if (!this.view) return;
      wheel.preventDefault();
      if (wheel.shiftKey || Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) {
        this.pan(((wheel.deltaX || wheel.deltaY) / this.width) * this.span);
      } else this.zoom(Math.exp(wheel.deltaY * 0.0016), this.timeAt(wheel.offsetX));
    }, { passive: false });
    let drag = null;
    canvas.addEventListener("pointerdown", (down) => {
      drag = { x: down.offsetX, view: { ...this.view }, moved: false };
      canvas.setPointerCapture(down.pointerId);
    });
    canvas.addEventListener("pointermove", (move) => {
      if (!drag || !this.view) { this.hover(move); return; }
      const by = move.offsetX - drag.x;
      if (Math.abs(by) > 3) drag.moved = true;
      if (drag.moved) {
        const shift = (-by / this.width) * (drag.view.end - drag.view.start);
        this.show(drag.view.start + shift, drag.view.end + shift);
      }
    });
    canvas.addEventListener("pointerup", (up) => {
      if (drag && !drag.moved) this.click(up);
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => { at("tooltip").hidden = true; });
    canvas.addEventListener("keydown", (key) => {
      if (!this.view) return;
      const middle = (this.view.start + this.view.end) / 2;
      const actions = {
        ArrowLeft: () => this.pan(-this.span / 5), ArrowRight: () => this.pan(this.span / 5), "+": () => this.zoom(0.7, middle),
        "=": () => this.zoom(0.7, middle), "-": () => this.zoom(1.4, middle), Home: () => this.all(),
        ArrowUp: () => this.walk(-1), ArrowDown: () => this.walk(1), Enter: () => this.enter(),
      };
      if (key.shiftKey && (key.key === "ArrowLeft" || key.key === "ArrowRight")) { key.preventDefault(); this.step(key.key === "ArrowLeft"); return; }
      if (actions[key.key]) { key.preventDefault(); actions[key.key](); }
    });
  }

  // The keyboard: a lane is chosen, then one goes from event to event in it.
  walk(by) {
    const lanes = this.lanes.filter((lane) => !lane.what);
    if (!lanes.length) return;
    const at = lanes.findIndex((lane) => lane.name === this.standing?.lane && lane.found === this.standing?.found);
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, at < 0 ? 0 : at + by))];
    this.standing = { lane: lane.name, found: lane.found, row: null };
    say(`Lane ${lane.name}, ${number(lane.count)} events here`);
    this.draw();
  }

  async step(back) {
    if (!this.standing) this.walk(0);
    if (!this.standing) return;
    const { lane, found, row } = this.standing;
    const from = row === null ? (back ? this.view.end : this.view.start) : this.cursor;
    const next = await guarded(() => ask("step", { name: lane, found, keys: this.keys, time: Math.round(from), row, back }));
    if (!next) { say(`No ${back ? "earlier" : "later"} event in lane ${lane}`); return; }
    this.standing = { lane, found, row: next.row };
    this.cursor = next.event.time;
    if (this.cursor < this.view.start || this.cursor > this.view.end) this.show(this.cursor - this.span / 2, this.cursor + this.span / 2);
    say(`${next.event.type} at ${next.event.when}: ${Object.entries(next.event.attributes).map(([name, value]) => `${name} ${shown(value)}`).join(", ")}`);
    this.draw();
  }

  enter() {
    if (this.standing?.row === undefined || this.standing?.row === null) { this.moment((this.view.start + this.view.end) / 2); return; }
    const lane = this.lanes.find((each) => each.name === this.standing.lane && each.found === this.standing.found);
    this.chosen(this.standing.row, this.standing.found, lane);
  }

  get width() { return Math.max(50, this.canvas.clientWidth - NAMES - 8); }
  get span() { return this.view.end - this.view.start; }
  timeAt(x) { return this.view.start + ((x - NAMES) / this.width) * this.span; }
  xAt(time) { return NAMES + ((time - this.view.start) / this.span) * this.width; }

  open(start, end) {
    const margin = Math.max((end - start) * 0.02, 1000);
    this.whole = { start: start - margin, end: end + margin };
    this.all();
  }

  all() { if (this.whole) this.show(this.whole.start, this.whole.end); }

  show(start, end) {
    const least = 20;
    if (end - start < least) { const middle = (start + end) / 2; start = middle - least / 2; end = middle + least / 2; }
    this.view = { start, end };
    this.draw();
    this.refresh();
    this.moved();
  }

  pan(by) { this.show(this.view.start + by, this.view.end + by); }

  zoom(factor, around) {
    const most = (this.whole.end - this.whole.start) * 3;
    const span = Math.min(this.span * factor, most);
    const share = (around - this.view.start) / this.span;
    this.show(around - share * span, around + (1 - share) * span);
  }

  async refresh() {
    if (!this.view) return;
    if (this.asking) { this.again = true; return; }
    const began = performance.now();
    const { start, end } = this.view;
    this.asking = this.source({
      start: Math.floor(start), end: Math.ceil(end), width: Math.floor(this.width), keys: this.keys, hidden: this.hidden,
    });
    const data = await guarded(() => this.asking);
    this.asking = null;
    if (data) {
      this.data = data;
      this.draw();
      this.frames.push(performance.now() - began);
      if (this.frames.length > 500) this.frames.shift();
      this.holder.dataset.frames = this.frames.length;
    }
    if (this.again) { this.again = false; this.refresh(); }
  }

  mark(events) {
    const known = new Map(events.map((event) => [`${event.type}@${event.time}@${event.id}`, event]));
    this.marked = [...known.values()];
    this.draw();
  }

  get lanes() { return this.data?.lanes ?? []; }

  draw() {
    if (this.waiting || !this.view) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const canvas = this.canvas;
    if (!this.holder.clientWidth) return;
    const lanes = this.lanes;
    const height = Math.max(lanes.length * LANE + AXIS + 6, this.holder.clientHeight - 4);
    const scale = window.devicePixelRatio || 1;
    const wide = this.holder.clientWidth;
    if (canvas.width !== wide * scale || canvas.height !== height * scale) {
      canvas.style.height = `${height}px`;
      canvas.width = wide * scale;
      canvas.height = height * scale;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, height);
    pen.font = "12px system-ui, sans-serif";
    this.drawLabels(pen, lanes.length * LANE + AXIS);
    this.drawAxis(pen, height);
    lanes.forEach((lane, place) => this.drawLane(pen, lane, AXIS + place * LANE));
    lanes.forEach((lane, place) => this.drawMarks(pen, lane, AXIS + place * LANE));
    if (this.cursor !== null) {
      const x = this.xAt(this.cursor);
      pen.strokeStyle = this.colours.accent;
      pen.beginPath(); pen.moveTo(x, AXIS - 4); pen.lineTo(x, height); pen.stroke();
    }
    const total = lanes.reduce((sum, lane) => sum + lane.count, 0);
    canvas.setAttribute("aria-label",
      `Timeline: ${number(total)} events in ${lanes.length} lanes, ${lanes.map((lane) => `${lane.name} ${lane.count}`).join(", ")}`);
  }

  drawLabels(pen, height) {
    for (const label of this.labels) {
      const x = Math.max(NAMES, this.xAt(label.start));
      const end = Math.min(NAMES + this.width, this.xAt(label.end));
      if (end < NAMES || x > NAMES + this.width) continue;
      pen.fillStyle = this.colours.soft;
      pen.fillRect(x, AXIS - 4, Math.max(1, end - x), height - AXIS + 4);
    }
  }

  drawAxis(pen, height) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n, n * 1e3]).concat(
      [1, 2, 5, 10, 15, 30].map((n) => n * 1e6), [1, 2, 5, 10, 15, 30].map((n) => n * 60e6), [1, 2, 3, 6, 12].map((n) => n * 3600e6),
      [1, 2, 7, 14, 30, 90, 180, 365, 730, 3650].map((n) => n * 86400e6)).sort((a, b) => a - b);
    const step = steps.find((each) => (each / this.span) * this.width > 78) ?? steps.at(-1);
    pen.strokeStyle = this.colours.line;
    pen.fillStyle = this.colours.quiet;
    pen.textAlign = "left";
    if (step * 12 <= 2 * 86400e6) pen.fillText(clock(this.view.start), 10, 14);
    pen.textAlign = "center";
    for (let time = Math.ceil(this.view.start / step) * step; time < this.view.end; time += step) {
      const x = this.xAt(time);
      pen.globalAlpha = 0.55;
      pen.beginPath(); pen.moveTo(x, AXIS - 6); pen.lineTo(x, height); pen.stroke();
      pen.globalAlpha = 1;
      if (x < NAMES + this.width - 22) pen.fillText(clock(time, step * 12), x, 14);
    }
  }

  drawLane(pen, lane, top) {
    const ink = lane.what ? this.colours.good : lane.found ? this.colours.made : this.colours.given;
    if (this.standing?.lane === lane.name && this.standing.found === lane.found && !lane.what) {
      pen.fillStyle = this.colours.soft;
      pen.fillRect(0, top, NAMES - 4, LANE - 1);
    }
    pen.fillStyle = this.colours.text;
    pen.textAlign = "left";
    const fits = (text) => { let cut = text; while (pen.measureText(cut).width > NAMES - 18 && cut.length > 4) cut = `${cut.slice(0, -2)}…`; return cut; };
    pen.font = lane.found ? "600 12px system-ui, sans-serif" : "12px system-ui, sans-serif";
    pen.fillText(fits(lane.name), 10, top + 15);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.colours.quiet;
    pen.fillText(number(lane.count), 10, top + 28);
    pen.strokeStyle = this.colours.line;
    pen.beginPath(); pen.moveTo(0, top + LANE - 0.5); pen.lineTo(NAMES + this.width + 8, top + LANE - 0.5); pen.stroke();
    const base = top + LANE - 3;
    const tall = LANE - 8;
    if (lane.bins) {
      const most = Math.max(...lane.bins);
      const { start, end } = this.data;
      const step = (end - start) / lane.bins.length;
      pen.fillStyle = ink;
      lane.bins.forEach((count, place) => {
        if (!count) return;
        const x = this.xAt(start + place * step);
        const width = Math.max(1, (step / this.span) * this.width);
        if (x + width < NAMES || x > NAMES + this.width) return;
        const high = Math.max(1.5, (count / most) * tall);
        pen.globalAlpha = 0.35 + 0.65 * (count / most);
        pen.fillRect(Math.max(x, NAMES), base - high, width + 0.3, high);
      });
      pen.globalAlpha = 1;
      return;
    }
    for (const time of lane.times) {
      const x = this.xAt(time);
      if (x < NAMES || x > NAMES + this.width) continue;
      pen.fillStyle = ink;
      pen.globalAlpha = this.marked.length ? 0.4 : 1;
      if (lane.found) {
        pen.beginPath(); pen.arc(x, top + LANE / 2 + 1, 4.5, 0, 7); pen.fill();
      } else pen.fillRect(x - 1, base - tall * 0.75, 2.2, tall * 0.75);
      pen.globalAlpha = 1;
    }
  }

  // The parts of what is explained, also where the lane only counts.
  drawMarks(pen, lane, top) {
    if (lane.what) return;
    const attribute = this.keys[lane.type];
    for (const event of this.marked) {
      if (event.type !== lane.type || Boolean(event.rule) !== lane.found) continue;
      if (lane.key !== null && lane.key !== "others" && attribute && String(event.attributes[attribute] ?? "(none)") !== lane.key && Number(event.attributes[attribute]) !== Number(lane.key)) continue;
      const x = this.xAt(event.time);
      if (x < NAMES || x > NAMES + this.width) continue;
      pen.fillStyle = this.colours.accent;
      pen.strokeStyle = this.colours.card;
      pen.lineWidth = 2;
      pen.beginPath(); pen.arc(x, top + LANE / 2 + 1, 6.5, 0, 7); pen.fill(); pen.stroke();
      pen.lineWidth = 1;
    }
  }

  hit(x, y) {
    const lane = this.lanes[Math.floor((y - AXIS) / LANE)];
    if (!lane || y < AXIS) return null;
    if (lane.times) {
      let best = null;
      lane.times.forEach((time, place) => {
        const off = Math.abs(this.xAt(time) - x);
        if (off < 8 && (!best || off < best.off)) best = { off, time, row: lane.rows[place] };
      });
      return { lane, ...best };
    }
    const step = (this.data.end - this.data.start) / lane.bins.length;
    const place = Math.floor((this.timeAt(x) - this.data.start) / step);
    return { lane, count: lane.bins[place] ?? 0, from: this.data.start + place * step, step };
  }

  async hover(move) {
    const tip = at("tooltip");
    const hit = this.view && this.data && move.offsetX > NAMES ? this.hit(move.offsetX, move.offsetY) : null;
    if (!hit || (hit.row === undefined && !hit.count)) {
      const label = move.offsetX > NAMES && this.view ? this.labels.find((each) => each.start <= this.timeAt(move.offsetX) && this.timeAt(move.offsetX) <= each.end) : null;
      if (label) { this.tip(tip, move, make("b", {}, label.title), make("div", { class: "quiet" }, `staged, for ${label.finds.join(", ") || "no rule"}`)); return; } tip.hidden = true; this.canvas.style.cursor = "grab"; return; }
    this.canvas.style.cursor = "pointer";
    if (hit.row === undefined) { this.tip(tip, move, `${number(hit.count)} ${hit.lane.name} in ${duration(hit.step)} from ${clock(hit.from, 1e6)}`); return; }
    if (hit.lane.what) { this.tip(tip, move, `${hit.lane.name} at ${clock(hit.time, 1e6)}`); return; }
    const key = `${hit.lane.found}-${hit.row}`;
    if (this.told?.key !== key) {
      this.told = { key, event: null };
      this.told = { key, event: await guarded(() => ask("event", { row: hit.row, found: hit.lane.found })) };
    }
    const event = this.told.event;
    if (!event) return;
    const rows = Object.entries(event.attributes).map(([name, value]) => make("div", {}, `${name} = ${shown(value)}`, event.errors[name] ? ` ± ${event.errors[name]}` : ""));
    this.tip(tip, move, make("b", {}, event.type), make("div", { class: "quiet" }, event.when), ...rows,
      event.probability < 1 ? make("div", {}, `probability ${event.probability.toFixed(4)}`) : "");
  }

  tip(tip, move, ...inside) {
    tip.replaceChildren(...inside);
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(move.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(move.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  }

  click(up) {
    if (!this.view || up.offsetX < NAMES) return;
    this.canvas.focus();
    const hit = this.hit(up.offsetX, up.offsetY);
    if (hit?.row !== undefined && !hit.lane.what) { this.standing = { lane: hit.lane.name, found: hit.lane.found, row: hit.row }; this.cursor = hit.time; this.chosen(hit.row, hit.lane.found, hit.lane); return; }
    if (hit?.lane.bins) { this.zoom(0.3, this.timeAt(up.offsetX)); return; }
    this.cursor = this.timeAt(up.offsetX);
    this.draw();
    this.moment(this.cursor);
  }
}
