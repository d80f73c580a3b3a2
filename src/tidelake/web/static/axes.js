// Times and numbers along an axis.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365.25 * DAY;
const STEPS = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY];
const NAMES = "http://www.w3.org/2000/svg";

export function el(name, given = {}, ...inside) {
  const made = document.createElementNS(NAMES, name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const two = (number) => String(number).padStart(2, "0");

export function stamp(ms, seconds = true) {
  const at = new Date(ms);
  const day = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  return `${day} ${time}${seconds ? `:${two(at.getUTCSeconds())}` : ""}`;
}

export function iso(ms) {
  const text = new Date(ms).toISOString();
  return text.endsWith(".000Z") ? `${text.slice(0, -5)}Z` : text;
}

export function parse(text) {
  if (!text) return null;
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(text.trim());
  const found = Date.parse(zoned ? text : `${text.trim().replace(" ", "T")}${text.includes(":") ? "Z" : "T00:00:00Z"}`);
  return Number.isNaN(found) ? null : found;
}

function short(ms, step) {
  const at = new Date(ms);
  const day = `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  if (step >= YEAR) return String(at.getUTCFullYear());
  if (step >= 27 * DAY) return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}`;
  if (step >= DAY) return at.getUTCMonth() === 0 && at.getUTCDate() <= 7 ? `${at.getUTCFullYear()}-${day}` : day;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  if (step < MINUTE) return `${time}:${two(at.getUTCSeconds())}`;
  return at.getUTCHours() === 0 && at.getUTCMinutes() === 0 ? day : time;
}

export function timeTicks(first, last, most) {
  const wanted = (last - first) / Math.max(most, 1);
  const found = [];
  if (wanted <= 7 * DAY) {
    const step = STEPS.find((each) => each >= wanted) ?? 7 * DAY;
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) found.push([at, short(at, step)]);
    return found;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((each) => each * 30.4 * DAY >= wanted) ?? 1200;
  const start = new Date(first);
  let month = Math.floor((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months;
  for (; ; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (at > last) return found;
    if (at >= first) found.push([at, short(at, months * 30 * DAY)]);
  }
}

export function numberTicks(first, last, most) {
  const span = last - first || 1;
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => span / each <= most) ?? span;
  const found = [];
  for (let at = Math.ceil(first / step) * step; at <= last + step / 1e6; at += step) found.push([at, Number(at.toPrecision(12)).toLocaleString("en")]);
  return found;
}

export function niceStep(span) {
  const finest = span / 1500;
  return STEPS.findLast((each) => each <= finest) ?? (finest < 1 ? 1 : SECOND);
}
