"""The specs: which measure, and which of its options is wanted.

A spec is data (it stands in YAML and in released tables); ``TextSpec`` is the union of all, told apart by ``measure``. Fields called
``is`` and ``except`` outside are ``value`` and ``exempt`` inside, for Python reserves those words.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Phrase = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class _Range(_Spec):
    at_least: Count | None = Field(None, description="smallest count that holds; none: no lower end")
    at_most: Count | None = Field(None, description="largest count that holds; none: no upper end")

    @model_validator(mode="after")
    def _ends(self) -> _Range:
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is above at_most {self.at_most}")
        return self


class PersonSpec(_Spec):
    """Grammatical person of the narration, quoted speech and polite formulas left out."""

    measure: Literal["person"]
    value: Literal["first", "second", "third"] = Field(alias="is")


class WordsSpec(_Range):
    """Number of words."""

    measure: Literal["words"]


class LayoutSpec(_Spec):
    """How the body is laid out; a mixture is none of them."""

    measure: Literal["layout"]
    value: Literal["bullets", "numbered", "headings", "paragraphs"] = Field(alias="is")


class GreetingSpec(_Spec):
    """The salutation at the start."""

    measure: Literal["greeting"]
    value: Literal["none", "casual", "formal"] = Field(alias="is")


class SignOffSpec(_Spec):
    """The closing formula at the end."""

    measure: Literal["sign_off"]
    value: Literal["none", "casual", "formal"] = Field(alias="is")


class EmojiSpec(_Range):
    """Number of emoji; a joined sequence or a flag is one, typed smileys are none."""

    measure: Literal["emoji"]


class SpellingSpec(_Spec):
    """Spelling variety: at least two marked words and none of the other variety."""

    measure: Literal["spelling"]
    value: Literal["british", "american"] = Field(alias="is")


class UnitsSpec(_Spec):
    """System of the measured quantities; a text with both is neither."""

    measure: Literal["units"]
    value: Literal["metric", "imperial"] = Field(alias="is")


class CurrencySpec(_Spec):
    """How money is marked: ``£5``, ``GBP 5`` or ``five pounds``."""

    measure: Literal["currency"]
    value: Literal["symbol", "code", "spelled_out"] = Field(alias="is")


class RoundingSpec(_Spec):
    """How money amounts are rounded; at least two amounts are needed to tell."""

    measure: Literal["rounding"]
    value: Literal["to_the_penny", "whole_units", "nearest_ten"] = Field(alias="is")
    exempt: tuple[Phrase, ...] = Field((), alias="except", description="amounts that must stay exact")


class DateFormatSpec(_Spec):
    """How dates are written; ``03/04/2026`` alone tells nothing."""

    measure: Literal["date_format"]
    value: Literal["iso", "day_first", "month_first"] = Field(alias="is")


class ReadingLevelSpec(_Spec):
    """Reading level by Flesch-Kincaid grade and share of long words; a band between is neither."""

    measure: Literal["reading_level"]
    value: Literal["plain", "expert"] = Field(alias="is")


class ToneSpec(_Spec):
    """Tone by lexicon; dry is the absence of both others."""

    measure: Literal["tone"]
    value: Literal["warm", "dry", "upbeat"] = Field(alias="is")


class MentionsSpec(_Spec):
    """Words or phrases that must, or must not, occur as whole words in any case."""

    measure: Literal["mentions"]
    any_of: tuple[Phrase, ...] = ()
    at_least: Count = Field(1, description="how many different entries of any_of must occur")
    where: Literal["anywhere", "title", "first_sentence", "last_paragraph"] = "anywhere"
    none_of: tuple[Phrase, ...] = Field((), description="phrases that may occur nowhere")
    inflected: bool = Field(False, description="true: plural and verb endings of an entry count too")

    @model_validator(mode="after")
    def _some(self) -> MentionsSpec:
        if not self.any_of and not self.none_of:
            raise ValueError("needs any_of, none_of or both")
        if self.any_of and self.at_least > len(self.any_of):
            raise ValueError(f"at_least {self.at_least} is above the {len(self.any_of)} entries of any_of")
        return self


class AvoidsSpec(_Spec):
    """Words that may not occur in any inflection."""

    measure: Literal["avoids"]
    words: tuple[Phrase, ...] = Field(min_length=1)


class TitleSpec(_Spec):
    """Kind of headline; a text without one is none of them."""

    measure: Literal["title"]
    value: Literal["question", "number", "how_to", "statement"] = Field(alias="is")


class EndingSpec(_Spec):
    """What the text ends with, sign-off left out."""

    measure: Literal["ending"]
    value: Literal[
        "check_question", "summary_line", "next_step", "further_reading",
        "question_to_readers", "call_to_subscribe", "personal_note", "quotation",
    ] = Field(alias="is")  # fmt: skip


class OpeningSpec(_Spec):
    """What the text begins with, title and greeting left out; exclusive within a kind of text."""

    measure: Literal["opening"]
    value: Literal[
        "definition_first", "story_first", "question_first",
        "total_first", "biggest_change", "savings_first", "warning_first",
        "anecdote", "statistic", "quotation", "bold_claim",
    ] = Field(alias="is")  # fmt: skip


class NotationSpec(_Spec):
    """The one notation used besides words."""

    measure: Literal["notation"]
    value: Literal["words_only", "formula", "code_snippet", "small_table"] = Field(alias="is")


class FactsSpec(_Spec):
    """Facts that must be there: numbers as numbers, dates as dates, quantities in any unit."""

    measure: Literal["facts"]
    required: tuple[Phrase, ...] = ()
    within: float = Field(0.0, ge=0, description="how far a number may be off, for texts that round")


TextSpec = Annotated[
    PersonSpec | WordsSpec | LayoutSpec | GreetingSpec | SignOffSpec | EmojiSpec | SpellingSpec | UnitsSpec
    | CurrencySpec | RoundingSpec | DateFormatSpec | ReadingLevelSpec | ToneSpec | MentionsSpec | AvoidsSpec
    | TitleSpec | EndingSpec | OpeningSpec | NotationSpec | FactsSpec,
    Field(discriminator="measure"),
]  # fmt: skip
