"use strict";

/* The page works without this script; it adds the theme, the filter, sorting and the enlarged view. */

const root = document.documentElement;
root.dataset.script = "";

const memory = {
  // A page opened from disk may not be allowed to store anything.
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* the theme lasts as long as the page */ } },
};

const remembered = memory.get("kernlab-theme");
if (remembered === "light" || remembered === "dark") root.dataset.theme = remembered;

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    memory.set("kernlab-theme", root.dataset.theme);
  });
}

function setUpFilter() {
  const find = document.getElementById("find");
  if (!find) return;
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const buttons = [...document.querySelectorAll("button.status")];
  const tables = [...document.querySelectorAll("details.published")].map((details) => ({
    details,
    rows: [...details.querySelectorAll("tbody tr")].map((row) => ({
      row,
      status: row.dataset.status,
      text: [details.id, details.querySelector(".title").textContent, ...[...row.cells].map((cell) => cell.textContent)]
        .join(" ").toLowerCase(),
    })),
  }));
  const sections = [...document.querySelectorAll(".paper-tables")];
  const total = tables.reduce((sum, table) => sum + table.rows.length, 0);
  const OPEN_AT_MOST = 300;

  function apply() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.status));
    const filtering = words.length > 0 || wanted.size < buttons.length;
    let matches = 0;
    for (const table of tables) {
      table.matches = 0;
      for (const { row, status, text } of table.rows) {
        const match = wanted.has(status) && words.every((word) => text.includes(word));
        row.hidden = !match;
        table.matches += match;
      }
      table.details.hidden = table.matches === 0;
      matches += table.matches;
    }
    for (const table of tables) {
      if (!filtering) table.details.open = false;
      else if (table.matches) table.details.open = matches <= OPEN_AT_MOST;
    }
    for (const section of sections) section.hidden = !section.querySelector("details:not([hidden])");
    found.textContent = filtering ? `${matches} of ${total}` : "";
    name();
  }

  function name() {
    unfold.textContent = tables.some(({ details }) => !details.hidden && !details.open) ? "Open all" : "Close all";
  }

  find.addEventListener("input", apply);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Open all";
    for (const { details } of tables) if (!details.hidden) details.open = open;
    name();
  });
  for (const { details } of tables) details.addEventListener("toggle", name);
}

/* A number where the cell holds one, null where it is empty, else its text. */
function sortValue(row, column) {
  const cell = row.cells[column];
  const number = Number.parseFloat(cell.dataset.value);
  if (!Number.isNaN(number)) return number;
  return cell.textContent.trim() || null;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/* Numbers before texts; what is empty stays at the end in both directions. */
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * (typeof a === "number" ? (a > b) - (a < b) : collator.compare(a, b));
}

function sortBy(table, heading) {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, key: sortValue(row, heading.cellIndex) }));
  keyed.sort((a, b) => compare(a.key, b.key, descending ? -1 : 1));
  body.append(...keyed.map(({ row }) => row));
}

function setUpSorting() {
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading));
    }
  }
}

function setUpEnlarging() {
  const box = document.getElementById("lightbox");
  const picture = box.querySelector("img");
  const caption = box.querySelector("figcaption");
  const figures = [...document.querySelectorAll(".pictures figure")];
  let at = 0;

  function show(index) {
    at = (index + figures.length) % figures.length;
    const small = figures[at].querySelector("img");
    picture.src = small.src;
    picture.alt = small.alt;
    caption.replaceChildren(...[...figures[at].querySelector("figcaption").childNodes].map((node) => node.cloneNode(true)));
  }

  figures.forEach((figure, index) => {
    figure.querySelector(".zoom").addEventListener("click", () => { show(index); box.showModal(); });
  });
  for (const button of box.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => show(at + Number(button.dataset.step)));
  }
  box.querySelector("[data-close]").addEventListener("click", () => box.close());
  picture.addEventListener("click", () => box.close());
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") show(at + 1);
    if (event.key === "ArrowLeft") show(at - 1);
  });
  box.addEventListener("close", () => figures[at].querySelector(".zoom").focus());
}

/* A link to a table opens it. */
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

/* Paper has nothing to click: all is open while printing. */
function setUpPrinting() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
}

document.addEventListener("DOMContentLoaded", () => {
  setUpTheme();
  setUpFilter();
  setUpSorting();
  setUpEnlarging();
  setUpPrinting();
  addEventListener("hashchange", openTarget);
  openTarget();
});
