// Labels in every view: the annotator, sending, showing.
const SAID = { yes: "✓ relevant", no: "✗ not relevant", skip: "? unsure", "": "" };
const KEYS = { y: "yes", n: "no", "?": "skip" };

const annotator = one("#annotator");
if (annotator) {
  annotator.value = localStorage.getItem("annotator") || "me";
  annotator.addEventListener("change", () => {
    annotator.value = annotator.value.trim() || "me";
    localStorage.setItem("annotator", annotator.value);
  });
}

// Ids are encoded in the page: they may contain signs that HTML would change.
const postOf = (item) => decodeURIComponent(item.dataset.post);

const showLabel = (item, label, number) => {
  item.dataset.label = label;
  item.dataset.seen = number;
  one("[data-said]", item).textContent = SAID[label];
};

// Returns the label that the server wrote to the disk, or null.
const giveLabel = async (item, label, more = {}) => {
  const row = {
    post: postOf(item), label, annotator: annotator.value, seen: Number(item.dataset.seen), ...more,
  };
  try {
    const given = await send("/api/labels", row);
    problem("");
    showLabel(item, given.label, given.n);
    return given;
  } catch (error) {
    if (error.status !== 409) return null;
    const there = error.content.current;
    showLabel(item, there ? there.label : "", there ? there.n : 0);
    problem("This post was labeled in another tab in the meantime; that label is shown now. Label it again to replace it.");
    return null;
  }
};

const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea");

document.addEventListener("toggle", async (event) => {
  const details = event.target;
  if (!details.dataset?.load || !details.open || details.dataset.loaded) return;
  details.dataset.loaded = "1";
  const address = new URL(details.dataset.load, location);
  address.searchParams.set("annotator", annotator?.value || "");
  one("ol", details).innerHTML = (await ask(address)).html;
}, true);
