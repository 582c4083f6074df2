"""Warnings about seeds and results, before a user trusts them."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from siamese_news.data.articles import HEADLINES, SECTIONS
from siamese_news.data.records import Article
from siamese_news.model.loading import AnyModel
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import open_scorer
from siamese_news.search.histogram import ScoreCounts
from siamese_news.text.languages import BACKGROUND
from siamese_news.text.spaceless import length_of
from siamese_news.utils.terminal import counted

# Posts that share a rare word with an article, or two common ones, score above this.
WEAK = 0.02

# Share of a pool from which a filter may have kept too much.
_LARGE_SHARE = 0.2
_FEWEST_POSTS = 100  # of the pool

_NAMED = 3
_ALIKE = 0.8  # share of common posts from which two lists are nearly the same

# Phrases of paywalls, in the languages of many newspapers. Of the 33,667 articles of 14 data sets,
# 23,831 have fewer than `_STUB` words and are searched for them; none has one.
_PAYWALL = re.compile(
    r"subscribe (?:now |today )?(?:to|for) (?:continue|keep|read|unlimited|full)"
    r"|(?:only|exclusively) (?:available )?(?:to|for) (?:our )?subscribers|already a subscriber"
    r"|(?:sign|log) ?in to (?:continue|keep|read)|register to (?:continue|keep|read)"
    r"|(?:create|with) (?:a|your) free account|to (?:continue|keep) reading|subscribers? only"
    r"|weiterlesen mit|jetzt abonnieren|nur für abonnent|réservée? (?:aux|à nos) abonnés"
    r"|abonnez-vous|suscr[ií]bete para|(?:solo|exclusivo) para suscriptores"
    r"|riservato agli abbonati|abbonati per|exclusivo para assinantes|assine para"
    r"|(?:nur|exklusiv) (?:mit|für) (?:\w+[ -])?abo\b|als abonnent\w* weiterlesen"
    r"|dieser artikel ist (?:kostenpflichtig|abonnent)|lisez la suite|déjà abonné"
    r"|contenido exclusivo|ya eres suscriptor|contenuto (?:riservato|esclusivo)|sei già abbonato"
    r"|conteúdo exclusivo|já é assinante|alleen voor abonnees|word (?:nu )?abonnee"
    r"|tylko dla (?:subskrybentów|prenumeratorów)|(?:för|endast) prenumeranter|kun for abonnenter"
    r"|vain tilaajille|yalnızca aboneler|только (?:для|по) подпис\w+|доступ\w* по подписке"
    r"|有料会員|会員限定|この記事は有料|仅限订阅|订阅后|付费阅读|구독자 전용|للمشتركين فقط",
    re.IGNORECASE,
)
# And of pages that came instead of an article: two of the same 23,831 have one (a lead about
# privacy, and a page that did ask for cookies).
_NO_ARTICLE = re.compile(
    r"(?:page|article) (?:was )?not found|(?:error|http)[ -]?404\b"
    r"|\A\W*404(?:\s*[-–—:|.!]\s|\s*(?:\n|\Z)|\s+(?:not|page|error|file)\b)"
    r"|unavailable (?:due to|for) legal reasons|not available in your (?:country|region)"
    r"|access (?:is )?denied|are you (?:a robot|human)|captcha|verify (?:that )?you are (?:a )?human"
    r"|enable javascript|unusual traffic"
    r"|(?:accept|use[sd]?|value) .{0,30}\b(?:cookies|privacy)\b|your (?:privacy|consent) choices"
    r"|seite nicht gefunden|page introuvable|página no encontrada|wir verwenden cookies"
    r"|nous utilisons des cookies|utilizamos cookies|(?:verwendung|einsatz|gebrauch) von cookies"
    r"|checking your browser|just a moment\.\.\."
    r"|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|internal server error"
    r"|(?:our|unsere|nos|nuestros|nostri|nossos) \d+ (?:trusted )?(?:partn|parten|socios|parceir)"
    r"|(?:mit|brauchen) ihrer? (?:zustimmung|einwilligung)|(?:su|il (?:tuo|suo)|seu) consen[st]"
    r"|sans accepter|votre consentement"
    r"|(?:aceptar|accepter|accetta|akzeptieren)\b.{0,20}cookies?"
    r"|(?:403|429)\W{1,3}(?:forbidden|too many)|too many requests|rate limit(?:ed| exceeded)"
    r"|attention required|security of your connection|\bray id\b|enable (?:js|cookies) and"
    r"|disable (?:any|your) ad ?-?blocker|press (?:&|and) hold|pardon our interruption"
    r"|incapsula|don't have permission to access|\breference #\d+\.|guru meditation"
    r"|unusual activity from your|not a robot|(?:i am|are|you're|that you are) (?:not )?a bot\b"
    r"|before you continue to|confirm you are human|web server is down|error 10[012]\d\b"
    r"|kein roboter|un robot\b|robô\b|zu viele anfragen|trop de requêtes|demasiadas solicitudes"
    r"|troppe richieste|muitas (?:solicitações|requisições)"
    r"|zugriff verweigert|accès (?:refusé|interdit)"
    r"|(?:acceso|acesso) (?:denegado|negado)|accesso negato|toegang geweigerd"
    r"|(?:pagina|página) (?:non trovata|no existe|niet gevonden|não encontrada)"
    r"|sidan (?:hittades inte|kunde inte hittas)|siden (?:blev|ble) ikke funnet|sivua ei löyd"
    r"|nie znaleziono strony|sayfa bulunamadı|страница не найдена|доступ (?:запрещ|ограничен)"
    r"|вы не робот|сторінку не знайдено"
    r"|页面(?:不存在|未找到)|找不到(?:该|此)?页面|访问(?:被拒绝|过于频繁)"
    r"|安全验证|ページが見つかりません|アクセスが(?:拒否|集中)|ロボットではありません"
    r"|페이지를 찾을 수 없|로봇이 아닙니다|الصفحة غير موجودة|لست روبوت|تم رفض الوصول",
    re.IGNORECASE,
)
# The first of some addresses and nothing else.
_ADDRESS = re.compile(
    r"\A\s*+(?=(?:(?:[a-z]+://|www\.)\S++\s*+)++\Z)\S++", re.IGNORECASE
)
_SAVE = "Save the page again once it shows the article,"
_STUBS = (
    (_PAYWALL, "looks like the preview of a paywalled article", "Use its full text"),
    (_NO_ARTICLE, "looks like a notice of a website", _SAVE),
    (_ADDRESS, "has only addresses, and nothing is fetched", _SAVE),
)
_STUB = 150

# Groups of seeds whose mean score with each other, by their first `_HEAD` words, is below `_FOREIGN`
# tell several stories: 1 of 300 sets of 2 to 10 articles of one event has such groups, and 172 of 300
# of two events have; by their first 100 words 11 and 187 (``python -m benchmarks.seed_groups``,
# English articles about events that were trained on).
_FOREIGN = 0.025
_HEAD = 150
_FEWEST = 100
_MOST = 200


def stub_remarks(articles: Sequence[Article]) -> list[str]:
    """Remarks on articles that are an offer to subscribe, a notice of a website, or an address.

    Front pages count, too: each of their headlines is of another story.
    """
    remarks = [
        f"Article '{article.id}' {finding} ({sign[0]!r}, {counted(*length)}): the ranking is based on "
        f"these. {remedy} or another article about the story."
        for article in articles
        if (length := length_of(article.full_text))[0] < _STUB
        for pattern, finding, remedy in _STUBS
        if (sign := pattern.search(article.full_text)) is not None
    ]
    signs_of_several_articles = {
        HEADLINES: "looks like a front page ({} headlines): the ranking is based on all of its "
        "stories. Save the page of the one that you mean.",
        SECTIONS: "has {} sections with a line of marks or rights, a new page or a heading between "
        "them: if they are several articles, save each in its own file, because the ranking is based "
        "on all of them.",
    }
    return remarks + [
        f"Article '{article.id}' {finding.format(article.metadata[name])}"
        for article in articles
        for name, finding in signs_of_several_articles.items()
        if article.metadata.get(name)
    ]


def foreign_remarks(
    model: AnyModel, articles: Sequence[Article], languages: Mapping[str, str]
) -> list[str]:
    """Remarks on articles of one story that seem to be about another one than the rest.

    Articles are grouped by their scores with each other. Where groups are left whose mean score is
    that of foreign articles, they seem to tell several stories. Only a model with words can tell,
    and only English articles (`languages`, by id).
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    english = [
        article
        for article in articles
        if languages.get(article.id) == BACKGROUND
        and len(article.full_text.split()) >= _FEWEST
    ]
    if not (isinstance(model, TextModel) and model.terms and 1 < len(english) <= _MOST):
        return []
    heads = [" ".join(article.full_text.split()[:_HEAD]) for article in english]
    scores = open_scorer(model, heads).scores(heads)
    # Average linkage: one pair that happens to be alike does not join two stories.
    distances = np.clip(2 - scores - scores.T, 0, 2) / 2
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), "average")
    group_of = fcluster(tree, 1 - _FOREIGN, "distance") - 1
    sizes = np.bincount(group_of)
    number = len(sizes)
    if number == 1:
        return []
    alone = [
        article.id
        for article, group in zip(english, group_of, strict=True)
        if sizes[group] == 1
    ]
    if len(alone) == len(english):
        told = f"The seeds {_names(alone)} have little in common with each other"
    elif number == len(alone) + 1:
        told = f"{_names(alone)}: has little in common with the other seeds"
    else:
        _, first_rows = np.unique(group_of, return_index=True)
        first_of = [english[row].id for row in sorted(first_rows.tolist())]
        told = (
            f"The seeds fall into {number} groups that have little in common with each other, "
            f"beginning with {_names(first_of)}"
        )
    return [
        f"{told}. Are they about one story? A seed about another story adds that story's posts; "
        "rank makes a list for each seed, and a filter for each story keeps them apart."
    ]


