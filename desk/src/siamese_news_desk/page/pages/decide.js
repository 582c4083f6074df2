one("#plan")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem("");
  const row = Object.fromEntries(new FormData(event.target));
  row.again = Boolean(row.again);
  await send("/api/settings", { criteria: row.criteria });
  await send("/api/plan", row);
  location.assign("/label");
});
one("#certify")?.addEventListener("click", async () => {
  await send("/api/certify", {});
  one("#written").value = "Written to the project folder.";
});
one("[data-copy]")?.addEventListener("click", async (event) => {
  const text = one(event.target.dataset.copy).textContent;
  const sources = all("#answers ul li").map((item) => item.textContent);
  await navigator.clipboard.writeText([text, ...sources].join("\n\n"));
  one("#copied").value = "Copied, with its references.";
});
one("#goal")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem("");
  await send("/api/goals", Object.fromEntries(new FormData(event.target)));
  location.assign("/label?kind=goal");
});
