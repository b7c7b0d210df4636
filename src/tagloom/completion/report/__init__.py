"""The report: one page that shows what was completed, how surely and why."""

from tagloom.completion.report._write import write_report

__all__ = ["write_report"]
