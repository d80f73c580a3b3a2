// Two layers to compare, and going back to one.
import { part, post, put, say } from "./page.js";

const box = document.getElementById("history");
const choose = box.querySelector("[data-choose]");
const shown = box.querySelector("[data-diff-box]");

async function compare() {
  const a = choose.elements.a.value.trim(), b = choose.elements.b.value.trim();
  const found = new URLSearchParams(location.search);
  for (const [name, value] of [["a", a], ["b", b]]) if (value) found.set(name, value); else found.delete(name);
  history.replaceState(null, "", `${location.pathname}${found.size ? `?${found}` : ""}`);
  box.querySelectorAll("button.dot").forEach((dot) => dot.setAttribute("aria-pressed", String(dot.dataset.a ? dot.dataset.a === a : dot.dataset.b === b)));
  if (!a) return;
  const url = new URL(box.dataset.diff, location.href);
  url.searchParams.set("a", a);
  if (b) url.searchParams.set("b", b);
  put(shown, '<p class="wait">Comparing …</p>');
  put(shown, (await part(url)).html);
}

box.addEventListener("click", (event) => {
  const dot = event.target.closest("button.dot");
  if (!dot) return;
  const field = dot.dataset.a ? choose.elements.a : choose.elements.b;
  const value = dot.dataset.a ?? dot.dataset.b;
  field.value = field.value === value ? "" : value;
  compare();
});
choose.addEventListener("submit", (event) => { event.preventDefault(); compare(); });

box.querySelectorAll("[data-rollback]").forEach((roll) => {
  const told = roll.querySelector(".told"), act = roll.querySelector("[data-do]");
  const run = async (dry) => {
    told.hidden = false;
    told.textContent = "…";
    try {
      const answer = await post("/history/rollback", { table: box.dataset.table, to: roll.dataset.rollback, dry_run: dry });
      told.textContent = (await answer.json()).text;
      if (dry && act) act.hidden = false;
      if (!dry) { say("Done"); setTimeout(() => location.reload(), 600); }
    } catch (error) { told.textContent = [error.message, error.hint].filter(Boolean).join("\n"); }
  };
  roll.querySelector("[data-try]").addEventListener("click", () => run(true));
  act?.addEventListener("click", () => run(false));
});
if (choose.elements.a.value) compare();
