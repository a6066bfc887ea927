"""Find prompts whose rows do not hang on rounding.

A DSA model is discontinuous: where the K-th and the (K+1)-th index score (or two router choices, or
two logits) nearly agree, two correct implementations may differ. The prompt is grown token by token
and only tokens are kept whose row has comfortable margins in every layer; when the greedy
continuation runs into a narrow row, the end of the prompt is drawn again.
"""

from __future__ import annotations

import numpy as np

from slow_forward import SlowModel

ATTEMPTS_PER_TOKEN, ATTEMPTS_PER_CASE, HEADROOM = 60, 1500, 1.5


class Searcher:
    """Grows one case on `model`. margin: smallest allowed top-k gap; logit_gap: smallest allowed
    (top1 - top2) / range.
    """

    def __init__(
        self,
        model: SlowModel,
        rng: np.random.Generator,
        margin: float,
        logit_gap: float,
        vocab: int,
    ):
        self.model, self.rng, self.margin, self.logit_gap, self.vocab = (
            model,
            rng,
            margin * HEADROOM,
            logit_gap,
            vocab,
        )

    def _good(self, row) -> bool:
        top = np.sort(row.logits)
        # The range of the whole case is larger than this row's, hence the headroom.
        decided = top[-1] - top[-2] >= 2 * self.logit_gap * (top[-1] - top[0])
        return bool(decided and row.margins.smallest() >= self.margin)

    def _push(self, token: int) -> bool:
        """Append `token`; take it back and return False if its row, or the MTP row it completes, is
        narrow.
        """
        model = self.model
        good = self._good(model.push(token))
        completes_mtp = model.mtp_layer is not None and len(model.rows) > 1
        if good and completes_mtp:
            good = self._good(model.mtp_push(token))
            if not good:
                model.mtp_pop()
        if not good:
            model.pop()
        return good

    def _drop(self, count: int):
        for _ in range(count):
            if self.model.mtp_rows:
                self.model.mtp_pop()
            self.model.pop()

    def _grow_prompt(self, length: int) -> bool:
        while len(self.model.rows) < length:
            if not any(
                self._push(int(self.rng.integers(self.vocab))) for _ in range(ATTEMPTS_PER_TOKEN)
            ):
                return False
        return True

    def find(self, prompt_length: int, total: int, distinct: int) -> list[int] | None:
        """Ids [total] whose part after `prompt_length` is greedy and has at least `distinct`
        different tokens.
        """
        for _ in range(ATTEMPTS_PER_CASE):
            if not self._grow_prompt(prompt_length):
                self._drop(min(3, len(self.model.rows)))
                continue
            while len(self.model.rows) < total and self._push(
                int(np.argmax(self.model.rows[-1].logits))
            ):
                pass
            ids = [row.token for row in self.model.rows]
            varied = len(set(ids[prompt_length:])) >= distinct
            if (
                len(ids) == total
                and varied
                and self.model.smallest_margin() >= self.margin / HEADROOM
            ):
                return ids
            self._drop(len(ids) - max(prompt_length - 2, 0))
        return None
