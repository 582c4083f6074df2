"""The model card of the distilled two-head model."""

from collections.abc import Mapping
from typing import Any

from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance


def shipped_card(config: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Markdown: what the model is, what it was made from, how well it does, where it fails.

    Args:
        config: the resolved configuration of the distil task.
        row: the figures of the run.
    """
    about, task, terms = provenance(), config["task"], config["terms"]
    trained = ", ".join(entry["folder"] for entry in config["data"]["train"])
    unlabelled = ", ".join(task["unlabelled"]) or "none"
    return "\n\n".join(
        [
            "# A small two-head model for posts about news stories",
            "Give it news articles, and it scores social media posts by whether they are about the "
            "same story. English. It needs no transformer and no labels, and runs on a laptop.",
            "## Use",
            "```\nsiamese-news rank --articles story.txt --posts posts.jsonl\n```\n\n"
            "In Python: `Model.pretrained()`, scored through `siamese_news.scoring.open_scorer`.",
            "## What it is",
            f"- **Lexical head**: weights on words and on pairs of neighbouring words, "
            f"IDF^{terms['power']:g} of background text, for an article times a lead prior that "
            f"halves at word {terms['lead_half_life']:g}. "
            "Words that the vocabulary lacks match by hash.\n"
            f"- **Dense head**: a mean of word vectors ({task['dim']} dimensions), "
            f"weighted by word and place (half at word {task['lead']:g}). It learned to rank posts "
            f"as {task['lists']['lexical']:g} x the lexical head + "
            f"{1 - task['lists']['lexical']:g} x {task['teacher']['source']} do.\n"
            f"- **Score**: {1 - terms['dense']:g} x lexical + {terms['dense']:g} x cosine. It is "
            "an order, not a probability: check a threshold on labelled posts of your own.\n"
            "- **Pools that are mostly about the story** (a fifth of the posts or more) are "
            "noticed; the IDF then leans on the pool and the headline counts more.\n"
            f"- **Feedback**: an article moves by {terms['feedback']['weight']:g} towards its best "
            f"{terms['feedback']['posts']} posts, so a pool is read twice; `--no-expand` does "
            "without.",
            "## Training and figures",
            markdown_table([row]),
            f"Pairs and texts: {trained}. Posts without articles: {unlabelled}. Word vectors that "
            f"it starts from: {config['vectors']['source']}. Dev and test figures are those of "
            "usatoday-cnn, split by event; all tests, with intervals and peers, stand in "
            "benchmarks/LEADERBOARD.md of the project. Choices were made on dev pools.",
            f"`{about['command']}`, seed {config['seed']}, {about['date']}, revision "
            f"{about['revision']}, {about['machine']}.",
            "## What is inside, and licences",
            "Words with their document frequencies, hashed counters of pairs, weights, and hashes "
            "of the ids and the words of the training texts: no text of a third party. The code "
            "and this table are MIT. The training texts are research data of their publishers, "
            "some without a stated licence; GloVe is PDDL, all-MiniLM-L6-v2 is Apache-2.0.",
            "## Where it fails",
            "- **Other languages**: words match only where they are spelled alike.\n"
            "- **No shared word**: a paraphrase without a common word has the dense cosine alone, "
            "which is weak.\n"
            "- **Very short posts** (one or two words) match on a single word, right or wrong.\n"
            "- **Satire, denial, opinion**: a post that mocks or denies a story is about it to "
            "this model.\n"
            "- **Names that changed** since the training text, and words of new events, have the "
            "IDF of an unknown word, which is usually right and never learned.",
        ]
    )
