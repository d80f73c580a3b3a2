"use strict";
// Before the first paint, so that nothing flashes.
try {
  const kept = localStorage.getItem("tidelake-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch { /* a browser that keeps nothing */ }
