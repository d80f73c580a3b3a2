// The editor, rows as they come, a chart, files. Rows that are not seen are not in the page.
import { el, numberTicks, parse, timeTicks } from "./axes.js";
import { later, post, problem, root } from "./page.js";

const form = document.getElementById("sql");
const text = form.elements.sql;
const paint = form.querySelector(".paint");
const words = form.querySelector(".words");
const progress = document.querySelector("[data-progress]");
const problems = document.querySelector("[data-problem]");
const result = document.querySelector("[data-result]");
const KEYWORDS = "select from where group by order limit offset having join left right full inner outer cross asof on using as and or not in is null distinct union all except intersect with recursive case when then else end between like ilike exists values desc asc over partition window qualify true false interval timestamp timestamptz date for valid_time system_time version of at count sum avg min max coalesce cast try_cast date_trunc".split(" ");
const COLOURS = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|\b(\d[\d.]*)\b|\b([A-Za-z_]+)\b/g;

// --- what is written

function colour() {
  paint.replaceChildren();
  let done = 0;
  const add = (part, kind) => {
    if (!kind) { paint.append(part); return; }
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = part;
    paint.append(span);
  };
  for (const found of text.value.matchAll(COLOURS)) {
    add(text.value.slice(done, found.index));
    const kind = found[1] ? "note-text" : found[2] ? "text" : found[4] ? "digit" : found[5] && KEYWORDS.includes(found[5].toLowerCase()) ? "word" : "";
    add(found[0], kind);
    done = found.index + found[0].length;
  }
  add(`${text.value.slice(done)}\n`);
  paint.scrollTop = text.scrollTop;
  paint.scrollLeft = text.scrollLeft;
}
text.addEventListener("input", () => { colour(); complete(); keep(); });
text.addEventListener("scroll", () => { paint.scrollTop = text.scrollTop; paint.scrollLeft = text.scrollLeft; });

// --- completion

let known = { tables: [], views: [], columns: {} };
fetch(form.dataset.names, { headers: { accept: "application/json" } }).then((answer) => answer.json()).then((found) => { known = found; }).catch(() => {});

