"use strict";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const count = (number) => number.toLocaleString("en");

const problem = (message) => {
  const place = one("#problem");
  place.textContent = message || "";
  place.hidden = !message;
  if (message) place.scrollIntoView({ block: "nearest" });
};

// Every answer is JSON; an error is shown and thrown.
const ask = async (address, options = {}) => {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    const error = new Error("The server of this page does not answer. Start siamese-news desk again with the same project: every confirmed label is saved.");
    error.lost = true;
    problem(error.message);
    throw error;
  }
  let content = {};
  try { content = await answer.json(); } catch { /* a refusal in plain text */ }
  if (!answer.ok) {
    const error = new Error(content.error || `The server refused the request (${answer.status}). Open the page with the address that siamese-news desk printed.`);
    Object.assign(error, { status: answer.status, content });
    if (answer.status !== 409) problem(error.message);
    throw error;
  }
  return content;
};
const send = (address, row) =>
  ask(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(row) });

const later = (work, wait) => {
  let timer;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
};

// A certified list is handed over together with its certificate.
for (const button of all("button[data-threshold]")) {
  button.addEventListener("click", async () => {
    await send("/api/certify", {});
    await send("/api/threshold", { threshold: Number(button.dataset.threshold) });
    location.assign("/hand-over");
  });
}
