"""The tables and figures of the two papers, made again and laid out next to the published ones."""

from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Result, Results, Setting
from papers.registry import PAPERS, choose

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
