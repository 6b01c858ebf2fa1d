// gantt.js - the pods of a job as bars over time: waiting for a place, starting, running, how it ended
import { msOf, span, svg, el, podStatus } from "./draw.js";

const ROW = 20, TEXT = 170, WIDTH = 1000, ROWS_MAX = 100;

const conditionMs = (pod, type) => msOf(((pod.status || {}).conditions || []).find((c) => c.type === type && c.status === "True")
  ?.lastTransitionTime);

// When a pod was what: [from, to, class] in order.
const phasesOf = (pod, now) => {
  const statuses = (pod.status || {}).containerStatuses || [];
  const created = msOf(pod.metadata.creationTimestamp), placed = conditionMs(pod, "PodScheduled");
  const begun = Math.min(...statuses.map((c) => msOf((c.state.running || c.state.terminated || {}).startedAt)).filter((t) => t));
  const ends = statuses.map((c) => msOf((c.state.terminated || {}).finishedAt)).filter((t) => t);
  const phase = (pod.status || {}).phase, isOver = phase === "Succeeded" || phase === "Failed";
  const end = isOver && ends.length ? Math.max(...ends) : pod.goneMs || now;
  const bars = [[created, placed || begun, "pending"], [placed, begun, "starting"],
    [begun, end, phase === "Succeeded" ? "good" : phase === "Failed" ? "bad" : "running"]];
  return bars.map(([from, to, what]) => [from, Number.isFinite(to) ? to : end, what])
    .filter(([from, to]) => Number.isFinite(from) && to >= from);
};

const taskOf = (pod) => (pod.metadata.annotations || {})["volcano.sh/task-spec"] || "";

// One row for each pod; for each task when there are too many.
const rowsOf = (pods, now) => {
  const rows = pods.map((pod) => ({ name: pod.metadata.name, bars: phasesOf(pod, now), pod, status: podStatus(pod) }));
  if (rows.length <= ROWS_MAX) return rows;
  const tasks = new Map();
  for (const row of rows) {
    const task = taskOf(row.pod), all = tasks.get(task) || { name: "", bars: [], n: 0, status: "" };
    all.n += 1;
    all.name = `${task || "pods"} (${all.n})`;
    for (const [from, to, what] of row.bars) {
      const old = all.bars.find((b) => b[2] === what);
      if (old) [old[0], old[1]] = [Math.min(old[0], from), Math.max(old[1], to)];
      else all.bars.push([from, to, what]);
    }
    tasks.set(task, all);
  }
  return [...tasks.values()];
};

export const gantt = (pods, open) => {
  if (!pods.length) return el("p", { class: "faint" }, "There are no pods yet.");
  const now = Date.now(), order = (p) => [taskOf(p), Number((p.metadata.labels || {})["volcano.sh/task-index"] || 0)];
  const sorted = [...pods].sort((a, b) => { const [s, i] = order(a), [t, k] = order(b); return s < t ? -1 : s > t ? 1 : i - k; });
  const rows = rowsOf(sorted, now), bars = rows.flatMap((r) => r.bars);
  const from = Math.min(now, ...bars.map((b) => b[0])), to = Math.max(...bars.map((b) => b[1]), from + 1000);
  const x = (ms) => TEXT + ((ms - from) / (to - from)) * (WIDTH - TEXT - 10), height = (rows.length + 1) * ROW + 8;
  const ticks = [0, 1, 2, 3, 4].map((i) => from + ((to - from) * i) / 4);
  const draw = (row, i) => svg("g", { class: row.pod && row.pod.goneMs ? "gone" : null },
    svg("text", { x: TEXT - 8, y: (i + 2) * ROW - 6, "text-anchor": "end" }, row.name.length > 26 ? `…${row.name.slice(-25)}` : row.name),
    row.bars.map(([a, b, what]) => svg("rect", { class: what, x: x(a), y: (i + 1) * ROW + 3, height: ROW - 6, rx: 2,
      width: Math.max(x(b) - x(a), 1.5), onclick: () => row.pod && open(row.pod) },
      svg("title", {}, `${row.name}: ${what === "good" || what === "bad" ? row.status : what} ${span(b - a)}`))));
  return [svg("svg", { class: "gantt", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "pods over time" },
    ticks.map((t) => [svg("line", { x1: x(t), x2: x(t), y1: ROW, y2: height }),
      svg("text", { class: "faint", x: x(t), y: ROW - 6, "text-anchor": "middle" }, span(t - from))]), rows.map(draw)),
  el("p", { class: "legend" }, [["pending", "waits for a place"], ["starting", "starts"], ["running", "runs"],
    ["good", "succeeded"], ["bad", "failed"]].map(([c, t]) => el("span", {}, el("i", { class: c }), t)))];
};
