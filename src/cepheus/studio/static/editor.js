// The editor: colours, mistakes, completion and meanings come from the server, which reads the text as the engine does.
import {
  EditorState, StateEffect, StateField, EditorView, Decoration, keymap, lineNumbers, highlightActiveLine,
  highlightActiveLineGutter, drawSelection, hoverTooltip, defaultKeymap, history, historyKeymap, indentWithTab,
  bracketMatching, indentOnInput, closeBrackets, closeBracketsKeymap, autocompletion, completionKeymap, snippet, lintGutter, setDiagnostics, searchKeymap,
} from "./vendor/codemirror.js";
import { ask } from "./api.js";
import { make } from "./dom.js";

const setColours = StateEffect.define();
const setParts = StateEffect.define();

function decorations(effect, css) {
  return StateField.define({
    create: () => Decoration.none,
    update(known, change) {
      let marks = known.map(change.changes);
      for (const each of change.effects) {
        if (!each.is(effect)) continue;
        const length = change.newDoc.length;
        const pieces = each.value.filter(([from, to]) => from < to && to <= length);
        marks = Decoration.set(pieces.map(([from, to, kind]) => Decoration.mark({ class: css(kind) }).range(from, to)), true);
      }
      return marks;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

export class Editor {
  constructor(parent, { changed, moved, run, format }) {
    this.name = "untitled.tesla";
    this.changed = changed;
    this.timer = 0;
    const nonce = document.querySelector("meta[name=csp-nonce]").content;
    const keys = [
      { key: "Mod-Enter", run: () => { run(); return true; } },
      { key: "Shift-Alt-f", run: () => { format(); return true; } },
    ];
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: "",
        extensions: [
          keymap.of(keys), EditorView.cspNonce.of(nonce), lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(),
          drawSelection(), history(), bracketMatching(), closeBrackets(), indentOnInput(), lintGutter(),
          autocompletion({ override: [(context) => this.complete(context)] }),
          hoverTooltip((view, place) => this.hover(place)),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          decorations(setColours, (kind) => `t-${kind}`), decorations(setParts, () => "t-part"),
          EditorView.contentAttributes.of({ "aria-label": "Rule text", spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) this.wait();
            else if (update.selectionSet) { clearTimeout(this.resting); this.resting = setTimeout(moved, 200); }
          }),
        ],
      }),
    });
  }

  get text() { return this.view.state.doc.toString(); }

  set text(text) {
    if (text === this.text) return;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  replace(from, to, insert) { this.view.dispatch({ changes: { from, to, insert } }); }

  go(from, to = from) {
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.view.focus();
  }

  highlight(spans) { this.view.dispatch({ effects: setParts.of(spans.map(([from, to]) => [from, to, ""])) }); }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.analyse(), 180);
  }

  async analyse() {
    clearTimeout(this.timer);
    const text = this.text;
    const found = await ask("analyse", { text, name: this.name });
    if (text !== this.text) return;
    const marks = found.findings.map((each) => ({
      from: Math.min(each.from ?? 0, text.length),
      to: Math.min(Math.max(each.to ?? 0, (each.from ?? 0) + 1), text.length),
      severity: each.severity,
      message: each.hint ? `${each.message}\n${each.hint}` : each.message,
    }));
    this.view.dispatch(setDiagnostics(this.view.state, marks), { effects: setColours.of(found.colours) });
    this.changed(found);
  }

  async complete(context) {
    const word = context.matchBefore(/[\w$]*/);
    const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
    if (!context.explicit && word.from === word.to && !".$(:".includes(before || " ")) return null;
    const found = await ask("complete", { text: this.text, name: this.name, offset: context.pos });
    const options = found.map((each) => ({
      label: each.label, type: each.type, detail: each.detail, info: each.info || undefined,
      apply: each.snippet ? snippet(each.snippet.replace(/\$(\d)(?!\d|\{)/g, "$${$1}")) : undefined,
    }));
    const dollar = word.text.startsWith("$") && found.some((each) => !each.label.startsWith("$"));
    return { from: dollar ? word.from + 1 : word.from, options, validFor: /^[\w$]*$/ };
  }

  async hover(place) {
    const found = await ask("hover", { text: this.text, name: this.name, offset: place });
    if (!found) return null;
    const text = found.text.replace(/```\w*\n?|\*\*|`/g, "").trim();
    return { pos: found.from, end: found.to, create: () => ({ dom: make("div", { class: "cm-meaning" }, text) }) };
  }
}
