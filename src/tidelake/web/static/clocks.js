// The plane of both times: two handles that can be dragged, and the answer for the point.
import { el, iso, niceStep, parse, stamp, timeTicks } from "./axes.js";
import { later, part, problem, put, root } from "./page.js";

const box = document.getElementById("clocks");
const plot = box.querySelector("[data-plot]");
const asked = box.querySelector("[data-asked]");
const answerBox = box.querySelector("[data-answer-box]");
const HIGH = 440, LEFT = 112, RIGHT = 26, TOP = 30, BOTTOM = 62;
const fields = asked.elements;
const now = { asOf: null, known: null, from: null, scale: box.dataset.scale };
let data = { marks: [], cells: [] }, view = null;

function domain() {
  const events = data.cells.flatMap((cell) => [cell[0], cell[1]]);
  for (const belief of data.beliefs ?? []) events.push(belief.valid_from, ...(belief.valid_to === null ? [] : [belief.valid_to]));
  const known = events.filter((each) => Number.isFinite(each));
  const first = known.reduce((a, b) => Math.min(a, b), Infinity), last = known.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(first)) return [Date.now() - 864e5, Date.now()];
  const pad = Math.max((last - first) * 0.04, 1000);
  return [first - pad, last + pad];
}

function chooseScale([first, last]) {
  if (now.scale === "time" || now.scale === "commits") return now.scale;
  const marks = data.marks;
  return marks.length > 1 && marks.at(-1)[1] - marks[0][1] > (last - first) * 0.05 ? "time" : "commits";
}

function makeView() {
  const wide = Math.max(plot.clientWidth, 320), span = domain(), scale = chooseScale(span), marks = data.marks;
  const right = wide - RIGHT, bottom = HIGH - BOTTOM, high = bottom - TOP;
  const x = (ms) => LEFT + ((ms - span[0]) / (span[1] - span[0])) * (right - LEFT);
  const at = (px) => span[0] + ((px - LEFT) / (right - LEFT)) * (span[1] - span[0]);
  const ms0 = marks[0]?.[1] ?? 0, ms1 = marks.at(-1)?.[1] ?? 1;
  // Where a mark lies: by commit each has a band of its own, and the line is at its upper edge.
  const level = (place) => (scale === "commits" ? (place + 1) / marks.length : (marks[Math.round(place)][1] - ms0) / (ms1 - ms0 || 1));
  const yOf = (share) => bottom - 8 - share * (high - 16);
  const placeOf = (id) => {
    let low = 0, top = marks.length - 1;
    while (low < top) { const mid = (low + top + 1) >> 1; if (marks[mid][0] <= id) low = mid; else top = mid - 1; }
    const next = marks[low + 1];
    return next && id > marks[low][0] ? low + (id - marks[low][0]) / (next[0] - marks[low][0]) : low;
  };
  const shareOf = (id) => {
    const place = placeOf(id), low = Math.floor(place), rest = place - low;
    return rest ? level(low) + (level(low + 1) - level(low)) * rest : level(low);
  };
  const placeOfTime = (ms) => {
    const found = marks.findIndex((mark) => mark[1] >= ms - 0.5);
    return found < 0 ? marks.length - 1 : found;
  };
  const markAt = (px) => {
    let best = 0;
    marks.forEach((_, place) => { if (Math.abs(yOf(level(place)) - px) < Math.abs(yOf(level(best)) - px)) best = place; });
    return best;
  };
  return { wide, right, bottom, span, scale, x, at, yOf, level, shareOf, placeOf, placeOfTime, markAt, step: niceStep(span[1] - span[0]) };
}

