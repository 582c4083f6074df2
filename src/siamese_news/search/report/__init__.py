"""One HTML file that shows what a search found and how: no network, no script but its own."""

from siamese_news.search.report.data import Histogram, ReportData, ReportPost, Seed
from siamese_news.search.report.page import render, write_report
from siamese_news.search.report.results import read_results

__all__ = [
    "Histogram",
    "ReportData",
    "ReportPost",
    "Seed",
    "read_results",
    "render",
    "write_report",
]
