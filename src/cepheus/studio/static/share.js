// Sharing: the state of the page in its address, and a report as one file.
import { askText } from "./api.js";
import { at, download, guarded, make, say } from "./dom.js";

const SOON = 250;

// Bytes as characters, in slices: a call takes only so many arguments.
function characters(bytes) {
  const slices = [];
  for (let start = 0; start < bytes.length; start += 8192) slices.push(String.fromCharCode(...bytes.subarray(start, start + 8192)));
  return slices.join("");
}

// The state stands in the address, behind the #: it is never sent to a server, and a link to it restores the page.
export function written(state) {
  return `#${btoa(characters(new TextEncoder().encode(JSON.stringify(state))))}`;
}

export function recalled() {
  try {
    const bytes = Uint8Array.from(atob(location.hash.slice(1)), (each) => each.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return typeof state === "object" && state ? state : {};
  } catch {
    return {};
  }
}

export class Share {
  constructor(app) {
    this.app = app;
    this.timer = 0;
    this.title = make("input", { type: "text", id: "report-title", maxLength: 500 });
    this.notes = make("textarea", { id: "report-notes", rows: 6, maxLength: 100000, placeholder: "What was found, and what follows from it" });
    this.dialog = make("dialog", { id: "report-dialog", "aria-labelledby": "report-heading" },
      make("h2", { id: "report-heading" }, "A report as one HTML file"),
      make("p", { class: "quiet" }, "It has the rules and their drawing, the timeline as it is now, what was found and why, the open question and the last sweep. It holds no script."),
      make("label", { for: "report-title" }, "Title"), this.title, make("label", { for: "report-notes" }, "Findings"), this.notes,
      make("div", { class: "bar" }, make("span", { class: "grow" }), make("button", { onclick: () => this.dialog.close() }, "Cancel"), make("button", { id: "report-save", class: "main", onclick: () => this.save() }, "Save the report")));
    document.body.append(this.dialog);
    at("share").onclick = () => this.copy();
    at("report").onclick = () => this.ask();
  }

  // Browsers refuse addresses that change too often: while one pans, it changes once.
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), SOON);
  }

  now() {
    clearTimeout(this.timer);
    if (!document.body.dataset.ready) return;
    history.replaceState(null, "", written(this.app.state));
  }

  async copy() {
    this.now();
    if (await guarded(async () => { await navigator.clipboard.writeText(location.href); return true; })) say("The link is copied: it opens the page as it is now, in this studio");
  }

  ask() {
    if (!this.app.ran) { say("Run the rules first: a report is about what they found", true); return; }
    this.title.value = `${this.app.editor.name}: ${this.app.events.name}`;
    this.dialog.showModal();
  }

  async save() {
    const { start, end } = this.app.timeline.view;
    const given = { title: this.title.value || "Report", start: Math.floor(start), end: Math.ceil(end), notes: this.notes.value, why: this.app.asked?.why ?? null, why_not: this.app.asked?.not ?? null, keys: this.app.timeline.keys };
    const html = await guarded(() => askText("report", given));
    if (!html) return;
    this.dialog.close();
    download("cepheus-report.html", html, "text/html");
    say("The report is saved");
  }
}
