"""An open project: its labels, and everything that is computed from them and from its results."""

from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.page.deciding import Certificate, Estimates, Goals
from siamese_news_desk.page.learned_order import Learning, Machine
from siamese_news_desk.page.project import Project
from siamese_news_desk.page.relevance_labels import RelevanceLabels
from siamese_news_desk.page.search import Search


class Desk:
    """An open project, whose folder must be held."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.log = LabelJournal(project.folder / "labels.jsonl")
        self.search = Search(project)
        self.certificate = Certificate(project, self.log)
        self.goals = Goals(project, self.log)
        self.estimates = Estimates(project, self.log)
        self.relevance = RelevanceLabels(project, self.log)
        self.machine = Machine(project)
        self.learning = Learning(project, self.log, self.machine)
