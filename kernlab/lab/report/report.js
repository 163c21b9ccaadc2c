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
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const buttons = [...document.querySelectorAll("button.status")];
  const words = (element) => element.textContent.toLowerCase();
  const tables = [...document.querySelectorAll("details.published")].map((details) => {
    const title = `${details.id} ${words(details.querySelector(".what"))}`;
    return {
      details,
      title,
      groups: [...details.querySelectorAll(".scroll, .alone")].map((group) => ({
        parts: group.matches(".alone") ? [group, group.previousElementSibling] : [group],
        rows: [...group.querySelectorAll("[data-status]")].map((row) => ({
          row, status: row.dataset.status, text: `${title} ${[...row.childNodes].map((node) => node.textContent).join(" ").toLowerCase()}`,
        })),
      })),
    };
  });
  const others = [...document.querySelectorAll("[data-search]")].map((element) => ({ element, text: `${element.id} ${words(element)}` }));
  const sections = [...document.querySelectorAll(".paper-tables, #gallery > section, #tables > section")];
  const numbers = tables.flatMap((table) => table.groups.flatMap((group) => group.rows));
  const OPEN_AT_MOST = 300;

  function apply() {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const statuses = new Set(buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.status));
    const filtering = wanted.length > 0 || statuses.size < buttons.length;
    const fits = (text) => wanted.every((word) => text.includes(word));
    let matches = 0;
    for (const table of tables) {
      table.matches = 0;
      for (const { parts, rows } of table.groups) {
        let shown = 0;
        for (const { row, status, text } of rows) {
          const match = statuses.has(status) && fits(text);
          row.hidden = !match;
          shown += match;
        }
        for (const part of parts) part.hidden = shown === 0;
        table.matches += shown;
      }
      table.details.hidden = table.matches === 0;
      matches += table.matches;
    }
    for (const table of tables) {
      if (!filtering) table.details.open = false;
      else if (table.matches) table.details.open = matches <= OPEN_AT_MOST;
    }
    let places = 0;
    for (const { element, text } of others) {
      element.hidden = !fits(text);
      places += !element.hidden;
    }
    for (const section of sections) section.hidden = !section.querySelector("details:not([hidden]), figure:not([hidden])");
    found.textContent = filtering ? `${matches} of ${numbers.length}${wanted.length ? `, ${places} more places` : ""}` : "";
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
    caption.replaceChildren(...[...figures[at].querySelectorAll("figcaption p:not(.trail)")].map((node) => node.cloneNode(true)));
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

document.addEventListener("DOMContentLoaded", () => {
  setUpTheme();
  setUpFilter();
  setUpSorting();
  setUpEnlarging();
  addEventListener("hashchange", openTarget);
  openTarget();
});
