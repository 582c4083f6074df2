"""The tables and figures of the two papers, made again and laid beside the published ones."""

from siamese_news.reproduction.exhibit import Content, Exhibit, Figure, Published, Table
from siamese_news.reproduction.jobs import Job, Result, Results, Setting
from siamese_news.reproduction.registry import PAPERS, choose

__all__ = [
    "PAPERS",
    "Content",
    "Exhibit",
    "Figure",
    "Job",
    "Published",
    "Result",
    "Results",
    "Setting",
    "Table",
    "choose",
]