function axes(svg) {
  const { right, bottom, x, span, yOf, level, scale } = view;
  for (const [ms, text] of timeTicks(span[0], span[1], (right - LEFT) / 110)) {
    svg.append(el("line", { class: "rule", x1: x(ms), x2: x(ms), y1: TOP, y2: bottom }), el("text", { x: x(ms), y: bottom + 18, "text-anchor": "middle" }, text));
  }
  const marks = data.marks, every = Math.max(1, Math.ceil(marks.length / 9));
  let above = Infinity;
  marks.forEach(([id, ms], place) => {
    const y = yOf(level(place)), last = place === marks.length - 1;
    if ((!last && (scale === "commits" ? place % every : above - y < 32)) || (!last && y - yOf(1) < 24)) return;
    above = y;
    svg.append(el("line", { class: "rule", x1: LEFT, x2: right, y1: y, y2: y }), el("text", { class: "level", x: LEFT - 14, y: y + 4, "text-anchor": "end" }, scale === "commits" ? String(id) : stamp(ms, false).slice(5)));
  });
  if (scale === "time") {
    // Where both clocks show the same: below it lies what came late, above what was known before.
    const from = Math.max(span[0], marks[0][1]), to = Math.min(span[1], marks.at(-1)[1]);
    const share = (ms) => (ms - marks[0][1]) / (marks.at(-1)[1] - marks[0][1] || 1);
    if (to > from) svg.append(el("line", { class: "now", x1: x(from), y1: yOf(share(from)), x2: x(to), y2: yOf(share(to)) }));
  }
  svg.append(
    el("line", { class: "axis", x1: LEFT, x2: right, y1: bottom, y2: bottom }), el("line", { class: "axis", x1: LEFT, x2: LEFT, y1: TOP - 8, y2: bottom }),
    el("text", { class: "axis-name e", x: right, y: HIGH - 4, "text-anchor": "end" }, "event time: when it happened →"),
    el("text", { class: "axis-name k", x: 0, y: 12 }, scale === "commits" ? "↑ system time: with which commit the lake learned it" : "↑ system time: when the lake learned it"),
  );
}

function cells(svg) {
  const { x, yOf, shareOf, scale, level } = view, most = data.cells.reduce((a, cell) => Math.max(a, cell[4]), 1);
  const band = scale === "commits" ? yOf(0) - yOf(level(0)) : 0;
  const times = new Map(data.marks);
  const drawn = data.cells.map((cell) => {
    const [first, last, from, to, rows, late] = cell;
    const left = x(first), width = Math.max(x(last) - left, 7);
    const up = yOf(shareOf(to)), down = scale === "commits" ? yOf(shareOf(from)) + band : yOf(shareOf(from));
    const height = Math.max(down - up - (band > 6 ? 2 : 0), scale === "commits" ? 4 : 8);
    const y = scale === "commits" ? up + (band > 6 ? 1 : 0) : down - (down - up) / 2 - height / 2;
    const strength = 0.55 + 0.45 * (Math.log1p(rows) / Math.log1p(most));
    const rect = el("rect", { class: late ? "cell late" : "cell", x: left - (width === 7 ? 3.5 : 0), y, width, height, rx: Math.min(2, height / 2), "fill-opacity": strength.toFixed(2) });
    const when = times.has(from) ? `, ${stamp(times.get(from))}` : "";
    rect.append(el("title", {}, `${rows.toLocaleString("en")} fact${rows === 1 ? "" : "s"}, ${stamp(first)}${last > first ? ` to ${stamp(last)}` : ""}; came with snapshot ${from}${to > from ? ` to ${to}` : when}${late ? ", late" : ""}`));
    svg.append(rect);
    return { rect, first, from };
  });
  return () => drawn.forEach(({ rect, first, from }) => rect.classList.toggle("in", first <= now.asOf && from <= now.known));
}

