/* The search of a site that is opened from a folder.
 *
 * The search runs in a worker, and browsers start no workers for pages of the file system. There, and only there, this
 * puts a frame that nobody sees in the place of the worker: its script runs in the frame's window and talks to the page
 * by the same messages. The offline plugin of the theme would otherwise fetch such a script from the network.
 */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#frame.title = "search";
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.#run(new URL(each, url))), Promise.resolve());
      this.#ready = this.#run(url);
    }

    postMessage(data) {
      const inside = this.#frame.contentWindow;
      this.#ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.#frame.remove();
    }

    #run(url) {
      const page = this.#frame.contentDocument;
      const script = page.createElement("script");
      script.src = url;
      return new Promise((done, failed) => {
        script.onload = () => done();
        script.onerror = () => failed(new Error(`cannot load ${url}`));
        page.body.append(script);
      });
    }
  };
}
