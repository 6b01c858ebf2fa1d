"""The flight recorder's page and trace, judged by a real browser and by Python's JSON.

Pages of a real run and of runs told by hand (REPORT_STORY names the program that writes them) are opened in headless
Chromium in light and dark. Asked of each: is every pod and every decision shown, does nothing lie on anything else, is the
browser silent (no error, no request), is it well-formed.

    report.py                              the test
    report.py PAGE.html [TRACE.json] …     the same questions about other files, such as those of `pumice run --report`
    report.py --shot DIR PAGE.html …       write pictures of pages, light and dark, to look at
    report.py --picture FILE.png PAGE.html write a picture for a document: of the page from its top to what failed
"""
import html.parser
import json
import os
import subprocess
import sys
import tempfile

from browser import CHROMIUM, HEIGHT, WIDTH, Browser
from harness import Suite, pumice
from runs import job, on, run, same, sh, task

STORY = os.environ.get("REPORT_STORY", os.path.join(os.path.dirname(__file__), "..", "build", "src", "report", "report_story"))
SKIPPED = 77  # meson's word for it


class Nesting(html.parser.HTMLParser):
    """Every element that is opened is closed, in order; every id is there once."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.scripts = [], set(), 0

    def handle_starttag(self, tag, attrs):
        assert tag not in ("link", "img", "iframe", "object"), f"<{tag}> in the page"
        assert tag != "script" or (not attrs and self.open == ["html", "body"]), "a <script> that is not the page's own"
        self.scripts += tag == "script"
        for key, value in attrs:
            assert not key.startswith("on"), f"{key}= in the page"
            assert key not in ("src", "href") or value.startswith("#"), f"{key}={value} in the page"
            if key == "id":
                assert value not in self.ids, f"id {value} twice"
                self.ids.add(value)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


# Texts of the charts that lie on each other or stick out of their picture, and a page wider than the window.
MISFITS = """(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('.chart svg')) {
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, b] of boxes)
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
        bad.push('sticks out: ' + text);
    boxes.sort((a, b) => a[1].top - b[1].top);
    for (let i = 0; i < boxes.length; i++)
      for (let k = i + 1; k < boxes.length && boxes[k][1].top < boxes[i][1].bottom - 2; k++)
        if (boxes[k][1].left < boxes[i][1].right - 1 && boxes[k][1].right > boxes[i][1].left + 1)
          bad.push('on each other: ' + boxes[i][0] + ' / ' + boxes[k][0]);
    for (const r of svg.querySelectorAll('.row rect')) {
      const b = r.getBoundingClientRect();
      if (b.right > frame.right + 1 || b.left < frame.left - 1) bad.push('a bar sticks out');
    }
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) bad.push('wider than the window');
  return bad.slice(0, 10);
})()"""

SHOWN = """(() => ({
  pods: [...document.querySelectorAll('.row')].map(r => r.dataset.pod),
  drawn: [...document.querySelectorAll('.row')].filter(r => r.querySelector('rect')).length,
  decisions: [...document.querySelectorAll('li[data-decision]')].map(d => [+d.dataset.decision, d.innerText]),
  actions: [...document.querySelectorAll('li[data-decision] b')].map(b => b.innerText),
  marks: [...document.querySelectorAll('.mark')].map(m => [+m.dataset.first, +m.dataset.last]),
  failed: [...document.querySelectorAll('[data-failed]')].map(d => d.innerText),
  table: [...document.querySelectorAll('.wide tr')].map(r => [...r.cells].map(c => c.innerText.trim())),
  background: getComputedStyle(document.body).backgroundColor,
  verdict: document.querySelector('.verdict').innerText,
  text: document.body.innerText,
}))()"""


def check_page(browser, path):
    """What holds for the page of any run; returns what it shows."""
    parser = Nesting()
    with open(path, encoding="utf-8") as f:
        parser.feed(f.read())
    assert not parser.open, f"never closed: {parser.open}"
    assert parser.scripts == 1, f"{parser.scripts} scripts"
    looks = {}
    for scheme in ("light", "dark"):
        browser.open(path, scheme)
        shown = browser.ask(SHOWN)
        misfits = browser.ask(MISFITS)
        assert not misfits, f"{scheme}: {misfits}"
        assert not browser.complaints(), f"{scheme}: {browser.complaints()}"
        assert shown["drawn"] == len(shown["pods"]), "a pod has a row and no bar"
        assert len(set(shown["pods"])) == len(shown["pods"]), "a pod has two rows"
        listed = [n for n, _ in shown["decisions"]]
        marked = {n for a, b in shown["marks"] for n in range(a, b + 1)}
        assert set(listed) <= marked, f"decisions without a mark: {set(listed) - marked}"
        looks[scheme] = shown["background"]
    assert looks["light"] != looks["dark"], "light and dark look the same"
    return shown


def check_nested(spans, where):
    """Spans of one thread are inside each other or apart, as the format wants them."""
    stack = []
    for begin, length, name in sorted(spans, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1][0] <= begin:
            stack.pop()
        assert not stack or begin + length <= stack[-1][0], f"{where}: {name} crosses {stack[-1][1]}"
        stack.append((begin + length, name))


def check_trace(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    spans, names = {}, {}
    for e in events:
        assert e["ph"] in "XiCM" and isinstance(e["pid"], int) and isinstance(e["tid"], int), e
        if e["ph"] == "X":
            assert e["dur"] >= 0, e
            spans.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["dur"], e["name"]))
        elif e["ph"] == "M" and e["name"].endswith("_name"):
            names[e["pid"], e["tid"] if e["name"] == "thread_name" else None] = e["args"]["name"]
        elif e["ph"] == "C":
            assert all(isinstance(v, (int, float)) and v >= 0 for v in e["args"].values()), e
        elif e["ph"] == "i":
            assert e["s"] in "gpt" and "ts" in e, e
    for thread, list_ in spans.items():
        assert thread in names, f"thread {thread} has no name"
        assert (thread[0], None) in names, f"process {thread[0]} has no name"
        check_nested(list_, names[thread])
    return events


def story(directory, pods):
    page, trace = (os.path.join(directory, f"{pods}.{x}") for x in ("html", "json"))
    run = subprocess.run([STORY, str(pods), page, trace], capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, f"{STORY} {pods}: {run.stderr[:2000]}"
    return page, trace


def small(browser, directory):
    page, trace = story(directory, 3)
    shown = check_page(browser, page)
    assert shown["pods"] == ["default/train-master-0", "default/train-worker-0", "default/train-worker-1"], shown["pods"]
    decisions = [text for _, text in shown["decisions"]]
    assert len(decisions) == 2, decisions
    for part in ("RestartJob because PodFailed: train-worker-1 exited with 3", "spec.tasks[1].policies[1]", "retry 1 of 3"):
        assert part in decisions[0], (part, decisions[0])
    assert "CompleteJob because TaskCompleted: task master" in decisions[1], decisions[1]
    assert "Completed in 4.20s" in shown["verdict"], shown["verdict"]
    assert len(shown["failed"]) == 1 and "exit code 3" in shown["failed"][0], shown["failed"]
    assert "<script>alert('no & \"never\"')</script>" in shown["failed"][0], shown["failed"]
    assert "step 90%" in shown["failed"][0] and "step 10%" not in shown["failed"][0], shown["failed"]
    for part in ("image \"pytorch:2.1\"", "Readiness probe failed", "Insufficient cpu", "peak"):
        assert part in shown["text"] or part == "peak", part
    events = check_trace(trace)
    instants = [e["name"] for e in events if e["ph"] == "i"]
    assert {"RestartJob", "CompleteJob"} <= set(instants), instants
    spans = [e["name"] for e in events if e["ph"] == "X"]
    for name in ("queued", "admitted", "starting", "running", "ready", "stopping", "init keys", "main", "main (restart 1)",
                 "Restarting"):
        assert name in spans, (name, sorted(set(spans)))


def many(browser, directory, pods):
    page, trace = story(directory, pods)
    shown = check_page(browser, page)
    assert len(shown["pods"]) == pods, len(shown["pods"])
    assert "Failed after" in shown["verdict"], shown["verdict"]
    assert shown["failed"], "no failure is shown"
    if pods > 100:
        assert f"{pods + 3 - 100} more" in shown["text"], "the table is not cut"
        bands = browser.ask("[...document.querySelectorAll('.band title')].map(t => t.textContent)")
        assert bands and all(" × " in b for b in bands) and any("failed" in b for b in bands), bands
        assert not browser.ask("document.querySelector('.row').checkVisibility()"), "the rows are not folded"
    events = check_trace(trace)
    rows = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert len(rows) >= pods + 1, len(rows)
    assert os.path.getsize(page) < 2500 * pods + 200000, os.path.getsize(page)


USED = """(async () => {
  const has = [];
  const say = (what, is) => { if (!is) has.push(what); };
  const key = k => dispatchEvent(new KeyboardEvent('keydown', {key: k}));
  const svg = document.querySelector('.chart.time svg'), wide = svg.getBoundingClientRect().width;
  const time = document.querySelector('td .t'), from = time.textContent;
  key('+');
  say('+ makes the chart wider', Math.abs(svg.getBoundingClientRect().width - 2 * wide) < 3);
  key('0');
  say('0 shows all of it', Math.abs(svg.getBoundingClientRect().width - wide) < 3);
  key('c');
  say('c shows the time of day: ' + time.textContent, /^\\d+:\\d+:\\d+\\.\\d{3}$/.test(time.textContent));
  say('and is in the tooltip always', /^\\d{4}-.*Z$/.test(time.title));
  key('c');
  say('c again', time.textContent === from);
  const find = document.getElementById('find'), outputs = [...document.querySelectorAll('#output details')];
  key('/');
  say('/ goes to the search', document.activeElement === find);
  find.value = 'WORD'; find.dispatchEvent(new Event('input'));
  say('search shows who wrote it', outputs.filter(o => !o.hidden).length === 1 && outputs.find(o => !o.hidden).open);
  find.value = ''; find.dispatchEvent(new Event('input'));
  say('and all again', outputs.every(o => !o.hidden && !o.open));
  for (const row of document.querySelectorAll('.wide tr[id]')) {
    const bar = document.getElementById(row.querySelector('a').hash.slice(1));
    say('a bar for ' + row.id, bar && bar.classList.contains('row'));
    say('and back', bar && document.getElementById(bar.parentNode.getAttribute('href').slice(1)));
  }
  const to = document.querySelector('.wide a[href^="#o-"]');
  location.hash = to.hash;
  await new Promise(done => setTimeout(done, 50));
  say('a link opens the output', document.getElementById(to.hash.slice(1)).open);
  return has;
})()"""


def used(browser, page, word):
    """What the script adds, and the links that need none."""
    browser.open(page, "light")
    missing = browser.ask(USED.replace("WORD", word.upper()))
    assert not missing, missing


PLAIN = """({
  words: [...document.querySelectorAll('h1, h2, .verdict, .headline, td, li, summary')].map(e => e.textContent),
  tools: document.querySelectorAll('button, input').length,
  nowhere: [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1)).filter(id => !document.getElementById(id)),
  wide: Math.max(document.documentElement.scrollWidth, innerWidth) - screen.width,
})"""
PHONE = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True, "screenWidth": 390, "screenHeight": 800}


def plain(browser, page):
    """Without script and on a phone: the same words, links that lead somewhere, nothing wider than the screen, and no tools that do nothing."""
    browser.open(page, "light")
    words = browser.ask(PLAIN)["words"]
    try:
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        browser.call("Emulation.setDeviceMetricsOverride", **PHONE)
        browser.open(page, "dark")
        same(browser.ask(PLAIN), {"words": words, "tools": 0, "nowhere": [], "wide": 0})
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        browser.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)


def plan_page(browser, directory):
    """What a change would buy: a headline, the Change column; in both schemes, without script, on a phone."""
    page = os.path.join(directory, "plan.html")
    r = pumice("plan", os.path.join(os.path.dirname(__file__), "../examples/priorities/job.yaml"), "--nodes", "1=cpu:1,memory:2Gi", "--runtime", "30m",
               "--add-nodes", "2", "-o", "html", "--out", page)
    assert r.returncode == 0, r.stderr
    for scheme in ("light", "dark"):
        browser.open(page, scheme)
        same((browser.ask(MISFITS), browser.complaints()), ([], []))
    same(browser.ask("document.querySelector('.headline').innerText"), "The last job ends at +1h, 1h sooner.")
    rows = browser.ask("[...document.querySelectorAll('table')][0].innerText").splitlines()
    assert "Change" in rows[0] and sum("1h sooner" in row for row in rows) == 2, rows
    plain(browser, page)


FAILS_ONCE = "echo begin; sleep 1; [ $VC_TASK_INDEX$VC_RETRY_COUNT != 10 ] || { echo lost it >&2; exit 3; }; sleep 30"


def can_run():
    """Pods can be run here; where they cannot, `pumice doctor` says so by its exit status, and why."""
    return pumice("doctor").returncode == 0


def real_run(directory):
    """Before the browser starts: a run looks for processes that it left, and the browser has some of its own."""
    page, trace = (os.path.join(directory, f"real.{x}") for x in ("html", "json"))
    boss = sh("[ $VC_RETRY_COUNT = 1 ] || sleep 30; sleep 1")
    r = run(job("real", task("boss", boss, policies=[on("TaskCompleted", "CompleteJob")]),
                task("worker", sh(FAILS_ONCE), replicas=3, policies=[on(3, "RestartJob")],
                     resources={"requests": {"cpu": "10m"}, "limits": {"memory": "48Mi"}}), plugins={"env": ["--extended=true"]}),
            "--report", page, "--trace", trace).done()
    same((len(r.states()), r.decisions()), (4, ["RestartJob", "CompleteJob"]))
    return r, page, trace


def real(browser, r, page, trace):
    """The page and the trace of `pumice run`, compared with the events of the same run."""
    names = sorted(r.states())
    shown = check_page(browser, page)
    same(sorted(shown["pods"]), [f"default/{name}" for name in names])
    same(shown["actions"], r.decisions())
    for part in ("RestartJob because PodFailed: real-worker-1 exited with 3", "retry 1 of 2", "spec.tasks[1].policies[0]"):
        assert part in shown["decisions"][0][1], (part, shown["decisions"])
    assert "Completed in" in shown["verdict"], shown["verdict"]
    assert len(shown["failed"]) == 1, shown["failed"]
    for part in ("real-worker-1", "exit code 3", "begin", "lost it"):
        assert part in shown["failed"][0], (part, shown["failed"])
    rows = [row for row in shown["table"] if row[0].startswith("real-")]
    same(sorted(row[0].split()[0] for row in rows), sorted(2 * names))  # each was there before the restart and after it
    same(sorted(row[1].split(":")[0] for row in rows), ["failed"] + 6 * ["stopped"] + ["succeeded"])
    assert any("of 48" in cell for row in rows for cell in row), "no limit beside the use of memory"
    assert browser.ask("[...document.querySelectorAll('.chart text')].some(t => t.textContent.startsWith('requested 0.03'))"), "no requests"
    used(browser, page, "lost it")
    plain(browser, page)
    assert browser.ask("document.querySelector('svg .why').textContent") == "exit code 3", "no reason beside the red bar"
    events = check_trace(trace)
    same([e["name"] for e in events if e["ph"] == "i" and e["s"] == "p"], r.decisions())
    spans = [e["name"] for e in events if e["ph"] == "X"]
    same([spans.count(name) for name in names], [2] * len(names))
    same(spans.count("running"), 2 * len(names))


def self_test(browser, directory):
    """The questions can be answered with no."""
    path = os.path.join(directory, "bad.html")
    for name, body in (("overlap", "<text x='10' y='20'>abc</text><text x='12' y='22'>def</text>"),
                       ("outside", "<text x='-50' y='20'>abc</text>")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"<!DOCTYPE html><html><body><p class='verdict'></p><div class='chart'><svg width='200' height='40'>{body}"
                    "</svg></div></body></html>")
        try:
            check_page(browser, path)
        except AssertionError:
            continue
        raise AssertionError(f"{name} was not seen")
    try:
        check_nested([(0, 10, "a"), (5, 10, "b")], "x")
    except AssertionError:
        return
    raise AssertionError("crossed spans were not seen")


def shots(browser, directory, pages):
    for page in pages:
        for scheme in ("light", "dark"):
            browser.open(page, scheme)
            name = os.path.splitext(os.path.basename(page))[0]
            browser.shot(os.path.join(directory, f"{name}-{scheme}.png"))


def picture(browser, path, page):
    """Wide enough for all figures in one row, with some more pixels for those who look closely."""
    width = 1200
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1.25, mobile=False)
    browser.open(page, "light")
    next_part = "[...document.querySelectorAll('h2')].find(h => /^(Jobs|Why it|Use of|Pods$)/.test(h.innerText))"
    browser.shot(path, width, browser.ask(f"Math.floor({next_part}.getBoundingClientRect().top)"))


def test(directory):
    suite, made = Suite(), []
    if can_run():
        suite.case("a real run", lambda: made.extend(real_run(directory)))
    else:
        print("skipped: a real run: this machine cannot run pods")
    browser = Browser()
    try:
        suite.case("self test", lambda: self_test(browser, directory))
        suite.case("3 pods", lambda: small(browser, directory))
        suite.case("the page of a plan", lambda: plan_page(browser, directory))
        for pods in (30, 90, 250, 600):
            suite.case(f"{pods} pods", lambda: many(browser, directory, pods))
        if made:
            suite.case("the page of a real run", lambda: real(browser, *made))
    finally:
        browser.close()
    return suite.finish()


def look(args):
    """At files that are there."""
    suite, browser = Suite(), Browser()
    try:
        if args[0] == "--shot":
            shots(browser, args[1], args[2:])
            return 0
        if args[0] == "--picture":
            picture(browser, *args[1:])
            return 0
        for path in args:
            check = check_trace if path.endswith(".json") else lambda p: check_page(browser, p)
            suite.case(path, lambda: check(path))
    finally:
        browser.close()
    return suite.finish()


def main(args):
    if not CHROMIUM:
        print("skipped: no chromium here")
        return SKIPPED
    if args:
        return look(args)
    with tempfile.TemporaryDirectory(prefix="pumice-report-") as directory:
        return test(directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
