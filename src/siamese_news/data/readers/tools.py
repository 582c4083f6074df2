"""Flat records of known tools and platforms: which column is what."""

import html
import re
from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Columns, Format
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post

_PAGE_TITLE = re.compile(r"<PAGE_TITLE>(.*?)</PAGE_TITLE>", re.DOTALL)
_GKG = (
    "GKGRECORDID",
    "DATE",
    "SourceCollectionIdentifier",
    "SourceCommonName",
    "DocumentIdentifier",
    "Counts",
    "V2Counts",
    "Themes",
    "V2Themes",
    "Locations",
    "V2Locations",
    "Persons",
    "V2Persons",
    "Organizations",
    "V2Organizations",
    "V2Tone",
    "Dates",
    "GCAM",
    "SharingImage",
    "RelatedImages",
    "SocialImageEmbeds",
    "SocialVideoEmbeds",
    "Quotations",
    "AllNames",
    "Amounts",
    "TranslationInfo",
    "Extras",
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
    name: str, recognised: str, sample: str, file: str, columns: Columns, **others: Any
) -> Format:
    title = f"{columns.title} + " if columns.title else ""
    return Format(
        name,
        recognised,
        title + columns.texts[0],
        " or ".join(columns.ids),
        sample,
        file,
        columns=columns,
        **others,
    )


