// Search where the site is read as files: browsers start no worker from file://, so a frame of this page stands for one. The theme's
// search asks for it by this name (IFrameWorker), and Material's offline plugin fetches none where a script is called so.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      const load = address => new Promise((resolve, reject) => {
        const script = this.inside.document.createElement("script")
        script.src = address
        script.onload = resolve
        script.onerror = () => reject(new Error(`${address} does not load`))
        this.inside.document.body.appendChild(script)
      })
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = (...addresses) => addresses.reduce((before, each) => before.then(() => load(each)), Promise.resolve())
      this.ready = load(url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
  window.Worker = window.IFrameWorker
}
