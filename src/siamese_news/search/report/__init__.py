"""The results of a search as one HTML file, without network and with no script but its own."""

from siamese_news.search.report.page import render, write_report
from siamese_news.search.report.report_data import (
    ReportData,
    ReportPost,
    Seed,
    counted_scores,
    read_results,
    results_of,
)

__all__ = [
    "ReportData",
    "ReportPost",
    "Seed",
    "counted_scores",
    "read_results",
    "render",
    "results_of",
    "write_report",
]