function beliefs(svg) {
  const { x, yOf, placeOfTime, scale, right, span } = view, marks = data.marks, names = el("g");
  const share = (ms) => {
    if (ms === null) return 1.04;
    if (scale === "commits") return placeOfTime(ms) / marks.length;
    return Math.min(Math.max((ms - marks[0][1]) / (marks.at(-1)[1] - marks[0][1] || 1), 0), 1.04);
  };
  // The same answer has the same tone, wherever it comes back.
  const told_ = (belief) => Object.entries(belief.row).filter(([name, value]) => value !== null && !data.hide.includes(name));
  const answers = [...new Set(data.beliefs.map((belief) => JSON.stringify(told_(belief))))];
  const drawn = data.beliefs.map((belief) => {
    const left = x(Math.max(belief.valid_from, span[0])), to = belief.valid_to === null ? right : x(belief.valid_to);
    const down = yOf(share(belief.known_from)), up = yOf(share(belief.known_to));
    const tone = answers.indexOf(JSON.stringify(told_(belief))) % 6;
    const rect = el("rect", { class: `belief tone-${tone}`, x: left, y: up, width: Math.max(to - left, 3), height: Math.max(down - up, 3), rx: 3 });
    const told = Object.entries(belief.row).filter(([, value]) => value !== null);
    rect.append(el("title", {}, told.map(([name, value]) => `${name} = ${value}`).join("\n")));
    svg.append(rect);
    const shown = told_(belief).slice(0, 2), letters = Math.floor((Math.max(to - left, 3) - 12) / 6.6);
    const long = shown.map(([name, value]) => `${name} ${value}`).join(", "), brief = shown.map(([, value]) => value).join(", ");
    const words = long.length <= letters ? long : brief.length <= letters ? brief : `${brief.slice(0, letters - 1)}…`;
    if (letters > 2 && down - up > 15) names.append(el("text", { class: "told", x: left + 8, y: Math.max(up, TOP) + 17 }, words));
    return { rect, belief };
  });
  const frame = el("rect", { class: "belief-now", rx: 3 });
  svg.append(frame, names);
  return () => {
    frame.style.display = "none";
    const time = data.marks[Math.round(view.placeOf(now.known))][1];
    for (const { rect, belief: each } of drawn) {
      const holds = each.valid_from <= now.asOf && (each.valid_to === null || now.asOf < each.valid_to) && each.known_from <= time + 0.5 && (each.known_to === null || time + 0.5 < each.known_to);
      rect.classList.toggle("in", holds);
      if (!holds) continue;
      for (const side of ["x", "y", "width", "height"]) frame.setAttribute(side, rect.getAttribute(side));
      frame.style.display = "";
    }
  };
}

function grip(kind, label, given) {
  const pad = el("circle", { class: "pad", r: 18 }), knob = el("circle", { class: "knob", r: kind === "both" ? 7 : 9 });
  const made = el("g", { class: `grip ${kind}`, tabindex: kind === "both" ? -1 : 0, role: kind === "both" ? "presentation" : "slider", "aria-label": label, ...given }, pad, knob);
  made.addEventListener("pointerdown", (event) => { event.preventDefault(); made.setPointerCapture(event.pointerId); made.focus?.(); });
  made.addEventListener("pointermove", (event) => { if (made.hasPointerCapture(event.pointerId)) drag(kind, event); });
  return made;
}

function bubble(kind) {
  const text = el("text", { "text-anchor": "middle", y: 4 }), back = el("rect", { rx: 5, height: 22, y: -11 });
  const made = el("g", { class: `bubble ${kind}`, "pointer-events": "none" }, back, text);
  made.say = (words) => { text.textContent = words; const wide = words.length * 7 + 16; back.setAttribute("width", wide); back.setAttribute("x", -wide / 2); made.wide = wide; };
  return made;
}

