// Going into a part of the range: drag over the strips, or click to see a twelfth of it.
import { el } from "./axes.js";

const heat = document.getElementById("heat");

function moments(strips) {
  const whole = /^-?\d+$/;
  const numbers = whole.test(strips.dataset.start) && whole.test(strips.dataset.end);
  const read = (text) => (numbers ? Number(text) : Date.parse(text.length === 10 ? `${text}T00:00:00Z` : `${text}Z`));
  const write = (at) => (numbers ? String(Math.round(at)) : new Date(at).toISOString().slice(0, 19));
  const first = read(strips.dataset.start), last = read(strips.dataset.end);
  return (share) => write(first + (last - first) * Math.min(Math.max(share, 0), 1));
}

function listen() {
  const strips = heat?.querySelector(".heat");
  if (!strips) return;
  const at = moments(strips);
  strips.querySelectorAll("svg").forEach((svg) => {
    let from = null;
    const brush = el("rect", { class: "brush", height: 20, width: 0 });
    const share = (event) => { const frame = svg.getBoundingClientRect(); return (event.clientX - frame.left) / frame.width; };
    svg.addEventListener("pointerdown", (event) => { from = share(event); svg.append(brush); svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = share(event);
      brush.setAttribute("x", Math.min(from, to) * 1000);
      brush.setAttribute("width", Math.abs(to - from) * 1000);
    });
    svg.addEventListener("pointerup", (event) => {
      let [low, high] = [from, share(event)].sort((a, b) => a - b);
      from = null;
      brush.remove();
      if (high - low < 0.01) { low = Math.max(low - 1 / 24, 0); high = Math.min(low + 1 / 12, 1); }
      const found = new URLSearchParams(location.search);
      found.set("start", at(low));
      found.set("end", at(high));
      location.search = String(found);
    });
  });
}

// The strips may have come before this script.
heat?.addEventListener("loaded", listen);
listen();
