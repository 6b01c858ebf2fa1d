// logs.js - what containers print, as they print it
import { el } from "./draw.js";
import { lines, urlOf } from "./api.js";

const KEPT = 5000;

const containersOf = (pod) => [...(pod.spec.containers || []), ...(pod.spec.initContainers || [])].map((c) => c.name);

// A viewer of the logs of `pods`, which may change: {node, update(pods), show(pod), stop()}.
export const logViewer = () => {
  const out = el("pre", { class: "log", tabindex: "0", "aria-label": "log" });
  const podChoice = el("select", { "aria-label": "Pod", onchange: () => open() });
  const containerChoice = el("select", { "aria-label": "Container", onchange: () => open() });
  const search = el("input", { type: "search", placeholder: "search in the log", oninput: () => redraw() });
  const previous = el("input", { type: "checkbox", onchange: () => open() });
  const tail = el("input", { type: "checkbox", checked: true });
  const count = el("span", { class: "faint" });
  let pods = [], kept = [], control = null, timer = 0, shown = "";

  const redraw = () => {
    const wanted = search.value.toLowerCase();
    const found = wanted ? kept.filter((l) => l.toLowerCase().includes(wanted)) : kept;
    out.textContent = found.join("\n");
    count.textContent = wanted ? `${found.length} of ${kept.length} lines` : `${kept.length} lines`;
    if (tail.checked) out.scrollTop = out.scrollHeight;
  };
  const take = (line) => {
    kept.push(line);
    if (kept.length > KEPT) kept = kept.slice(-KEPT + 500);
    timer = timer || setTimeout(() => { timer = 0; redraw(); }, 100);
  };
  const stop = () => { if (control) control.abort(); control = null; };
  const open = async () => {
    const pod = pods.find((p) => p.metadata.name === podChoice.value);
    stop();
    kept = [];
    redraw();
    if (!pod) return;
    const names = containersOf(pod);
    if (shown !== pod.metadata.uid) containerChoice.replaceChildren(...names.map((n) => el("option", {}, n)));
    shown = pod.metadata.uid;
    const mine = control = new AbortController();
    const params = new URLSearchParams({ container: containerChoice.value || names[0], tailLines: KEPT });
    params.set(previous.checked ? "previous" : "follow", "true");
    try {
      await lines(`${urlOf("Pod", pod.metadata.namespace, pod.metadata.name, "log")}?${params}`, take, mine.signal);
      if (!mine.signal.aborted && !previous.checked) take("— the container has ended —");
    } catch (e) {
      if (!mine.signal.aborted) take(`— ${e.message} —`);
    }
  };
  return {
    node: el("div", {}, el("div", { class: "row" }, podChoice, containerChoice, search,
      el("label", {}, previous, " previous"), el("label", {}, tail, " follow"), count), out),
    update: (now) => {
      const names = now.map((p) => p.metadata.name).sort(), before = podChoice.value;
      pods = now;
      if (names.join() !== [...podChoice.options].map((o) => o.value).join()) {
        podChoice.replaceChildren(...names.map((n) => el("option", {}, n)));
        podChoice.value = names.includes(before) ? before : names[0] || "";
      }
      const pod = pods.find((p) => p.metadata.name === podChoice.value);
      if (pod && pod.metadata.uid !== shown && ((pod.status || {}).containerStatuses || []).some((c) => !c.state.waiting)) open();
    },
    show: (name) => { podChoice.value = name; open(); },
    stop,
  };
};
