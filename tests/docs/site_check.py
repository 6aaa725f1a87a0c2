"""site_check.py SITE: builds the site and visits each of its pages in headless Chromium.

Fails where a page links to a file or heading that does not exist, shows a picture that does not load, or loads something
from elsewhere, and where the API's start page names something that the API lacks. Exit status 77, and the reason, where mkdocs, doxygen or chromium is missing.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pages

SECONDS = 500  # on a busy machine; alone it takes 40
HARNESS = """<!doctype html><title>check</title><iframe id="page" width="1000" height="800"></iframe><script>
const names = NAMES;
const files = new Set(FILES);
const frame = document.getElementById("page");
const anchors = {};  // page -> its ids
const wanted = [];   // [page, target page, anchor]
const faults = [];
function load(name) {
  return new Promise(done => { frame.onload = done; frame.src = "/" + name; });
}
function inspect(name) {
  const page = frame.contentDocument;
  anchors[name] = new Set([...page.querySelectorAll("[id], a[name]")].flatMap(e => [e.id, e.getAttribute("name")]));
  for (const image of page.images) {
    if (!image.complete || image.naturalWidth === 0) faults.push(`${name}: the picture ${image.src} does not load`);
  }
  for (const each of page.querySelectorAll("script[src], link[rel=stylesheet], img")) {
    const url = new URL(each.src || each.href, frame.contentWindow.location);
    if (url.origin !== location.origin) faults.push(`${name}: loads ${url} from elsewhere`);
  }
  for (const link of page.querySelectorAll("a[href]")) {
    const url = new URL(link.href, frame.contentWindow.location);
    if (url.origin !== location.origin) continue;
    let target = decodeURIComponent(url.pathname).slice(1);
    if (target === "" || target.endsWith("/")) target += "index.html";
    if (!files.has(target)) faults.push(`${name}: links to ${target}, which does not exist`);
    // Doxygen 1.9 links to a list of private classes that it does not write.
    else if (url.hash.length > 1 && url.hash !== "#nested-classes" && target.endsWith(".html")) wanted.push([name, target, decodeURIComponent(url.hash.slice(1))]);
  }
}
async function main() {
  for (const name of names) {
    await load(name);
    try { inspect(name); } catch (error) { faults.push(`${name}: ${error}`); }
  }
  for (const [name, target, anchor] of wanted) {
    if (anchors[target] && !anchors[target].has(anchor)) faults.push(`${name}: links to #${anchor} of ${target}, which has none`);
  }
  await fetch("/__report", {method: "POST", body: JSON.stringify({pages: names.length, links: wanted.length, faults})});
}
main();
</script>"""


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A page that is left while its pictures load breaks their connections."""


class Handler(SimpleHTTPRequestHandler):
    """The site's files, the harness, and its report."""

    def __init__(self, *arguments, site: Path, report: dict, done: threading.Event, **others) -> None:
        self.site, self.report, self.done = site, report, done
        super().__init__(*arguments, directory=str(site), **others)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/__check.html":
            super().do_GET()
            return
        files = sorted(path.relative_to(self.site).as_posix() for path in self.site.rglob("*") if path.is_file())
        names = [name for name in files if name.endswith(".html") and name != "404.html"]
        body = HARNESS.replace("NAMES", json.dumps(names)).replace("FILES", json.dumps(files)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.report.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        self.done.set()


def visit(site: Path, chromium: str) -> dict:
    """What Chromium found."""
    report: dict = {}
    done = threading.Event()
    server = Server(("127.0.0.1", 0), partial(Handler, site=site, report=report, done=done))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                                    f"--user-data-dir={profile}", f"http://127.0.0.1:{server.server_port}/__check.html"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not done.wait(SECONDS):
                report["faults"] = [f"Chromium did not finish in {SECONDS} s"]
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
    return report


def faults_of_start_page(html: str, source: str) -> list[str]:
    """`source`: docs/site/api.dox. Doxygen makes a link of each name that it knows; the public headers are named by paths."""
    names = re.findall(r"dmlref::(?:\w|::)+|(?<=::)DML_\w+", source)
    names += [f"dmlref/{path.name}" for path in (pages.ROOT / "include/dmlref").glob("*.hpp") if path.name != "config.hpp"]
    linked = {name.removesuffix("()") for name in re.findall(r"<a [^>]*>([^<]*)</a>", html)}
    return [f"api/index.html: {name} is no link" for name in dict.fromkeys(names) if name not in linked]


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def main(arguments: list[str]) -> int:
    chromium = find_chromium()
    missing = [name for name in ("mkdocs", "doxygen") if shutil.which(name) is None] + ([] if chromium else ["chromium"])
    if missing:
        print("skipped: needs", ", ".join(missing))
        return 77
    site = Path(arguments[0]).resolve()
    subprocess.run([sys.executable, "-B", str(pages.ROOT / "docs" / "site" / "build"), str(site)], check=True)
    report = visit(site, chromium)
    faults = report["faults"]
    faults += faults_of_start_page((site / "api/index.html").read_text(encoding="utf-8"),
                                   (pages.ROOT / "docs/site/api.dox").read_text(encoding="utf-8"))
    if "slice1_stride_zero" not in (site / "search" / "search_index.json").read_text(encoding="utf-8"):
        faults.append("the search knows no rule")
    print(*faults, f"site: {report.get('pages', 0)} pages, {report.get('links', 0)} links to headings, {len(faults)} faults",
          sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
