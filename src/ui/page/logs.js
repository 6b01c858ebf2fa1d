// logs.js - the output of containers, as it comes
import { compare, el } from "./draw.js";
import { lines, urlOf } from "./api.js";

const KEPT = 5000;

const containersOf = (pod) => [...(pod.spec.containers || []), ...(pod.spec.initContainers || [])].map((c) => c.name);

// The text as in a terminal, without colours; of an overwritten line, only the last version.
const plain = (line) => line.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\r+$/, "").replace(/^.*\r/, "");

const stateOf = (pod, container) => [...((pod.status || {}).containerStatuses || []), ...((pod.status || {}).initContainerStatuses || [])]
  .find((c) => c.name === container);

// A viewer of the logs of `pods`, which may change: {node, update(pods), show(pod), stop()}. It follows a container across restarts, and
// continues after the connection was lost.
export const logViewer = () => {
  const out = el("pre", { class: "log", tabindex: "0", "aria-label": "log", onscroll: () => { tail.checked = isAtEnd(); } });
  const podChoice = el("select", { "aria-label": "Pod", onchange: () => open() });
  const containerChoice = el("select", { "aria-label": "Container", onchange: () => open() });
  const search = el("input", { type: "search", placeholder: "search in the log", oninput: () => redraw() });
  const previous = el("input", { type: "checkbox", onchange: () => open() });
  const tail = el("input", { type: "checkbox", checked: true, onchange: () => { if (tail.checked) out.scrollTop = out.scrollHeight; } });
  const count = el("span", { class: "faint" });
  let pods = [], kept = [], news = [], control = null, timer = 0, shown = "", followed = "";

  const isAtEnd = () => out.scrollHeight - out.scrollTop - out.clientHeight < 40;
  const wanted = (l) => l.toLowerCase().includes(search.value.toLowerCase());
  const tell = (fresh) => {
    const found = fresh.filter(wanted), isFollowing = tail.checked;
    if (found.length) out.append(`${found.join("\n")}\n`); // appended, so that a selection by the user stays
    count.textContent = search.value ? `${kept.filter(wanted).length} of ${kept.length} lines` : `${kept.length} lines`;
    if (isFollowing) out.scrollTop = out.scrollHeight;
  };
  const redraw = () => { out.replaceChildren(); news = []; tell(kept); };
  const take = (line) => {
    kept.push(plain(line));
    news.push(plain(line));
    timer = timer || setTimeout(() => {
      timer = 0;
      if (kept.length > KEPT) { kept = kept.slice(-KEPT + 500); redraw(); return; }
      tell(news);
      news = [];
    }, 100);
  };
  const stop = () => { if (control) control.abort(); control = null; };
  const chosen = () => pods.find((p) => p.metadata.name === podChoice.value);
  const runOf = (pod) => { const c = stateOf(pod, containerChoice.value); return c && !c.state.waiting ? `${pod.metadata.uid} ${c.name} ${c.restartCount}` : ""; };
  const open = async () => {
    const pod = chosen();
    stop();
    kept = [];
    redraw();
    if (!pod) return;
    const names = containersOf(pod);
    if (shown !== pod.metadata.uid) containerChoice.replaceChildren(...names.map((n) => el("option", {}, n)));
    shown = pod.metadata.uid;
    followed = runOf(pod);
    const mine = control = new AbortController();
    const params = new URLSearchParams({ container: containerChoice.value || names[0], tailLines: KEPT });
    params.set(previous.checked ? "previous" : "follow", "true");
    let isLost = false;
    try {
      await lines(`${urlOf("Pod", pod.metadata.namespace, pod.metadata.name, "log")}?${params}`, take, mine.signal);
    } catch (e) {
      if (!mine.signal.aborted) take(`— ${e.status ? e.message : "the server cannot be reached; retrying"} —`);
      isLost = !e.status;
    }
    if (mine.signal.aborted || previous.checked) return;
    await new Promise((r) => setTimeout(r, isLost ? 2000 : 500)); // by then it is known whether it has ended, or the server has
    if (mine.signal.aborted) return;
    const state = (stateOf(chosen() || pod, containerChoice.value) || {}).state || {};
    if (isLost || state.running) open();
    else if (state.terminated) take("— the container has ended —");
  };
  return {
    node: el("div", {}, el("div", { class: "row" }, podChoice, containerChoice, search,
      el("label", {}, previous, " previous"), el("label", {}, tail, " follow"), count), out),
    update: (now) => {
      const names = now.map((p) => p.metadata.name).sort(compare), before = podChoice.value;
      pods = now;
      if (names.join() !== [...podChoice.options].map((o) => o.value).join()) {
        podChoice.replaceChildren(...names.map((n) => el("option", {}, n)));
        podChoice.value = names.includes(before) ? before : names[0] || "";
      }
      const pod = chosen();
      if (!pod) return;
      const isOther = pod.metadata.uid !== shown, run = runOf(pod);
      if (isOther ? ((pod.status || {}).containerStatuses || []).some((c) => !c.state.waiting) : run && run !== followed && !previous.checked) open();
    },
    show: (name) => { podChoice.value = name; open(); },
    stop,
  };
};
