// Small helpers to build pages. Texts are always set as text, never as HTML: rules and data are shown, not run.
export const at = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for" || name === "list") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.flat().filter((each) => each !== null && each !== undefined));
  return made;
}

export function draw(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}

export async function guarded(action) {
  try {
    return await action();
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
    return undefined;
  }
}

const UNITS = [["d", 86400e6], ["h", 3600e6], ["min", 60e6], ["s", 1e6], ["ms", 1e3], ["µs", 1]];

export function duration(microseconds) {
  const [name, length] = UNITS.find(([, size]) => Math.abs(microseconds) >= size) ?? UNITS.at(-1);
  return `${+(microseconds / length).toPrecision(4)} ${name}`;
}

// A length of time as rules write it, to the microsecond.
export function length(microseconds) {
  const [name, size] = UNITS.slice(1).find(([, each]) => microseconds % each === 0);
  return `${microseconds / size} ${name === "µs" ? "us" : name}`;
}

export function clock(microseconds, span = Infinity) {
  const iso = new Date(Math.floor(microseconds / 1000)).toISOString();
  const micro = String(((Math.round(microseconds) % 1000) + 1000) % 1000).padStart(3, "0");
  if (span > 200 * 86400e6) return iso.slice(0, 10);
  if (span > 2 * 86400e6) return iso.slice(5, 16).replace("T", " ");
  if (span > 600e6) return iso.slice(11, 16);
  if (span > 10e6) return iso.slice(11, 19);
  if (span > 10e3) return iso.slice(11, 23);
  return `${iso.slice(17, 23)}${micro}`;
}

export const number = (value) => (typeof value === "number" ? value.toLocaleString("en") : String(value));

export function shown(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(+value.toPrecision(6)) : String(value);
}

export function eventLine(event, onclick) {
  const values = Object.entries(event.attributes).map(([name, value]) => `${name}=${shown(value)}`).join("  ");
  const unsure = event.probability < 1 ? `  p=${event.probability.toFixed(3)}` : "";
  return make("span", { class: "event", tabIndex: 0, onclick, onkeydown: (key) => key.key === "Enter" && onclick?.(key) },
    make("span", { class: "quiet" }, `${event.when.replace("T", " ").replace("Z", "")} `),
    make("span", { class: event.rule ? "kind made" : "kind" }, event.type), " ",
    make("span", { class: "values" }, values + unsure));
}

export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
