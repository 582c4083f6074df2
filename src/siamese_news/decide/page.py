"""A certificate as a page to read: one HTML file that opens anywhere, also offline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siamese_news.decide.certificate import sentence_of
from siamese_news.decide.chart import Line, line_chart
from siamese_news.utils.files import atomic_write

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certificate: {{ c.population.file }}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0;
vertical-align: top; border-bottom: 1px solid #ddd; } code { overflow-wrap: anywhere; }
.claim { border-left: 4px solid #1a6b3c; padding-left: 1rem; } .none { border-color: #a33; }
svg { width: 100%; height: auto; }
</style>
</head>
<body>
<main>
<h1>What this threshold is worth</h1>
{% for claim, text, picture in claims %}
<section>
<h2>Precision {{ claim.target }}</h2>
<p class="claim{{ '' if claim.threshold is not none else ' none' }}">{{ text }}</p>
{% if claim.next_set %}<p>The next set, of {{ '{:,}'.format(claim.next_set.posts) }} posts, did not
pass: {{ claim.next_set.errors }} of its first {{ claim.next_set.labels }} labelled posts are not
relevant.{% if claim.more_labels is not none %} If errors go on as they came it needs about
{{ '{:,}'.format(claim.more_labels) }} more labels.{% endif %}</p>{% endif %}
{{ picture }}
</section>
{% endfor %}
<h2>What it rests on</h2>
<table>
<tr><th scope="row">Scored posts</th><td>{{ c.population.file }}, {{ '{:,}'.format(c.population.posts) }}
{{ 'article-post pairs' if c.population.pairs else 'posts' }}, SHA-256 <code>{{ c.population.sha256 }}</code></td></tr>
<tr><th scope="row">Model</th><td>{% if c.model %}{{ c.model.folder }}, SHA-256
<code>{{ c.model.sha256 }}</code>{% else %}not known (no .meta.json beside the scores){% endif %}</td></tr>
<tr><th scope="row">Labels</th><td>{{ c.labels.used }}: {{ c.labels.relevant }} relevant,
{{ c.labels.not_relevant }} not{% if c.labels.skipped %} ({{ c.labels.skipped }} of them
skipped){% endif %}; of {{ c.settings.budget }} planned{% if c.labels.drawn_without_label %};
{{ c.labels.drawn_without_label }} drawn posts have no label and count as not relevant{% endif %}</td></tr>
{% if c.criteria %}<tr><th scope="row">Relevant means</th><td>{{ c.criteria }}</td></tr>{% endif %}
<tr><th scope="row">Confidence</th><td>{{ c.confidence }} for each target{% if c.claims|length > 1 %},
{{ c.joint_confidence }} for all together{% endif %}{% if c.earlier_plans %}; lowered by
{{ c.earlier_plans }} earlier plans over the same scores{% endif %}</td></tr>
<tr><th scope="row">Judged</th><td>{{ c.judged }}</td></tr>
<tr><th scope="row">Method</th><td>{{ c.method }}; seed {{ c.settings.seed }}; plan
<code>{{ c.plan.sha256 }}</code></td></tr>
<tr><th scope="row">Made</th><td>{{ c.created }}: <code>{{ c.command }}</code></td></tr>
</table>
<h2>On what conditions</h2>
<ul>
<li>The random order, the sets and the tables were fixed before the first label.</li>
<li>Posts were labelled in that order; one that was skipped counts as not relevant.</li>
<li>Whoever labelled saw neither score nor rank.</li>
<li>Posts, scores and model are those named above. For other posts it promises nothing.</li>
</ul>
<p>It needs no assumption about the scores: they need not be probabilities, precision need not fall
with rank, and posts may be copies of one another. It does not say how many relevant posts are
missed; that is recall.</p>
{% if c.remarks %}<h2>Remarks</h2><ul>{% for remark in c.remarks %}<li>{{ remark }}</li>{% endfor %}</ul>{% endif %}
</main>
</body>
</html>
"""


def write_page(path: Path, content: Mapping[str, Any]) -> None:
    """Write the page of a certificate; it replaces the page of the same certificate."""
    import jinja2
    from markupsafe import Markup

    template = jinja2.Environment(autoescape=True).from_string(_PAGE)
    claims = [
        (claim, sentence_of(content, claim), Markup(_picture(claim)))  # our own SVG, escaped there
        for claim in content["claims"]
    ]
    with atomic_write(path) as stream:
        stream.write(template.render(c=content, claims=claims) + "\n")


def _picture(claim: Mapping[str, Any]) -> str:
    """Share of relevant posts among the labelled ones of each set."""
    steps = [step for step in claim["descent"] if step[1]]
    if not steps:
        return ""
    target = float(claim["target"])
    passed = [(size, 1 - errors / labels) for size, labels, errors, good in steps if good]
    failed = [(size, 1 - errors / labels) for size, labels, errors, good in steps if not good]
    ends = [float(steps[0][0]), float(max(steps[-1][0], steps[0][0] + 1))]
    lines = [Line("target", [(x, target) for x in ends], "#555", dashed=True)]
    if passed:
        lines.append(Line("certified", passed, "#1a6b3c", dots=True))
    if failed:
        lines.append(Line("not certified", failed, "#a33", dots=True))
    return line_chart(
        lines,
        title="Share of relevant posts among the labelled ones of each set",
        x_name="posts in the set, from the top of the ranking",
        y_name="share relevant",
        log_x=True,
        low=min(0.5, *(y for _, y in passed + failed)),
        high=1.0,
    )
