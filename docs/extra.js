// What the theme leaves without a name, or out of reach of the keyboard: search, wide tables, pictures, code.
function name() {
  document.querySelector(".md-search[role=dialog]:not([aria-label])")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((table) => {
    table.tabIndex = 0;
    table.setAttribute("role", "group");
    table.setAttribute("aria-label", "Table");
  });
  document.querySelectorAll(".md-typeset p:has(> img[src$='.svg']):not([tabindex])").forEach((picture) => {
    picture.tabIndex = 0;
    picture.setAttribute("role", "group");
    picture.setAttribute("aria-label", "Picture");
  });
  document.querySelectorAll(".md-typeset :not(pre) > code:not(.short)").forEach((code) => {
    if (code.textContent.length < 20) code.classList.add("short");
  });
  document.querySelectorAll(".md-code__nav").forEach((nav, number) => {
    const label = `Code ${number + 1}`;
    if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
  });
}
name();
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