FORMATS = (
    _table(
        "results of this program",
        "`article`, `rank`, `score`, `post`: what `rank` and `filter` wrote",
        """\
article,rank,score,post,text,cluster,cluster_size,lang,created_at,terms,link
story,1,0.5,42,The river is over the bridge,0,1,en,2024-05-02T10:00:00Z,river; bridge,
""",
        "found.csv",
        Columns(
            ("article", "rank", "score", "post"),
            ("text",),
            ("post",),
            None,
            {
                "created_at": ("created_at",),
                "lang": ("lang",),
                "author": ("author",),
                "permalink": ("link",),
            },
        ),
    ),
    _table(
        "snscrape, twscrape",
        "`rawContent` or `renderedContent` with `id`, `date`, `url`",
        """\
{"_type": "snscrape.modules.twitter.Tweet", "url": \
"https://twitter.com/ann/status/1585341984679469056", "date": "2022-10-26T18:31:28+00:00", \
"rawContent": "The river is over the bridge", "renderedContent": "The river is over the bridge", \
"id": 1585341984679469056, "user": {"username": "ann", "id": 1}, "lang": "en"}
""",
        "tweets.jsonl",
        Columns(
            ("id", "url", "date", "rawcontent"),
            ("rawcontent", "renderedcontent", "content"),
            ("id_str", "id"),
            None,
            {
                "created_at": ("date",),
                "lang": ("lang",),
                "author": ("user.username", "username"),
                "permalink": ("url",),
            },
        ),
    ),
    _table(
        "twint",
        "`tweet` with `conversation_id`, `link`",
        """\
id,conversation_id,created_at,date,time,timezone,user_id,username,name,language,tweet,link
1585341984679469056,1585341984679469056,2022-10-26 18:31:28 UTC,2022-10-26,18:31:28,+0000,1,ann,\
Ann,en,The river is over the bridge,https://twitter.com/ann/status/1585341984679469056
""",
        "twint.csv",
        Columns(
            ("id", "conversation_id", "tweet", "link"),
            ("tweet",),
            ("id",),
            None,
            {
                "created_at": ("created_at",),
                "lang": ("language",),
                "author": ("username",),
                "permalink": ("link",),
            },
        ),
    ),
    _table(
        "pyktok",
        "`video_description`, `video_timestamp`",
        """\
video_id,video_timestamp,video_duration,video_diggcount,video_description,author_username
7212345678901234567,2024-05-02T10:00:00,15,3,The river is over the bridge #flood,ann
""",
        "pyktok.csv",
        Columns(
            ("video_id", "video_timestamp", "video_description"),
            ("video_description",),
            ("video_id",),
            None,
            {"created_at": ("video_timestamp",), "author": ("author_username",)},
        ),
    ),
    _table(
        "CrowdTangle CSV (Facebook)",
        "`Post Created`, `Message`, `URL`; the address is the id",
        """\
Page Name,User Name,Facebook Id,Post Created,Type,Total Interactions,Message,URL,Link
Harlow News,harlownews,100,2021-05-02 10:00:00 EDT,Link,12,The river is over the bridge,\
https://www.facebook.com/100/posts/200,https://paper.example/story
""",
        "crowdtangle.csv",
        Columns(
            ("post_created", "message", "url"),
            ("message", "link_text", "description"),
            ("url",),
            None,
            {
                "created_at": ("post_created",),
                "author": ("user_name", "page_name", "group_name"),
                "url": ("final_link", "link"),
                "permalink": ("url",),
            },
        ),
    ),
    _table(
        "CrowdTangle CSV (Instagram)",
        "`Post Created`, `Description`, `URL`; the address is the id",
        """\
Account,User Name,Followers at Posting,Post Created,Type,Likes,Comments,URL,Description
Harlow News,harlownews,900,2021-05-02 10:00:00 EDT,Photo,12,1,\
https://www.instagram.com/p/abc/,The river is over the bridge
""",
        "instagram.csv",
        Columns(
            ("post_created", "description", "url"),
            ("description", "title"),
            ("url",),
            None,
            {
                "created_at": ("post_created",),
                "author": ("user_name", "account"),
                "permalink": ("url",),
            },
        ),
    ),
    _table(
        "Brandwatch",
        "`Query Id`, `Full Text`, `Url`, below some lines about the export",
        """\
Report:,Mentions
Brand:,Harlow
From:,2024-05-01

Query Id,Query Name,Date,Title,Snippet,Url,Domain,Page Type,Language,Author,Full Text,Resource Id
1,Harlow,2024-05-02 10:00:00.0,The river,The river is,https://a.example/1,a.example,news,en,Ann,\
The river is over the bridge,r1
""",
        "brandwatch.csv",
        Columns(
            ("query_id", "query_name", "url", "full_text"),
            ("full_text", "snippet"),
            ("resource_id", "mention_id", "url"),
            "title",
            {
                "created_at": ("date",),
                "lang": ("language",),
                "author": ("author",),
                "permalink": ("url",),
            },
        ),
    ),
    _table(
        "Sprinklr",
        "`Message`, `CreatedTime`, `Permalink`",
        """\
SenderScreenName,Message,MessageType,CreatedTime,LanguageCode,Permalink,UniversalMessageId
ann,The river is over the bridge,Twitter Update,2024-05-02 10:00:00,en,\
https://twitter.com/ann/status/1585341984679469056,TWITTER_1_1585341984679469056
""",
        "sprinklr.csv",
        Columns(
            ("message", "createdtime", "permalink"),
            ("message",),
            ("universalmessageid", "snmsgid", "permalink"),
            None,
            {
                "created_at": ("createdtime",),
                "lang": ("languagecode", "language"),
                "author": ("senderscreenname",),
                "permalink": ("permalink",),
            },
        ),
    ),
    _table(
        "minet (Facebook)",
        "`formatted_date`, `user_label`, `text`",
        """\
url,user_id,user_handle,user_url,user_label,text,html,formatted_date,date,reactions,comments
https://www.facebook.com/100/posts/200,100,harlownews,https://www.facebook.com/harlownews,\
Harlow News,The river is over the bridge,<p>,2024-05-02T10:00:00,1714644000,12,1
""",
        "minet.csv",
        Columns(
            ("user_label", "text", "formatted_date"),
            ("text",),
            ("comment_id", "post_id", "url"),
            None,
            {
                "created_at": ("formatted_date", "date"),
                "author": ("user_handle", "user_label"),
                "permalink": ("url",),
            },
        ),
    ),
    _table(
        "Meta Content Library",
        "`creation_time`, `text`, `mcl_url` or `post_owner`",
        """\
{"id": "1234567", "creation_time": "2024-05-02T10:00:00-08:00", "lang": "en", "text": \
"The river is over the bridge", "post_owner": {"id": "9", "name": "Harlow News", "username": \
"harlownews"}, "mcl_url": "https://www.facebook.com/transparency/content-library/1234567"}
""",
        "library.jsonl",
        Columns(
            ("id", "creation_time", "text"),
            ("text",),
            ("id",),
            None,
            {
                "created_at": ("creation_time",),
                "lang": ("lang",),
                "author": ("post_owner.username", "post_owner.name"),
                "url": ("link_attachment.link",),
                "permalink": ("mcl_url",),
            },
        ),
    ),
    Format(
        "GDELT GKG",
        "27 columns between tabs, without a header; also with one (BigQuery)",
        "the page's title in Extras",
        "GKGRECORDID",
        "20240502100000-1\t20240502100000\t1\tpaper.example\thttps://paper.example/story"
        + "\t" * 22
        + "<PAGE_TITLE>The river is over the bridge</PAGE_TITLE>\n",
        "20240502100000.gkg.csv",
        matches=is_gkg,
        convert=from_gkg,
        header=_GKG,
    ),
)
