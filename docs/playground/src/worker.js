// worker.js: runs the command, compiled to WebAssembly. Emscripten's dmlrefCommand() stands before this text; each run of
// the command gets an instance of its own, so that nothing is left of the run before.
let compiled; // WebAssembly.Module

async function run({ args, files, want }) {
  const out = [];
  const err = [];
  const command = await dmlrefCommand({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then(done, (error) => err.push(String(error)));
      return {};
    },
    print: (line) => out.push(line),
    printErr: (line) => err.push(line),
  });
  for (const [name, content] of Object.entries(files)) {
    if (name.includes('/')) command.FS.mkdirTree(name.slice(0, name.lastIndexOf('/')));
    command.FS.writeFile(name, content);
  }
  let status = 2;
  try {
    status = command.callMain(args);
  } catch (error) {
    err.push(`dmlref: stopped: ${error}`);
  }
  const written = {};
  for (const name of want ?? []) {
    try {
      written[name] = command.FS.readFile(name);
    } catch {
      // The command did not come that far.
    }
  }
  return { status, out, err, files: written };
}

self.onmessage = async ({ data }) => {
  if (data.wasm) {
    compiled = data.wasm instanceof WebAssembly.Module ? data.wasm : await WebAssembly.compile(data.wasm);
    self.postMessage({ compiled });
  } else {
    const result = await run(data).catch((error) => ({ status: 2, out: [], err: [`dmlref: stopped: ${error}`], files: {} }));
    self.postMessage({ id: data.id, result });
  }
};
