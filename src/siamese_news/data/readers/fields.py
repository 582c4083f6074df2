"""Finds the fields of the text, id and date of records from any source, and makes posts of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from siamese_news.data.jsonl import missing
from siamese_news.data.lines import BadRow
from siamese_news.data.readers.changed_ids import (
    float_made,
    prefixed,
    refuse_rounded,
    rounded,
    without_prefix,
)
from siamese_news.data.readers.values import (
    DELETED,
    LINKS,
    Deleted,
    id_value,
    is_deleted,
    metadata_of,
    put,
    text_value,
    unwrapped,
    whole_number,
    without_html,
)
from siamese_news.data.records import Post, clean_text
from siamese_news.errors import InputError
from siamese_news.utils.unicode import normalized

Record = dict[str, Any]
Converted = (
    Post | Deleted | None | list[Post | BadRow] | list[Post | BadRow | Deleted | None]
)
# A record's post; `DELETED` if its text is; None for other records (likes); a list for a page.
Convert = Callable[[Record], Converted]

# Best first, written as `normal` returns them; English names, then those of German, Spanish,
# French, Portuguese, Russian, Japanese and Chinese tables.
BODIES = tuple(
    """
    beitragstext inhalt nachricht beitrag kommentar texto contenido mensaje publicacion
    comentario texte contenu commentaire conteudo mensagem publicacao postagem texto_del_tweet
    texte_du_tweet texto_do_tweet tweettext text_der_nachricht text_des_beitrags texto_del_mensaje
    texte_du_message texto_da_mensagem текст текст_сообщения текст_поста текст_комментария
    текст_публикации текст_записи сообщение комментарий пост публикация запись содержание содержимое
    本文 投稿本文 テキスト 投稿内容 メッセージ コメント 微博正文 正文 内容 文本
    评论内容 消息内容 帖子内容
    """.split()
)
# full_text before text: where a dump has both, `text` is cut off.
TEXTS = (
    *"""
    full_text text tweet_text post_text content body message tweet post caption comment selftext
    rawcontent video_description message_text comment_text reply_text answer_text
    """.split(),
    *BODIES,
)
# id_str before id: many dumps of tweets round the number of `id`.
IDS = tuple(
    """
    _id id_str id tweet_id status_id comment_id answer_id reply_id review_id message_id post_id
    question_id uri guid kennung beitrags_id
    beitrag_id nachrichten_id kommentar_id identificador id_tweet id_post id_publicacion
    id_de_publicacion id_de_la_publicacion id_mensaje id_comentario id_del_tweet identifiant
    id_publication id_de_publication id_de_la_publication id_message id_commentaire id_du_tweet
    id_publicacao id_da_publicacao id_postagem id_mensagem id_do_tweet ид идентификатор id_поста
    id_сообщения id_комментария id_публикации id_записи ид_поста ид_сообщения ид_комментария
    номер_сообщения номер_поста номер 投稿id ツイートid メッセージid コメントid
    微博id 评论id 消息id 帖子id
    """.split()
)
TITLES = (
    "title",
    "headline",
    "titel",
    "titulo",
    "titre",
    "заголовок",
    "タイトル",
    "标题",
)
# Links between posts: `reply_to` the post that one answers, `thread` the post that began the whole
# conversation, `quotes` and `retweet_of` the post that one shows, all as the ids of those posts;
# `channel` the place of the post (a subreddit, a chat). `edited_at` tells versions of a post apart.
METADATA: Mapping[str, Sequence[str]] = {
    # Also without a sign between the words, as in `lastEditedAt`.
    name: (*columns.split(), *columns.replace("_", "").split())
    for name, columns in {
        "created_at": """
            created_at createdat created_utc date datetime timestamp timestamp_utc time
            published_at published pubdate posted_at post_created created creation_time
            created_time create_time publishedat timestamp_ms creation_date creation_timestamp
            date_created created_on posted_on published_on published_date publication_date
            datum erstellt_am veroffentlicht_am
            zeitpunkt zeitstempel erstellungsdatum fecha fecha_de_publicacion fecha_publicacion
            fecha_de_creacion creado_el publicado_el date_de_publication date_publication
            date_de_creation cree_le publie_le data_de_publicacao data_da_publicacao
            data_publicacao data_de_criacao criado_em publicado_em data_hora data
            дата дата_публикации дата_и_время дата_сообщения дата_создания дата_отправки время
            время_публикации 日付 日時 投稿日時 投稿日 发布时间 发布日期 评论时间 创建时间 发表时间
        """,
        "edited_at": """
            edited_at editedat last_edited_at edited edit_date edited_timestamp editedtimestamp
            updated_at updatedat updated modified modified_at last_modified lastmodified
            last_edited last_edit_date date_modified datemodified edited_on edited_time edit_time
            last_edit_time date_edited updated_time updated_on update_time last_updated
            last_updated_at last_update updated_date date_updated modified_time modified_on
            last_modified_at modified_date modification_date modification_time updated_timestamp
            modified_timestamp bearbeitet_am geandert_am aktualisiert_am
            modifie_le mis_a_jour_le editado_el modificado_el actualizado_el editado_em
            atualizado_em modificado_em изменено отредактировано 編集日時 更新日時 编辑时间 修改时间
            zuletzt_bearbeitet zuletzt_geandert derniere_modification
            ultima_modificacion ultima_edicion ultima_edicao
        """,
        "lang": "lang language sprache idioma langue",
        "author": """
            author author_username username user_name screen_name user_screen_name user handle
            page_name author_name from_user autor autorin verfasser nutzername benutzername
            usuario nombre_de_usuario auteur utilisateur nom_d_utilisateur nome_de_usuario
            автор автор_сообщения имя_пользователя пользователь отправитель ユーザー名 投稿者 用户昵称
        """,
        "url": "url link expanded_url enlace lien",
        "permalink": "permalink post_url tweet_url status_url",
        "retweet_of": """
            retweet_of retweeted_id retweeted_status_id retweet_status_id
            referenced_tweets_retweeted_id
        """,
        "reply_to": """
            reply_to reply_to_id in_reply_to in_reply_to_id in_reply_to_status_id_str
            in_reply_to_status_id reply_to_status_id in_reply_to_tweet_id
            referenced_tweets_replied_to_id inreplytotweetidstr inreplytotweetid replied_to_id
            reply_to_message_id parent_id
            parent_comment_id parentid antwort_auf en_respuesta_a en_reponse_a em_resposta_a
        """,
        "thread": """
            thread thread_id conversation_id_str conversation_id conversationidstr conversationid
            root_id link_id
        """,
        "quotes": """
            quotes quoted_id quoted_status_id_str quoted_status_id quoted_tweet_id quoted_post_id
            referenced_tweets_quoted_id
        """,
        "channel": """
            channel channel_name channel_title subreddit chat chat_name group_name board chat_id
            channel_id group group_id room server forum
        """,
    }.items()
}
# The id field that numbers the rows of data that has no ids.
LINE = "line"
# The metadata with the names and lengths of the fields that a text is joined from.
PARTS = "@fields"

# Tags alone are a sign of HTML: texts with `&amp;` may have "x<y and y>z", which no tag is.
_HTML = re.compile(r"</(?:p|a|div|span)>|<br ?/?>", re.IGNORECASE)
_DAY = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\.?")
_TIMES = frozenset("time uhrzeit zeit hora heure ora tid время 時刻 时间".split())
_SAMPLES = 3  # values of a field that a message shows
_DEPTH = 4  # objects and lists inside each other whose fields are offered
_FIELDS = 100  # fields that are offered


class UnknownFields(InputError):
    """The fields of the text, the id or the date of a file were not recognized.

    `samples` are the fields, in the order of the file, and up to three values of each.
    """

    def __init__(self, message: str, samples: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message)
        self.samples = samples


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that a reader uses; a record's first one for the text and for the id counts."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    # Name in a post's -> field.
    metadata: Mapping[str, str] = field(default_factory=dict)
    # Of the record's own ``metadata``.
    nested: Mapping[str, str] = field(default_factory=dict)
    title: str | None = None  # belongs to the text
    spare: str | None = None  # replaces an empty text
    # The text is that of all `texts`, a line each; `PARTS` tells them apart.
    joined: bool = False
    html: bool = False  # tags are taken out of the text
    float_ids: frozenset[str] = frozenset()  # fields of ids that are `float_made`
    prefixed: frozenset[str] = frozenset()  # fields of ids with the `x` of rtweet
    reddit: bool = False  # "[deleted]" stands for a deleted text
    dates: str = ""  # how they are written: an order of `dates.ORDERS`, or a pattern


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choices about fields and encoding; None is left to detection.

    `group_field` is kept in a post's metadata as ``group``: ``platform``, ``file``, another name of
    its metadata, or a field of its record.
    """

    text_field: str | Sequence[str] | None = None  # several: the parts of the text
    id_field: str | None = None
    date_field: str | None = None
    encoding: str | None = None
    group_field: str | None = None
    date_format: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The fields of the text; empty if they are left to detection."""
        chosen = self.text_field or ()
        return (chosen,) if isinstance(chosen, str) else tuple(chosen)


@lru_cache(4096)
def normal(name: str) -> str:
    """A field's name in lower case, without signs, and without accents on Latin letters.

    ``Tweet ID`` is ``tweet_id``.
    """
    lowered = name.strip().lower()
    if not lowered.isascii():
        split = normalized("NFKD", lowered)
        # The marks of other scripts make other letters: й is not и.
        lowered = normalized("NFKC", re.sub("(?<=[a-z])[\u0300-\u036f]+", "", split))
    lowered = re.sub(r"[\W_]+", "_", lowered).strip("_")
    return f"_{lowered}" if name.startswith("_") else lowered


def find_fields(
    names: Iterable[str], location: str, choice: Choice, records: Iterable[Record] = ()
) -> Fields:
    """Choose among the fields `names` that the first records have.

    The user's choices come first; a dot leads into an object, and the id field `LINE` numbers the
    rows of data without ids. `records` are some of the records, for samples and for the fields of
    their ``metadata``.

    Raises:
        UnknownFields: no field for the text or the id was found, or the chosen one is missing.
    """
    names = list(names)
    records = list(records)
    outer = by_normal_name(names)
    inner = by_normal_name(
        name
        for record in records
        if isinstance(nested_fields := record.get("metadata"), dict)
        for name in nested_fields
    )
    chosen = choice.texts
    texts = chosen or present(outer, TEXTS)
    ids = present(outer, IDS) if choice.id_field is None else (choice.id_field,)
    if not chosen and len(ids) > 1 and _stem(texts[:1]) & _stem(ids[1:]):
        # In a table of comments, `post_text` is what they comment on.
        texts = tuple(
            sorted(texts, key=lambda name: not _stem([name]) & _stem(ids[:1]))
        )
    metadata = first_present(outer, METADATA)
    check_fields(names, choice, location, records)
    if not texts or not ids:
        absent = " or the ".join(["text"] * (not texts) + ["id"] * (not ids))
        raise _unknown(
            f"{location}: no field was recognized as the {absent}", names, records
        )
    if choice.date_field is not None:
        metadata["created_at"] = choice.date_field
    inside = bool(chosen) and chosen[0] not in names  # no title replaces such a text
    beir = "_id" in names and "text" in names and not chosen
    return Fields(
        texts,
        ids,
        metadata,
        {
            to: name
            for to, name in first_present(inner, METADATA).items()
            if to not in metadata
        },
        "title" if beir and "title" in names else None,
        None if inside or len(chosen) > 1 else next(iter(present(outer, TITLES)), None),
        len(chosen) > 1,
        in_html(records, texts[0]),
        reddit=normal(metadata.get("channel", "")) == "subreddit",
    )


def in_html(records: Sequence[Record], name: str) -> bool:
    """Whether most of the texts in a field are HTML."""
    return sum(
        bool(_HTML.search(str(value_at(record, name)))) for record in records
    ) * 2 > len(records)


def linking(fields: Fields | None) -> list[str]:
    """The fields that hold ids, of the posts themselves or of others."""
    if fields is None:
        return []
    return [*fields.ids, *(name for to, name in fields.metadata.items() if to in LINKS)]


def checked(
    fields: Fields, records: Sequence[Record], location: str
) -> tuple[Fields, list[str]]:
    """The fields without links that are none, by the first records, and remarks on them.

    Raises:
        InputError: the ids are rounded.
    """
    names = (*linking(fields), *filter(None, [fields.metadata.get("channel")]))
    columns = {name: [value_at(record, name) for record in records] for name in names}
    refuse_rounded(columns[fields.ids[0]], fields.ids[0], location)
    metadata = dict(fields.metadata)
    remarks = []
    for target in LINKS & metadata.keys():
        name = metadata[target]
        if rounded(columns[name]):
            del metadata[target]
            remarks.append(
                f"{location}: '{name}' is not used: all its ids end in zeros after 15 digits, so a "
                "spreadsheet rounded them; go back to the file from before that"
            )
    if {"thread", "channel"} <= metadata.keys():
        thread = metadata["thread"]
        channel = metadata["channel"]
        pairs = [
            pair
            for pair in zip(columns[thread], columns[channel], strict=True)
            if pair[0]
        ]
        if pairs and all(thread == channel for thread, channel in pairs):
            del metadata["thread"]
            remarks.append(
                f"{location}: '{thread}' is not used as the conversation: it is the same as "
                f"'{channel}', which is the place"
            )
    days = [str(value_at(record, metadata.get("created_at", ""))) for record in records]
    if days and all(_DAY.fullmatch(day) for day in days):
        remarks += [
            f"{location}: '{name}' is not used, and the dates in '{metadata['created_at']}' are days: "
            "join the two columns to have the times"
            for name in records[0]
            if normal(name) in _TIMES
        ]
    float_ids = frozenset(name for name in fields.ids if float_made(columns[name]))
    remarks += [
        f"{location}: '{name}' has whole numbers that a data frame made fractions: 17.0 is the id 17"
        for name in fields.ids
        if name in float_ids
    ]
    first_id = fields.ids[0]
    stripped: frozenset[str] = frozenset()
    if prefixed(columns[first_id]):
        links = (name for target, name in metadata.items() if target in LINKS)
        stripped = frozenset((first_id, *links))
        remarks.append(
            f"{location}: '{first_id}' has an x before each number, as rtweet writes it: x12345 is "
            "the id 12345"
        )
    fields = replace(
        fields,
        metadata=metadata,
        float_ids=fields.float_ids | float_ids,
        prefixed=stripped,
    )
    return fields, remarks


def _stem(names: Iterable[str]) -> set[str]:
    """What fields are named after: `post` of `post_id` and of `post_text`."""
    return {re.sub(r"_(id|text)$", "", normal(name)) for name in names}


def check_fields(
    names: Sequence[str], choice: Choice, location: str, records: Iterable[Record] = ()
) -> None:
    """Refuse a chosen field that the records do not have."""
    own_id = None if choice.id_field == LINE else choice.id_field
    chosen = [
        *(("text", name) for name in choice.texts),
        ("id", own_id),
        ("date", choice.date_field),
    ]
    for target, name in chosen:
        if name is not None and name not in names and name.split(".")[0] not in names:
            raise _unknown(
                f"{location}: there is no field '{name}' (--{target}-field)",
                names,
                records,
            )


def samples_of(records: Iterable[Record]) -> dict[str, list[str]]:
    """The fields of records, those inside objects after a dot, and the first values of each."""
    samples: dict[str, list[str]] = {}
    for record in records:
        for name, value in _leaves(record, "", _DEPTH):
            if name not in samples and len(samples) == _FIELDS:
                continue
            values = samples.setdefault(name, [])
            text = " ".join(clean_text(str(value)[:200]).split())[:60]
            if (
                value is not None
                and text
                and text not in values
                and len(values) < _SAMPLES
            ):
                values.append(text)
    return samples


def _leaves(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key, depth - 1)
    elif isinstance(value, list):
        for item in value[:_SAMPLES]:
            yield from _leaves(item, name, depth)
    elif name and not isinstance(value, dict):
        yield name, value


def _unknown(
    problem: str, names: Sequence[str], records: Iterable[Record]
) -> UnknownFields:
    """The error that asks for all fields at once and lists all that can be chosen."""
    samples = samples_of(records) or {name: [] for name in names}
    listed = []
    for name, values in list(samples.items())[:30]:
        examples = ", ".join(f'"{value[:30]}"' for value in values[:2])
        listed.append(clean_text(name)[:60] + (f" ({examples})" if examples else ""))
    unlisted = f"; and {len(samples) - 30} more" if len(samples) > 30 else ""
    return UnknownFields(
        f"{problem}; the file has: {'; '.join(listed) or 'none'}{unlisted}. Name the fields of the "
        f"text, the id and the date with --text-field, --id-field (or --id-field {LINE}, to number the "
        "rows) and --date-field",
        samples,
    )


def by_normal_name(names: Iterable[str]) -> dict[str, str]:
    """The fields by their `normal` name; of several with one such name, the first."""
    names_by_normal: dict[str, str] = {}
    for name in names:
        names_by_normal.setdefault(normal(name), name)
    return names_by_normal


def present(by_normal: Mapping[str, str], options: Iterable[str]) -> tuple[str, ...]:
    """The fields with these normal names, in their order; a dot may lead into an object."""
    normal_names = by_normal.keys()
    return tuple(
        by_normal.get(n, n)
        for n in options
        if n in normal_names or ("." in n and n.split(".")[0] in normal_names)
    )


def first_present(
    by_normal: Mapping[str, str], options: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """For each key the first of its names that is `present`."""
    return {
        target: fields[0]
        for target, names in options.items()
        if (fields := present(by_normal, names))
    }


def generic(fields: Fields) -> Convert:
    """Make a converter of flat records: which text, see `Fields`."""
    dotted = [
        name
        for name in (*fields.texts, *fields.ids, *fields.metadata.values())
        if "." in name
    ]
    placed = {"thread", "channel"} <= fields.metadata.keys()

    def convert(record: Record) -> Post | Deleted:
        if dotted or fields.prefixed:
            record = _flattened(record, dotted, fields.prefixed)
        text, parts = _text_of(record, fields)
        heading = fields.title or (None if text else fields.spare)
        lead = record.get(heading) if heading else None
        if fields.reddit and text and is_deleted(text):
            text = ""
            if not lead or is_deleted(text_value(lead, str(heading))):
                return DELETED
        if text is None and not lead:
            raise _missing(fields.texts, record, "no text")
        post_id = _id_of(record, fields)
        if heading and lead:
            lead = text_value(lead, heading)
            text = f"{lead}\n{text}" if text else lead
        metadata = _metadata_of(record, fields, parts)
        if placed and "thread" in metadata:
            if metadata["thread"] == metadata.get("channel"):
                del metadata["thread"]  # a chat is not a conversation
        return Post(post_id, text or "", metadata)

    return convert


def _flattened(record: Record, dotted: Sequence[str], numbers: Iterable[str]) -> Record:
    """The record with the values that `dotted` names lead to, and `numbers` without their x."""
    flat = dict(record)
    for name in dotted:
        if name not in record and (value := value_at(record, name)) is not None:
            flat[name] = value
    for name in numbers:
        if name in flat:
            flat[name] = without_prefix(flat[name])
    return flat


def _text_of(record: Record, fields: Fields) -> tuple[str | None, list[list[Any]]]:
    """The text, None where no field has a value, and name and length of each part of it."""
    text = None
    parts: list[list[Any]] = []
    for name in fields.texts:
        value = record.get(name)
        if value is None:
            continue
        piece = text_value(value, name)
        if fields.html:
            piece = without_html(piece)
        text = f"{text}\n{piece}" if text and piece else text or piece
        if piece and not fields.joined:
            break
        if piece:
            parts.append([name, len(piece)])
    return text, parts


def _id_of(record: Record, fields: Fields) -> str:
    """The first id that is there; a `BadRow` without any."""
    for name in fields.ids:
        value = record.get(name)
        if value is None:
            continue
        if name in fields.float_ids:
            value = whole_number(value) or value
        if type(value) is dict:
            value = unwrapped(value)
        return id_value(value, name)
    raise _missing(fields.ids, record, "no id")


def _metadata_of(
    record: Record, fields: Fields, parts: list[list[Any]]
) -> dict[str, Any]:
    """The metadata of a record whose text has these `parts`."""
    metadata = metadata_of(record) if "metadata" in record else {}
    if fields.joined:
        metadata[PARTS] = parts
    for target, name in fields.nested.items():
        put(metadata, target, metadata.get(name))
    for target, name in fields.metadata.items():
        put(metadata, target, record.get(name), fields.dates)
    return metadata


def value_at(record: Record, name: str) -> Any:
    """The value of a field; None if the record does not have it.

    A dot leads into an object; of a list on the way, the first element that has the field counts.
    """
    return record[name] if name in record else _inside(record, name.split("."))


def _inside(value: Any, path: Sequence[str]) -> Any:
    if not path:
        return value
    if isinstance(value, dict):
        # As in a table of columns, where names are compared in their normal form.
        step = path[0]
        key = (
            step
            if step in value
            else next((k for k in value if normal(k) == step), step)
        )
        return _inside(value.get(key), path[1:])
    if isinstance(value, list):
        return next(
            (
                inner
                for item in value
                if isinstance(item, dict) and (inner := _inside(item, path)) is not None
            ),
            None,
        )
    return None


def _missing(names: Sequence[str], record: Record, reason: str) -> BadRow:
    for name in names:
        if name in record:
            return BadRow(reason, f"field '{name}' is null, expected a value")
    return BadRow(reason, missing(names, record))