let paint = () => {};
function draw() {
  view = makeView();
  const { right, bottom, x, yOf, shareOf } = view;
  const svg = el("svg", { viewBox: `0 0 ${view.wide} ${HIGH}`, role: "group", "aria-label": "Event time across, system time up" });
  const seen = el("rect", { class: "seen" });
  svg.append(seen);
  axes(svg);
  const light = data.beliefs ? beliefs(svg) : cells(svg);
  const ghostE = el("line", { class: "ghost", y1: TOP - 8, y2: bottom }), ghostK = el("line", { class: "ghost", x1: LEFT, x2: right }), ghost = el("circle", { class: "ghost-point", r: 6 });
  const hairE = el("line", { class: "hair e", y1: TOP - 8, y2: bottom }), hairK = el("line", { class: "hair k", x1: LEFT, x2: right });
  const gripE = grip("e", "as of, event time", { "aria-orientation": "horizontal" }), gripK = grip("k", "known at, system time", { "aria-orientation": "vertical" }), both = grip("both", "both clocks", {});
  const sayE = bubble("e"), sayK = bubble("k");
  svg.append(ghostE, ghostK, ghost, hairE, hairK, both, gripE, gripK, sayE, sayK);
  gripE.addEventListener("keydown", (event) => keys(event, "e"));
  gripK.addEventListener("keydown", (event) => keys(event, "k"));
  paint = () => {
    const px = x(now.asOf), py = yOf(shareOf(now.known));
    set(seen, { x: LEFT, y: py, width: Math.max(px - LEFT, 0), height: Math.max(bottom - py, 0) });
    set(hairE, { x1: px, x2: px }); set(hairK, { y1: py, y2: py });
    gripE.setAttribute("transform", `translate(${px} ${bottom})`); gripK.setAttribute("transform", `translate(${LEFT} ${py})`); both.setAttribute("transform", `translate(${px} ${py})`);
    const mark = data.marks[Math.round(view.placeOf(now.known))] ?? [now.known, null];
    sayE.say(stamp(now.asOf)); sayK.say(view.scale === "commits" ? `snapshot ${now.known}` : `${stamp(mark[1], false).slice(5)} · ${now.known}`);
    sayE.setAttribute("transform", `translate(${Math.min(Math.max(px, LEFT + sayE.wide / 2 - 20), right - sayE.wide / 2 + 14)} ${bottom + 30})`);
    sayK.setAttribute("transform", `translate(${Math.max(LEFT - 16 - sayK.wide / 2, sayK.wide / 2)} ${py})`);
    set(gripE, { "aria-valuemin": Math.round(view.span[0]), "aria-valuemax": Math.round(view.span[1]), "aria-valuenow": Math.round(now.asOf), "aria-valuetext": stamp(now.asOf) });
    set(gripK, { "aria-valuemin": data.marks[0][0], "aria-valuemax": data.marks.at(-1)[0], "aria-valuenow": now.known, "aria-valuetext": `snapshot ${now.known}, ${mark[1] === null ? "" : stamp(mark[1])}` });
    svg.querySelectorAll(".level").forEach((label) => { label.style.opacity = Math.abs(label.getAttribute("y") - 4 - py) < 15 ? 0 : 1; });
    for (const each of [ghostE, ghostK, ghost]) each.style.display = now.from ? "" : "none";
    if (now.from) {
      const gx = x(now.from.asOf), gy = yOf(shareOf(now.from.known));
      set(ghostE, { x1: gx, x2: gx }); set(ghostK, { y1: gy, y2: gy }); set(ghost, { cx: gx, cy: gy });
    }
    light();
  };
  svg.addEventListener("pointerdown", (event) => { if (!event.target.closest(".grip")) drag("both", event); });
  const focused = document.activeElement?.closest?.(".grip")?.classList.contains("e") ? gripE : document.activeElement?.closest?.(".grip") ? gripK : null;
  plot.replaceChildren(svg);
  focused?.focus();
  paint();
}

function set(node, given) { for (const [key, value] of Object.entries(given)) node.setAttribute(key, value); }

function drag(kind, event) {
  const frame = plot.firstChild.getBoundingClientRect(), px = event.clientX - frame.left, py = event.clientY - frame.top;
  if (kind !== "k") move(Math.round(Math.min(Math.max(view.at(px), view.span[0]), view.span[1]) / view.step) * view.step, null);
  if (kind !== "e") move(null, data.marks[view.markAt(py)][0]);
}