def order_remarks(scores: ScoreCounts, best: Mapping[str, float]) -> list[str]:
    """Remarks on a ranking with little information.

    `best` are the best scores of the lists, by the names of their seeds.
    """
    remarks = []
    if not scores.total:
        return []  # the dates leave no post, or no post of an index can matter
    # Of an index only posts that can matter are scored.
    if scores.of_all and scores.total == 1:
        remarks.append("There is one post, which is ranked against nothing.")
    elif scores.of_all and scores.different == 1:
        remarks.append(
            f"All {scores.total:,} scores are the same to a thousandth: the order means nothing. "
            "Are the posts copies of one, or without words?"
        )
    if weak := [name for name, score in best.items() if score < WEAK]:
        remarks.append(
            f"No post has much in common with {_names(weak)}: the best score is below {WEAK}, and "
            "the order means little."
        )
    return remarks


def share_remarks(
    kept_posts: int, searched: int, threshold: str, scores: ScoreCounts
) -> list[str]:
    """Remarks on a threshold, in words, that keeps none or a large share of the posts searched."""
    if not searched:
        return []
    if not kept_posts:
        none = "No post was kept:"
        advice = "rank shows the best posts and their scores."
        # An index, where no post can reach it.
        if not scores.of_all or not scores.total:
            return [f"{none} the threshold {threshold} is above every score. {advice}"]
        highest = f"{none} the highest score is {scores.highest:.3f}"
        if scores.highest < WEAK:  # `order_remarks` explains it
            return [f"{highest}."]
        return [
            f"{highest}, below the threshold {threshold}. Lower it before you conclude that the "
            f"posts are not there, for a fact check to a relevance of 0.1; {advice}"
        ]
    if searched >= _FEWEST_POSTS and kept_posts > _LARGE_SHARE * searched:
        return [
            f"{kept_posts / searched:.0%} of the posts were kept, by the threshold {threshold}; the "
            f"highest score is {scores.highest:.3f}. That is much, unless the posts were collected "
            "about this story: look at the last posts in the results before you use them."
        ]
    return []


def same_lists_remarks(lists: Mapping[str, set[int]], posts: int) -> list[str]:
    """A remark on seeds about different stories whose lists have nearly the same posts.

    `lists` are the posts by the names of the seeds; lists of most of all `posts` say nothing.
    """
    alike: dict[str, None] = {}
    comparable = [item for item in lists.items() if 0 < len(item[1]) <= posts / 2][
        :_MOST
    ]
    for (name, rows), (second_name, second_rows) in combinations(comparable, 2):
        if len(rows & second_rows) >= _ALIKE * len(rows | second_rows):
            alike |= {name: None, second_name: None}
    if not alike:
        return []
    return [
        f"The lists of {_names(list(alike))} have nearly the same posts: are these seeds about one "
        "story? --distinct is for different stories; --one-story makes one list for all seeds."
    ]


def _names(names: Sequence[str]) -> str:
    suffix = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{suffix}"
