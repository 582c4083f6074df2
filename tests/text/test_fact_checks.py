"""Whether an article shows that it checks a claim."""

import pytest

from siamese_news.text.fact_checks import LEAST_WORDS, checking_words

REPORT = (
    "The river Asker burst its banks in Harlow Bridge on Sunday night. Nine hundred people were "
    "evacuated from their houses, and the flood barrier failed after a pump lost power."
)
OTHERS = {
    "da": "Påstanden om at vandet kom fra dæmningen er falsk, siger kommunen. Billedet, som mange "
    "har delt på de sociale medier i denne uge, er fra et helt andet land og fra et andet år.",
    "de": "Die Behauptung, dass der Damm absichtlich geöffnet wurde, ist falsch. Der Faktencheck "
    "zeigt, dass die Aufnahmen, die in den sozialen Medien geteilt wurden, aus einem anderen Jahr "
    "stammen.",
    "es": "Es falso que el gobierno abriera la presa el domingo por la noche. El bulo se ha "
    "compartido miles de veces, pero las imágenes son de otro país y de otro año, según la "
    "verificación.",
}


def test_words_of_a_fact_check_are_counted():
    checked = (
        REPORT + " Fact-checkers debunked it: CLAIMS of a broken dam are misleading."
    )
    assert checking_words(REPORT) == 0
    assert checking_words(checked) == 4
    # Only what begins so: an exclamation is not a claim.
    assert checking_words(REPORT + " Exclaimed, proclaimed and reclaimed.") == 0


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_have_their_words(language):
    assert checking_words(OTHERS[language]) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "De aardbeving in Nepal heeft zondag aan negenhonderd mensen het leven gekost. Het "
        "reddingswerk gaat door, maar de wegen naar de dorpen in de bergen zijn niet begaanbaar.",
        "Une intoxication alimentaire a touché dimanche neuf cents élèves de la ville. Le faucon "
        "de la cathédrale, lui, se porte bien, a dit la mairie, qui a fermé les cantines.",
    ],
)
def test_a_word_that_begins_others_counts_by_itself_alone(text):
    assert checking_words(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The claim is false",
        " ".join(["false"] * (LEAST_WORDS - 1)),
        # No words are listed for Korean.
        "아스커강이 범람해 주민 구백 명이 일요일 밤에 대피했다 펌프 고장으로 수문이 열리지 않았다 "
        * 4,
    ],
)
def test_a_short_text_or_one_in_another_language_does_not_show_it(text):
    assert checking_words(text) is None


def test_accents_are_read_in_either_form():
    composed = OTHERS["da"]
    decomposed = composed.replace("å", "a\u030a").replace("Å", "A\u030a")
    assert decomposed != composed
    assert checking_words(decomposed) == checking_words(composed)