function keys(event, kind) {
  const much = event.shiftKey ? 10 : 1, [first, last] = view.span;
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
  if (!(event.key in steps) && event.key !== "Home" && event.key !== "End") return;
  event.preventDefault();
  if (kind === "e") {
    const step = Math.max(Math.round((last - first) / 100 / view.step), 1) * view.step;
    const wanted = event.key === "Home" ? first : event.key === "End" ? last : now.asOf + steps[event.key] * much * step;
    move(Math.min(Math.max(wanted, first), last), null);
  } else {
    const place = Math.round(view.placeOf(now.known)), most = data.marks.length - 1;
    const wanted = event.key === "Home" ? 0 : event.key === "End" ? most : place + steps[event.key] * much;
    move(null, data.marks[Math.min(Math.max(wanted, 0), most)][0]);
  }
}

let framed = 0;
function move(asOf, known) {
  if (asOf !== null) { now.asOf = asOf; fields.as_of.value = iso(asOf); }
  if (known !== null) { now.known = known; fields.known_at.value = String(known); }
  cancelAnimationFrame(framed);
  framed = requestAnimationFrame(paint);
  changed();
}

function address() {
  const found = new URLSearchParams(location.search);
  const given = { as_of: fields.as_of.value, known_at: fields.known_at.value, key: fields.key.value, where: fields.where.value, from_as_of: now.from ? iso(now.from.asOf) : "", from_known_at: now.from ? String(now.from.known) : "", scale: now.scale };
  if (!found.has("table")) found.set("table", new URL(box.dataset.plane, location.href).searchParams.get("table"));
  for (const [name, value] of Object.entries(given)) if (value) found.set(name, value); else found.delete(name);
  return found;
}

let flying = null;
async function ask() {
  flying?.abort();
  flying = new AbortController();
  const found = address();
  history.replaceState(null, "", `${location.pathname}?${found}`);
  if (!found.get("as_of") && now.asOf !== null) found.set("as_of", iso(now.asOf));
  answerBox.setAttribute("aria-busy", "true");
  try {
    const { html } = await part(`${root}/clocks/answer?${found}`, flying.signal);
    put(answerBox, html);
    answerBox.setAttribute("aria-busy", "false");
  } catch (error) { if (error.name !== "AbortError") problem(answerBox, error); }
}
const changed = later(90, ask);

async function load() {
  const answer = await fetch(view ? `${root}/clocks/plane?${address()}` : box.dataset.plane, { headers: { accept: "application/json" } });
  const said = await answer.json();
  if (!answer.ok) { problem(plot, said.error); problem(answerBox, { message: "There is no answer without the plane." }); answerBox.setAttribute("aria-busy", "false"); return; }
  data = said;
  data.hide = box.dataset.hide.split("\n");
  const last = data.cells.reduce((a, cell) => Math.max(a, cell[1]), -Infinity);
  now.asOf = parse(fields.as_of.value) ?? (Number.isFinite(last) ? Math.ceil(last / 1000) * 1000 : Date.now());
  now.known = data.known_at ?? data.marks.at(-1)?.[0] ?? 0;
  const from = parse(box.dataset.fromAsOf);
  if (!view && from !== null && data.marks.length) now.from = { asOf: from, known: data.from_known_at ?? data.marks.at(-1)[0] };
  box.querySelector("[data-compare]").setAttribute("aria-pressed", String(now.from !== null));
  draw();
  showScale();
  await ask();
}

function showScale() {
  box.querySelectorAll("[data-scale-to]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.scaleTo === view.scale)));
}

asked.addEventListener("submit", (event) => { event.preventDefault(); load(); });
for (const name of ["as_of", "known_at", "key", "where"]) fields[name].addEventListener("change", () => load());
box.querySelectorAll("[data-scale-to]").forEach((button) => button.addEventListener("click", () => { now.scale = button.dataset.scaleTo; draw(); showScale(); ask(); }));
box.querySelector("[data-compare]").addEventListener("click", (event) => {
  now.from = now.from ? null : { asOf: now.asOf, known: now.known };
  event.target.setAttribute("aria-pressed", String(now.from !== null));
  paint();
  ask();
});
new ResizeObserver(later(60, () => { if (view && plot.clientWidth !== view.wide) draw(); })).observe(plot);
load();
