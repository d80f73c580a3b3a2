// What all views share: parts that are loaded later, remedies, code to copy, light and dark.

export const root = document.querySelector('meta[name="root"]')?.content ?? "";
const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

export class Problem extends Error {
  constructor(message, hint) { super(message); this.hint = hint; }
}

export async function post(path, body) {
  const answer = await fetch(root + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", "x-csrf-token": csrf },
    body: JSON.stringify(body),
  });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  throw new Problem(said?.error?.message ?? `the page answered ${answer.status}`, said?.error?.hint);
}

export async function part(url, signal) {
  const answer = await fetch(url, { headers: { accept: "text/html", "x-part": "1" }, signal });
  return { ok: answer.ok, html: await answer.text() };
}

export function put(box, html) {
  box.innerHTML = html;
  dress(box);
}

export function problem(box, error) {
  const alert = document.createElement("div");
  alert.className = "problem";
  alert.setAttribute("role", "alert");
  const what = document.createElement("p");
  what.innerHTML = "<b></b>";
  what.firstChild.textContent = error.message;
  alert.append(what);
  if (error.hint) {
    const next = document.createElement("p");
    next.className = "next";
    next.textContent = error.hint;
    alert.append(next);
  }
  box.replaceChildren(alert);
}

export function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  document.querySelector(".toasts")?.append(toast);
  setTimeout(() => toast.remove(), 2200);
}

export function later(wait, work) {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}

async function load(box) {
  box.setAttribute("aria-busy", "true");
  const { html } = await part(box.dataset.load).catch((error) => ({ html: `<p class="wait"></p>${error.name}` }));
  put(box, html);
  box.removeAttribute("aria-busy");
  box.dispatchEvent(new CustomEvent("loaded", { bubbles: true }));
}

function remedy(box) {
  const told = box.querySelector(".told");
  const wanted = JSON.parse(box.dataset.remedy);
  const run = async (button, dry) => {
    button.disabled = true;
    told.hidden = false;
    told.textContent = "…";
    try {
      const answer = await post("/remedy", { ...wanted, dry_run: dry });
      told.textContent = (await answer.json()).text;
      if (!dry) say("Done");
    } catch (error) {
      told.textContent = [error.message, error.hint].filter(Boolean).join("\n");
    }
    button.disabled = false;
  };
  box.querySelector("[data-try]")?.addEventListener("click", (event) => run(event.target, true));
  box.querySelector("[data-do]")?.addEventListener("click", (event) => run(event.target, false));
}

export function codeBox(box) {
  const tabs = [...box.querySelectorAll("[data-tab]")];
  const show = (tab) => {
    tabs.forEach((each) => each.setAttribute("aria-selected", String(each === tab)));
    box.querySelectorAll("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== tab.dataset.tab; });
    try { localStorage.setItem("tidelake-code", tab.textContent); } catch { /* not kept */ }
  };
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { const next = tabs[(place + step + tabs.length) % tabs.length]; next.focus(); show(next); }
    });
  });
  let kept = null;
  try { kept = localStorage.getItem("tidelake-code"); } catch { /* not kept */ }
  const known = tabs.find((tab) => tab.textContent === kept);
  if (known) show(known);
  box.querySelector("[data-copy]")?.addEventListener("click", async () => {
    const text = box.querySelector("[data-panel]:not([hidden])").textContent;
    try { await navigator.clipboard.writeText(text); say("Copied"); }
    catch { getSelection().selectAllChildren(box.querySelector("[data-panel]:not([hidden])")); say("Selected: press Ctrl C"); }
  });
}

function verify(box) {
  const told = box.querySelector(".told");
  box.querySelectorAll("[data-look]").forEach((button) => button.addEventListener("click", async () => {
    button.disabled = true;
    told.hidden = false;
    told.textContent = "Looking …";
    try { told.textContent = (await (await post("/activity/verify", { deep: button.dataset.look === "deep" })).json()).text; }
    catch (error) { told.textContent = [error.message, error.hint].filter(Boolean).join("\n"); }
    button.disabled = false;
  }));
}

export function dress(box) {
  box.querySelectorAll("[data-load]").forEach(load);
  box.querySelectorAll("[data-remedy]").forEach(remedy);
  box.querySelectorAll("[data-code]").forEach(codeBox);
  box.querySelectorAll("[data-verify]").forEach(verify);
  box.querySelectorAll("[data-submit-on-change] select").forEach((choice) => choice.addEventListener("change", () => choice.form.submit()));
  box.querySelectorAll(".ticks [data-x]").forEach((tick) => { tick.style.left = `${tick.dataset.x / 10}%`; });
}

document.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("tidelake-theme", next); } catch { /* not kept */ }
});
dress(document);
