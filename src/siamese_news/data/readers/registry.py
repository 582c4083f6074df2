"""Every known format (of packages, platforms and tools), and which of them a record has."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from siamese_news.data.readers import platforms
from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Columns, Format
from siamese_news.data.readers.values import id_value, post_of, text_value, unescaped
from siamese_news.errors import InputError
from siamese_news.utils.plugins import added, load, package_of

_PAGE_TITLE = re.compile(r"<PAGE_TITLE>(.*?)</PAGE_TITLE>", re.DOTALL)
_GKG = tuple(
    """
    GKGRECORDID DATE SourceCollectionIdentifier SourceCommonName DocumentIdentifier Counts
    V2Counts Themes V2Themes Locations V2Locations Persons V2Persons Organizations
    V2Organizations V2Tone Dates GCAM SharingImage RelatedImages SocialImageEmbeds
    SocialVideoEmbeds Quotations AllNames Amounts TranslationInfo Extras
    """.split()
)


def _from_gkg(record: Record) -> Converted:
    """The title of the page that a row is about, which is the only text; None without one."""
    found = _PAGE_TITLE.search(text_value(record.get("Extras") or "", "Extras"))
    if found is None:
        return None
    return post_of(
        id_value(record["GKGRECORDID"], "GKGRECORDID"),
        unescaped(found[1]).strip(),
        record,
        "created_at=DATE author=SourceCommonName permalink=DocumentIdentifier",
    )


def _table(
    name: str,
    recognized: str,
    metadata: str,
    *,
    needs: str,
    text: str,
    id: str,
    title: str | None = None,
) -> Format:
    """A flat format; of several columns the first that a file has counts.

    Columns are separated by spaces, and by ``|`` in `metadata`, as in ``author=name|handle``.
    """
    texts, ids = text.split(), id.split()
    pairs = (pair.partition("=") for pair in metadata.split())
    about = {target: columns.split("|") for target, _, columns in pairs}
    return Format(
        name,
        recognized,
        f"{title} + {texts[0]}" if title else texts[0],
        " or ".join(ids),
        columns=Columns(needs.split(), texts, ids, title, about),
    )


_TOOLS = (
    _table(
        "Reddit submissions (PRAW)",
        "columns `title`, `num_comments`, and `body` or `selftext`",
        "created_at=created_utc|created|timestamp|date author=author url=url "
        "permalink=permalink channel=subreddit",
        needs="title num_comments id",
        text="body selftext text",
        id="name id",
        title="title",
    ),
    _table(
        "results of this program",
        "`article`, `rank`, `score`, `post`: what `rank` and `filter` wrote",
        "created_at=created_at lang=lang author=author permalink=link reply_to=reply_to "
        "thread=thread quotes=quotes channel=channel",
        needs="article rank score post",
        text="text",
        id="post",
    ),
    _table(
        "snscrape, twscrape",
        "`rawContent` or `renderedContent` with `id`, `date`, `url`",
        "created_at=date lang=lang author=user.username|username permalink=url "
        "reply_to=inreplytotweetidstr|inreplytotweetid "
        "thread=conversationidstr|conversationid quotes=quotedtweet.id "
        "retweet_of=retweetedtweet.id",
        needs="id url date rawcontent",
        text="rawcontent renderedcontent content",
        id="id_str id",
    ),
    _table(
        "twint",
        "`tweet` with `conversation_id`, `link`",
        "created_at=created_at lang=language author=username permalink=link "
        "thread=conversation_id retweet_of=retweet_id",
        needs="id conversation_id tweet link",
        text="tweet",
        id="id",
    ),
    _table(
        "pyktok",
        "`video_description`, `video_timestamp`",
        "created_at=video_timestamp author=author_username",
        needs="video_id video_timestamp video_description",
        text="video_description",
        id="video_id",
    ),
    _table(
        "CrowdTangle CSV (Facebook)",
        "`Post Created`, `Message`, `URL`; the address is the id",
        "created_at=post_created author=user_name|page_name|group_name "
        "channel=page_name|group_name url=final_link|link permalink=url",
        needs="post_created message url",
        text="message link_text description",
        id="url",
    ),
    _table(
        "CrowdTangle CSV (Instagram)",
        "`Post Created`, `Description`, `URL`; the address is the id",
        "created_at=post_created author=user_name|account permalink=url",
        needs="post_created description url",
        text="description title",
        id="url",
    ),
    _table(
        "Brandwatch",
        "`Query Id`, `Full Text`, `Url`, below some lines about the export",
        "created_at=date lang=language author=author permalink=url",
        needs="query_id query_name url full_text",
        text="full_text snippet",
        id="resource_id mention_id url",
        title="title",
    ),
    _table(
        "Sprinklr",
        "`Message`, `CreatedTime`, `Permalink`",
        "created_at=createdtime lang=languagecode|language author=senderscreenname "
        "permalink=permalink",
        needs="message createdtime permalink",
        text="message",
        id="universalmessageid snmsgid permalink",
    ),
    _table(
        "minet (Facebook)",
        "`formatted_date`, `user_label`, `text`",
        "created_at=formatted_date|date author=user_handle|user_label permalink=url",
        needs="user_label text formatted_date",
        text="text",
        id="comment_id post_id url",
    ),
    _table(
        "Meta Content Library",
        "`creation_time`, `text`, `mcl_url` or `post_owner`",
        "created_at=creation_time lang=lang author=post_owner.username|post_owner.name "
        "url=link_attachment.link permalink=mcl_url",
        needs="id creation_time text",
        text="text",
        id="id",
    ),
    Format(
        "GDELT GKG",
        "27 columns between tabs, without a header; also with one (BigQuery)",
        "the page's title in Extras",
        "GKGRECORDID",
        matches=lambda record: {"GKGRECORDID", "DocumentIdentifier", "Extras"} <= record.keys(),
        convert=_from_gkg,
        header=_GKG,
    ),
)


def _installed() -> Iterator[Format]:
    """The formats that other packages add."""
    for point in added("readers").values():
        found = load(point)
        for one in [found] if isinstance(found, Format) else found:
            if not isinstance(one, Format):
                raise InputError(
                    f"the package {package_of(point)} adds the reader '{point.name}', which is of "
                    f"type {type(one).__name__}; expected a Format or a list of them"
                )
            yield one


FORMATS: tuple[Format, ...] = (*_installed(), *platforms.FORMATS, *_TOOLS)
"""If a record has the shape of several, the first counts; those of other packages come first."""

_SHARE = 10  # one of this many records must have the shape


def known_format(records: Sequence[Record]) -> Format | None:
    """The most frequent format of the first records of a file."""
    shapes = Counter(
        next((number for number, one in enumerate(FORMATS) if one.fits(record)), None)
        for record in records
    )
    del shapes[None]
    for number, count in shapes.most_common(1):
        if number is not None and count * _SHARE >= len(records):
            return FORMATS[number]
    return None


def known_table(names: Sequence[str]) -> Format | None:
    """The format of a table with these columns; formats with nested objects are not tables."""
    record = dict.fromkeys(names, "")
    flat = (found for found in FORMATS if found.columns is not None or found.header)
    return next((found for found in flat if found.fits(record)), None)
