"""Flat records of known tools and platforms: which column is what."""

import html
import re
from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Columns, Format
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post

_PAGE_TITLE = re.compile(r"<PAGE_TITLE>(.*?)</PAGE_TITLE>", re.DOTALL)
_GKG = tuple(
    """
    GKGRECORDID DATE SourceCollectionIdentifier SourceCommonName DocumentIdentifier Counts
    V2Counts Themes V2Themes Locations V2Locations Persons V2Persons Organizations
    V2Organizations V2Tone Dates GCAM SharingImage RelatedImages SocialImageEmbeds
    SocialVideoEmbeds Quotations AllNames Amounts TranslationInfo Extras
    """.split()
)


def is_gkg(record: Record) -> bool:
    """A row of GDELT's Global Knowledge Graph 2, by the names of its columns."""
    return {"GKGRECORDID", "DocumentIdentifier", "Extras"} <= record.keys()


def from_gkg(record: Record) -> Converted:
    """The page that a row is about: its title is all the text that there is; None without one."""
    found = _PAGE_TITLE.search(text_value(record.get("Extras") or "", "Extras"))
    if found is None:
        return None
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record.get("DATE"))
    put(metadata, "author", record.get("SourceCommonName"))
    put(metadata, "permalink", record["DocumentIdentifier"])
    title = html.unescape(found[1]).strip()
    return Post(id_value(record["GKGRECORDID"], "GKGRECORDID"), title, metadata)


def _table(
    name: str,
    recognised: str,
    *,
    needs: str,
    text: str,
    id: str,
    title: str | None = None,
    **metadata: str,
) -> Format:
    """A flat format; of several columns, divided by spaces, the first that a file has counts."""
    texts, ids = text.split(), id.split()
    about = {name: columns.split() for name, columns in metadata.items()}
    return Format(
        name,
        recognised,
        f"{title} + {texts[0]}" if title else texts[0],
        " or ".join(ids),
        columns=Columns(needs.split(), texts, ids, title, about),
    )


FORMATS = (
    _table(
        "results of this program",
        "`article`, `rank`, `score`, `post`: what `rank` and `filter` wrote",
        needs="article rank score post",
        text="text",
        id="post",
        created_at="created_at",
        lang="lang",
        author="author",
        permalink="link",
        reply_to="reply_to",
        thread="thread",
        quotes="quotes",
        channel="channel",
    ),
    _table(
        "snscrape, twscrape",
        "`rawContent` or `renderedContent` with `id`, `date`, `url`",
        needs="id url date rawcontent",
        text="rawcontent renderedcontent content",
        id="id_str id",
        created_at="date",
        lang="lang",
        author="user.username username",
        permalink="url",
        reply_to="inreplytotweetidstr inreplytotweetid",
        thread="conversationidstr conversationid",
        quotes="quotedtweet.id",
        retweet_of="retweetedtweet.id",
    ),
    _table(
        "twint",
        "`tweet` with `conversation_id`, `link`",
        needs="id conversation_id tweet link",
        text="tweet",
        id="id",
        created_at="created_at",
        lang="language",
        author="username",
        permalink="link",
        thread="conversation_id",
        retweet_of="retweet_id",
    ),
    _table(
        "pyktok",
        "`video_description`, `video_timestamp`",
        needs="video_id video_timestamp video_description",
        text="video_description",
        id="video_id",
        created_at="video_timestamp",
        author="author_username",
    ),
    _table(
        "CrowdTangle CSV (Facebook)",
        "`Post Created`, `Message`, `URL`; the address is the id",
        needs="post_created message url",
        text="message link_text description",
        id="url",
        created_at="post_created",
        author="user_name page_name group_name",
        channel="page_name group_name",
        url="final_link link",
        permalink="url",
    ),
    _table(
        "CrowdTangle CSV (Instagram)",
        "`Post Created`, `Description`, `URL`; the address is the id",
        needs="post_created description url",
        text="description title",
        id="url",
        created_at="post_created",
        author="user_name account",
        permalink="url",
    ),
    _table(
        "Brandwatch",
        "`Query Id`, `Full Text`, `Url`, below some lines about the export",
        needs="query_id query_name url full_text",
        text="full_text snippet",
        id="resource_id mention_id url",
        title="title",
        created_at="date",
        lang="language",
        author="author",
        permalink="url",
    ),
    _table(
        "Sprinklr",
        "`Message`, `CreatedTime`, `Permalink`",
        needs="message createdtime permalink",
        text="message",
        id="universalmessageid snmsgid permalink",
        created_at="createdtime",
        lang="languagecode language",
        author="senderscreenname",
        permalink="permalink",
    ),
    _table(
        "minet (Facebook)",
        "`formatted_date`, `user_label`, `text`",
        needs="user_label text formatted_date",
        text="text",
        id="comment_id post_id url",
        created_at="formatted_date date",
        author="user_handle user_label",
        permalink="url",
    ),
    _table(
        "Meta Content Library",
        "`creation_time`, `text`, `mcl_url` or `post_owner`",
        needs="id creation_time text",
        text="text",
        id="id",
        created_at="creation_time",
        lang="lang",
        author="post_owner.username post_owner.name",
        url="link_attachment.link",
        permalink="mcl_url",
    ),
    Format(
        "GDELT GKG",
        "27 columns between tabs, without a header; also with one (BigQuery)",
        "the page's title in Extras",
        "GKGRECORDID",
        matches=is_gkg,
        convert=from_gkg,
        header=_GKG,
    ),
)
