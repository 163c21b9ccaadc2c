"""The null row of all null rows: the most frequent class, whatever the row."""

import numpy as np

from kernlab.lab.baselines.base import Baseline


class Majority(Baseline):
    """Always the class with the largest weight among the training rows; no parameters."""

    title = "Majority class"
    compares = "what the labels alone give"

    def _fit(self, rows):
        totals = np.bincount(rows.labels, rows.weights, minlength=len(self.classes_))
        self.class_prior_ = totals / totals.sum()

    def _decision(self, X):
        prior = self.class_prior_
        score = prior[1] - prior[0] if len(prior) == 2 else prior
        return np.broadcast_to(score, (X.shape[0], *np.shape(score))).copy()

    def _held(self):
        return (self.class_prior_,)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
