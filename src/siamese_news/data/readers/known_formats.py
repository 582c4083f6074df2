"""Every known format (of packages, platforms and tools), and which of them a record has."""

from collections import Counter
from collections.abc import Iterator, Sequence

from siamese_news.data.readers import platforms, scrapers
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.formats import Columns, Format
from siamese_news.errors import InputError
from siamese_news.utils.plugins import added, load, package_of


def _table(
    name: str,
    recognized: str,
    needs: str,
    columns: str,
    *inside: str,
    local_ids: bool = False,
) -> Format:
    """A flat format by the columns that it `needs` and the names that a post gives its columns.

    As in `post_of`, the first that a file has counts: ``text=tweet id=id author=name|handle``.
    """
    pairs = (pair.partition("=") for pair in columns.split())
    targets = {target: options.split("|") for target, _, options in pairs}
    texts = targets.pop("text")
    ids = targets.pop("id")
    titles = targets.pop("title", [])
    return Format(
        name,
        recognized,
        " + ".join((*titles, texts[0])),
        " or ".join(ids),
        columns=Columns(needs.split(), texts, ids, next(iter(titles), None), targets),
        inside=inside,
        local_ids=local_ids,
    )


_TOOLS = (
    _table(
        "Reddit submissions (PRAW)",
        "columns `title`, `num_comments`, and `body` or `selftext`",
        "title num_comments id",
        "title=title text=body|selftext|text id=name|id author=author url=url permalink=permalink "
        "created_at=created_utc|created|timestamp|date channel=subreddit",
    ),
    _table(
        "results of this program",
        "`article`, `rank`, `score`, `post`: what `rank` and `filter` wrote",
        "article rank score post",
        "text=text id=post created_at=created_at lang=lang author=author permalink=link "
        "reply_to=reply_to thread=thread quotes=quotes channel=channel",
    ),
    _table(
        "snscrape, twscrape",
        "`rawContent` or `renderedContent` with `id`, `date`, `url`",
        "id url date rawcontent",
        "text=rawcontent|renderedcontent|content id=id_str|id created_at=date lang=lang "
        "author=user.username|username permalink=url thread=conversationidstr|conversationid "
        "reply_to=inreplytotweetidstr|inreplytotweetid quotes=quotedtweet.id "
        "retweet_of=retweetedtweet.id",
    ),
    _table(
        "twint",
        "`tweet` with `conversation_id`, `link`",
        "id conversation_id tweet link",
        "text=tweet id=id created_at=created_at lang=language author=username permalink=link "
        "thread=conversation_id retweet_of=retweet_id",
    ),
    _table(
        "rtweet",
        "`status_id`, `screen_name`, `text`, `is_retweet`; ids with an `x` in front lose it",
        "status_id screen_name text is_retweet",
        "text=text id=status_id created_at=created_at lang=lang author=screen_name "
        "permalink=status_url reply_to=reply_to_status_id quotes=quoted_status_id "
        "retweet_of=retweet_status_id url=urls_expanded_url",
    ),
    _table(
        "pyktok",
        "`video_description`, `video_timestamp`",
        "video_id video_timestamp video_description",
        "text=video_description id=video_id created_at=video_timestamp author=author_username",
    ),
    _table(
        "CrowdTangle CSV (Facebook)",
        "`Post Created`, `Message`, `URL`; the address is the id",
        "post_created message url",
        "text=message|link_text|description id=url permalink=url created_at=post_created "
        "author=user_name|page_name|group_name channel=page_name|group_name url=final_link|link",
    ),
    _table(
        "CrowdTangle CSV (Instagram)",
        "`Post Created`, `Description`, `URL`; the address is the id",
        "post_created description url",
        "text=description|title id=url permalink=url created_at=post_created "
        "author=user_name|account",
    ),
    _table(
        "Brandwatch",
        "`Query Id`, `Full Text`, `Url`, below some lines about the export",
        "query_id query_name url full_text",
        "title=title text=full_text|snippet id=resource_id|mention_id|url created_at=date "
        "lang=language author=author permalink=url",
    ),
    _table(
        "Meltwater",
        "`URL`, `Opening Text`, `Hit Sentence`; the sentence is the text",
        "url opening_text hit_sentence",
        "text=hit_sentence|opening_text id=document_id|url created_at=date lang=language "
        "author=author_handle|influencer permalink=url",
    ),
    _table(
        "Sprinklr",
        "`Message`, `CreatedTime`, `Permalink`",
        "message createdtime permalink",
        "text=message id=universalmessageid|snmsgid|permalink created_at=createdtime "
        "lang=languagecode|language author=senderscreenname permalink=permalink",
    ),
    _table(
        "minet (Facebook)",
        "`formatted_date`, `user_label`, `text`",
        "user_label text formatted_date",
        "text=text id=comment_id|post_id|url created_at=formatted_date|date "
        "author=user_handle|user_label permalink=url",
    ),
    _table(
        "Meta Content Library",
        "`creation_time`, `text`, `mcl_url` or `post_owner`",
        "id creation_time text",
        "text=text id=id created_at=creation_time lang=lang permalink=mcl_url "
        "author=post_owner.username|post_owner.name url=link_attachment.link",
    ),
    _table(
        "Slack",
        "`type`, `user`, `text`, `ts`: the files of a channel's days, or `messages`",
        "type user text ts",
        "text=text id=id|ts created_at=ts author=user reply_to=thread_ts thread=thread_ts",
        "messages",
        local_ids=True,
    ),
    _table(
        "DiscordChatExporter CSV",
        "columns `AuthorID`, `Author`, `Date`, `Content`, `Attachments`; rows are numbered",
        "authorid author date content attachments",
        "text=content id=line created_at=date author=author",
        local_ids=True,
    ),
    _table(
        "weiboSpider",
        "columns `微博id`, `微博正文`, `发布时间`",
        "微博id 微博正文",
        "text=微博正文 id=微博id created_at=发布时间 author=用户昵称 retweet_of=源微博id",
    ),
    _table(
        "Elasticsearch",
        "`_index`, `_id`, `_source.text`: a line for each hit, or `hits.hits`",
        "_index _id _source.text",
        "text=_source.text id=_id created_at=_source.created_at lang=_source.lang",
        "hits.hits",
        local_ids=True,
    ),
    _table(
        "GeoJSON",
        "`features` with `properties.text`",
        "type geometry properties.text",
        "text=properties.text id=properties.id|id created_at=properties.created_at",
        "features",
        local_ids=True,
    ),
)


def _installed() -> Iterator[Format]:
    """The formats that other packages add."""
    for point in added("readers").values():
        loaded = load(point)
        for format in [loaded] if isinstance(loaded, Format) else loaded:
            if not isinstance(format, Format):
                raise InputError(
                    f"the package {package_of(point)} adds the reader '{point.name}', which is of "
                    f"type {type(format).__name__}; expected a Format or a list of them"
                )
            yield format


# If a record has the shape of several, the first counts; those of other packages come first.
FORMATS: tuple[Format, ...] = (
    *_installed(),
    *platforms.FORMATS,
    *scrapers.FORMATS,
    *_TOOLS,
)

_SHARE = 10  # one of this many records must have the shape


def known_format(records: Sequence[Record]) -> Format | None:
    """The most frequent format of the first records of a file."""
    shapes = Counter(
        next(
            (number for number, format in enumerate(FORMATS) if format.fits(record)),
            None,
        )
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
    return next(
        (
            format
            for format in FORMATS
            if (format.columns is not None or format.flat) and format.fits(record)
        ),
        None,
    )
