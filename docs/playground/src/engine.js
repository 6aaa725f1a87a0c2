// engine.js: the command in a worker. A request that takes too long is given up, and its worker with it.

const limit = 10_000; // ms

export class Engine {
  #source;
  #wasm;
  #worker = null;
  #ready = null;
  #waiting = new Map();
  #next = 0;

  /** The worker's text and the WebAssembly module's bytes. */
  constructor(source, wasm) {
    this.#source = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.#wasm = wasm;
    this.#start();
  }

  #start() {
    const worker = new Worker(this.#source);
    this.#worker = worker;
    this.#ready = new Promise((resolve) => {
      worker.onmessage = ({ data }) => {
        if (data.compiled) {
          this.#wasm = data.compiled;
          resolve();
          return;
        }
        this.#waiting.get(data.id)?.(data.result);
        this.#waiting.delete(data.id);
      };
    });
    worker.postMessage({ wasm: this.#wasm });
  }

  #restart() {
    this.#worker.terminate();
    const stopped = { status: 2, out: [], err: [`stopped: it took longer than ${limit / 1000} s`], files: {} };
    for (const answer of this.#waiting.values()) answer(stopped);
    this.#waiting.clear();
    this.#start();
  }

  /** Runs `dmlref ARGS` beside `files`; gives its exit status, its lines, and those of the files `want` that it wrote. */
  async run(args, files, want = []) {
    await this.#ready;
    const id = this.#next++;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#worker.postMessage({ id, args, files, want });
    const timer = setTimeout(() => this.#restart(), limit);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }
}
