"""The oracle's pen: composes a text that carries a topic's facts in a given style."""

from scenarios.writer.behaviour import behaves
from scenarios.writer.briefs import brief_of, topic_by_id, topics_of
from scenarios.writer.compose import write
from scenarios.writer.models import Brief, Default, Fact, Topic

__all__ = ["Brief", "Default", "Fact", "Topic", "behaves", "brief_of", "topic_by_id", "topics_of", "write"]
