one("#plan")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem("");
  const row = Object.fromEntries(new FormData(event.target));
  row.again = Boolean(row.again);
  await send("/api/settings", { criteria: row.criteria });
  await send("/api/plan", row);
  location.assign("/label");
});
one("#ask-outlook")?.addEventListener("click", async () => {
  problem("");
  const { precision, confidence } = Object.fromEntries(new FormData(one("#plan")));
  one("#outlook").textContent = "Replaying …";
  try {
    const said = await ask(`/api/outlook?${new URLSearchParams({ precision, confidence })}`);
    one("#outlook").textContent = said.sentences.join(" ");
  } catch (error) {
    one("#outlook").textContent = "";
    throw error;
  }
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