function before() {
  const found = /[\w."]*$/.exec(text.value.slice(0, text.selectionStart));
  return found[0];
}

function candidates(start) {
  const low = start.toLowerCase(), inside = text.value.toLowerCase();
  const plain = (name) => name.replace(/^main\./, "");
  const mentioned = Object.keys(known.columns).filter((name) => inside.includes(plain(name).toLowerCase()));
  const columns = (mentioned.length ? mentioned : Object.keys(known.columns)).flatMap((table) => known.columns[table].map(([name, type]) => [/^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`, type]));
  const all = [...columns, ...known.tables.map((name) => [plain(name), "table"]), ...known.views.map((name) => [plain(name), "view"]), ...KEYWORDS.map((name) => [name.toUpperCase(), ""])];
  const seen = new Set();
  return all.filter(([name]) => { const fits = name.toLowerCase().startsWith(low) && name.toLowerCase() !== low && !seen.has(name); seen.add(name); return fits; }).slice(0, 12);
}

function complete() {
  const start = before();
  const found = start.length >= 1 ? candidates(start) : [];
  words.hidden = !found.length;
  if (!found.length) return;
  words.replaceChildren(...found.map(([name, kind], place) => {
    const line = document.createElement("li");
    line.setAttribute("role", "option");
    line.id = `word-${place}`;
    line.dataset.word = name;
    const small = document.createElement("small");
    small.textContent = kind;
    line.append(name, small);
    line.addEventListener("mousedown", (event) => { event.preventDefault(); take(name); });
    return line;
  }));
  choose(0);
  const lines = text.value.slice(0, text.selectionStart).split("\n");
  words.style.top = `${16 + lines.length * 22.4 - text.scrollTop}px`;
  words.style.left = `${Math.min(18 + (lines.at(-1).length - start.length) * 8.43 - text.scrollLeft, text.clientWidth - 240)}px`;
}

function choose(place) {
  const lines = [...words.children];
  lines.forEach((line, number) => line.setAttribute("aria-selected", String(number === place)));
  lines[place]?.scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", `word-${place}`);
}

function take(name) {
  const start = before();
  text.setRangeText(name, text.selectionStart - start.length, text.selectionStart, "end");
  words.hidden = true;
  colour();
  keep();
}

text.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); words.hidden = true; run(); return; }
  if (words.hidden) return;
  const place = [...words.children].findIndex((line) => line.getAttribute("aria-selected") === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { event.preventDefault(); choose((place + step + words.children.length) % words.children.length); }
  else if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); take(words.children[place].dataset.word); }
  else if (event.key === "Escape") { event.preventDefault(); words.hidden = true; }
});
text.addEventListener("blur", () => { words.hidden = true; });

// --- the address, and code to copy

const given = () => ({ sql: text.value, as_of: form.elements.as_of.value.trim(), known_at: form.elements.known_at.value.trim() });
const keep = later(300, async () => {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(given())) if (value) found.set(name, value);
  const address = `${location.pathname}?${found}`;
  if (address.length < 8000) history.replaceState(null, "", address);
  try {
    const said = await (await post("/sql/code", given())).json();
    const panels = document.querySelectorAll(".code [data-panel] code");
    said.code.forEach(([, each], place) => { panels[place].textContent = each; });
  } catch { /* nothing is written yet */ }
});
for (const name of ["as_of", "known_at"]) form.elements[name].addEventListener("input", keep);

// --- running

const ROW = 29;
let rows = [], columns = [], running = null, drawn = null;
const box = result.querySelector("[data-grid]"), table = box.querySelector("table");
const numeric = (type) => /^(u?int|float|double|decimal|half)/.test(type);

function head() {
  const line = document.createElement("tr");
  for (const [name, type] of columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    cell.title = type;
    if (numeric(type)) cell.className = "n";
    line.append(cell);
  }
  table.tHead.replaceChildren(line);
}

function fill() {
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 20), last = Math.min(rows.length, first + Math.ceil((box.clientHeight || 600) / ROW) + 40);
  if (drawn && drawn[0] === first && drawn[1] === last) return;
  drawn = [first, last];
  const spacer = (count) => { const line = document.createElement("tr"); line.className = "spacer"; const cell = line.insertCell(); cell.colSpan = columns.length || 1; cell.style.height = `${count * ROW}px`; return line; };
  const lines = rows.slice(first, last).map((row) => {
    const line = document.createElement("tr");
    row.forEach((value, place) => {
      const cell = line.insertCell();
      if (value === null) { cell.className = "null"; cell.textContent = "NULL"; }
      else { cell.textContent = typeof value === "object" ? JSON.stringify(value) : String(value); if (numeric(columns[place][1])) cell.className = "n"; }
    });
    return line;
  });
  table.tBodies[0].replaceChildren(...(first ? [spacer(first)] : []), ...lines, ...(last < rows.length ? [spacer(rows.length - last)] : []));
}
box.addEventListener("scroll", () => requestAnimationFrame(fill));

function busy(name) {
  running = name;
  form.querySelector("[data-run-it]").disabled = Boolean(name);
  form.querySelector("[data-cancel]").hidden = !name;
  progress.classList.toggle("busy", Boolean(name));
}

function take_line(said, started) {
  if (said.error) { problem(problems, said.error); progress.textContent = ""; return; }
  if (said.columns) { columns = said.columns; head(); result.hidden = false; }
  if (said.rows) { for (const row of said.rows) rows.push(row); fill(); }
  const seconds = said.seconds ?? (performance.now() - started) / 1000;
  if (said.more) rows.more = true;
  const count = rows.length.toLocaleString("en");
  progress.textContent = "done" in said ? `${count}${rows.more ? " rows shown, there are more: export has all" : rows.length === 1 ? " row" : " rows"} in ${seconds.toFixed(2)} s` : `${count} rows so far, ${seconds.toFixed(1)} s`;
}

async function run() {
  if (running) return;
  const name = crypto.randomUUID?.() ?? String(Math.random()), started = performance.now();
  busy(name);
  rows = []; columns = []; drawn = null; box.scrollTop = 0;
  problems.replaceChildren();
  result.hidden = true;
  progress.textContent = "Running …";
  const clock = setInterval(() => { if (!columns.length) progress.textContent = `Running … ${((performance.now() - started) / 1000).toFixed(1)} s`; }, 200);
  try {
    const answer = await post("/sql/run", { ...given(), name });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) take_line(JSON.parse(line), started);
    }
    drawn = null;
    fill();
    axesOf();
  } catch (error) { problem(problems, error); progress.textContent = ""; }
  clearInterval(clock);
  busy(null);
}

form.querySelector("[data-run-it]").addEventListener("click", run);
form.querySelector("[data-cancel]").addEventListener("click", () => { if (running) post("/sql/cancel", { name: running }); });
addEventListener("pagehide", () => { if (running) fetch(`${root}/sql/cancel`, { method: "POST", keepalive: true, headers: { "content-type": "application/json", "x-csrf-token": document.querySelector('meta[name="csrf"]').content }, body: JSON.stringify({ name: running }) }); });

form.addEventListener("submit", (event) => {
  const wanted = event.submitter?.dataset.export;
  if (!wanted) { event.preventDefault(); return; }
  form.elements.format.value = wanted;
});

form.querySelector("[data-plan]").addEventListener("click", async () => {
  const shown = document.querySelector("[data-plan-box]");
  problems.replaceChildren();
  try {
    const said = await (await post("/sql/plan", given())).json();
    const list = document.createElement("ul");
    list.className = "steps plan-table";
    for (const each of said.tables) {
      const line = document.createElement("li");
      const number = (value) => value.toLocaleString("en");
      const parts = [`${number(each.files)} of ${number(each.total)} files (${number(each.rows)} rows, ${number(each.bytes)} bytes)`, ...each.pruned.map(([reason, count]) => `${number(count)} skipped by ${reason}`)];
      if (each.inlined) parts.push(`${number(each.inlined)} rows from the catalog`);
      if (each.rollup) parts.push(`begins with the rollup ${each.rollup}`);
      const name = document.createElement("b");
      name.textContent = each.table;
      line.append(name, ` ${each.as_of ? `as of ${each.as_of}, ` : ""}known at snapshot ${each.snapshot}: ${parts.join("; ")}`);
      list.append(line);
    }
    if (!said.tables.length) list.textContent = "It reads no table.";
    shown.replaceChildren(list);
  } catch (error) { shown.replaceChildren(); problem(problems, error); }
});

// --- a quick chart

const xs = result.querySelector("[data-x]"), ys = result.querySelector("[data-y]"), kinds = result.querySelector("[data-kind]");
function axesOf() {
  const options = (fits) => columns.map(([name, type], place) => [name, type, place]).filter(([, type]) => fits(type)).map(([name, , place]) => new Option(name, place));
  xs.replaceChildren(...options(() => true));
  ys.replaceChildren(...options(numeric));
  const time = columns.findIndex(([, type]) => /^(timestamp|date)/.test(type));
  if (time >= 0) xs.value = String(time);
  if (ys.options.length > 1 && ys.value === xs.value) ys.selectedIndex = 1;
  kinds.value = time >= 0 ? "line" : "bars";
  if (!result.querySelector("[data-chart]").hidden) chart();
}

function chart() {
  const shown = result.querySelector("[data-chart-box]");
  const wide = shown.clientWidth || 800, high = 360, left = 70, bottom = high - 34, right = wide - 20;
  if (!ys.options.length) { shown.textContent = "There is no column of numbers to draw."; return; }
  const type = columns[xs.value][1], timed = /^(timestamp|date)/.test(type), named = !timed && !numeric(type);
  const points = rows.slice(0, 5000).map((row, place) => [named ? place : timed ? parse(String(row[xs.value])) : Number(row[xs.value]), Number(row[ys.value]), row[xs.value]]).filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
  if (!points.length) { shown.textContent = "There is nothing to draw."; return; }
  if (!named) points.sort((a, b) => a[0] - b[0]);
  const least = (place) => points.reduce((a, b) => Math.min(a, b[place]), Infinity), most = (place) => points.reduce((a, b) => Math.max(a, b[place]), -Infinity);
  let [x0, x1, y0, y1] = [least(0), most(0), least(1), most(1)];
  if (kinds.value === "bars") y0 = Math.min(y0, 0);
  if (named || kinds.value === "bars") { const half = ((x1 - x0) / Math.max(points.length - 1, 1)) / 2 || 0.5; x0 -= half; x1 += half; }
  if (y1 === y0) { y1 += 1; y0 -= 1; }
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (right - left), y = (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - 16);
  const svg = el("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${columns[ys.value][0]} by ${columns[xs.value][0]}` });
  for (const [at, words_] of numberTicks(y0, y1, 6)) svg.append(el("line", { class: "rule", x1: left, x2: right, y1: y(at), y2: y(at) }), el("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, words_));
  const every = Math.ceil(points.length / 12);
  const ticks = named ? points.filter((_, place) => place % every === 0).map(([at, , label]) => [at, String(label).slice(0, 14)]) : timed ? timeTicks(x0, x1, 9) : numberTicks(x0, x1, 9);
  for (const [at, words_] of ticks) svg.append(el("text", { x: x(at), y: bottom + 18, "text-anchor": "middle" }, words_));
  if (kinds.value === "line") svg.append(el("path", { class: "line", d: points.map(([a, b], place) => `${place ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("") }));
  else for (const [a, b] of points) {
    const width = Math.max(((right - left) / points.length) * 0.7, 1);
    svg.append(kinds.value === "bars" ? el("rect", { class: "mark-fill", x: x(a) - width / 2, width, y: Math.min(y(b), y(0)), height: Math.max(Math.abs(y(0) - y(b)), 1), rx: Math.min(2, width / 2) }) : el("circle", { class: "mark-fill", cx: x(a), cy: y(b), r: 3 }));
  }
  shown.replaceChildren(svg);
}
for (const each of [xs, ys, kinds]) each.addEventListener("change", chart);
const shows = [...result.querySelectorAll("[data-show]")];
shows.forEach((tab) => tab.addEventListener("click", () => {
  shows.forEach((each) => each.setAttribute("aria-selected", String(each === tab)));
  box.hidden = tab.dataset.show !== "grid";
  result.querySelector("[data-chart]").hidden = tab.dataset.show !== "chart";
  if (tab.dataset.show === "chart") chart(); else { drawn = null; fill(); }
}));

colour();
if (form.dataset.run) run();
