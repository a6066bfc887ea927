"""Conversations of different lengths as one flat batch without padding.

Everything but attention works on the flat list of tokens; attention pads within groups of
conversations of similar length.
"""

from dataclasses import dataclass

import torch

GROUP_SIZE = 10  # conversations padded together, at most
LONGEST_OVER_SHORTEST = 1.5  # in a group, so that a long one does not stretch many short ones


@dataclass
class Group:
    """Conversations [start, end) of the flat list as a [count, length] rectangle; slot[i] is the
    place of token start+i in the flattened rectangle."""

    start: int
    end: int
    count: int
    length: int
    slot: torch.Tensor


@dataclass
class Batch:
    """tokens, positions [N]; rows with their next-token targets, and the same for two ahead (MTP)."""

    tokens: torch.Tensor
    positions: torch.Tensor
    groups: list[Group]
    rows: torch.Tensor
    targets: torch.Tensor
    rows_two: torch.Tensor
    targets_two: torch.Tensor
    next_tokens: torch.Tensor


def similar_lengths(conversations: list):
    """Cuts conversations, sorted by length, into groups."""
    group: list = []
    for conversation in conversations:
        if group and (len(group) == GROUP_SIZE or len(conversation[0]) > LONGEST_OVER_SHORTEST * len(group[0][0])):
            yield group
            group = []
        group.append(conversation)
    yield group


def make_batch(conversations: list[tuple[list[int], list[bool]]]) -> Batch:
    """conversations: (ids, trained) pairs; they are sorted by length here."""
    conversations = sorted(conversations, key=lambda c: len(c[0]))
    tokens, positions, groups = [], [], []
    rows, targets, rows_two, targets_two, next_tokens = [], [], [], [], []
    for part in similar_lengths(conversations):
        length, start, slot = len(part[-1][0]), len(tokens), []
        for row, (ids, trained) in enumerate(part):
            base = len(tokens)
            slot += range(row * length, row * length + len(ids))
            for i in range(1, len(ids)):
                if trained[i]:
                    rows.append(base + i - 1)
                    targets.append(ids[i])
                    if i >= 2:
                        rows_two.append(base + i - 2)
                        targets_two.append(ids[i])
            tokens += ids
            next_tokens += ids[1:] + ids[-1:]
            positions += range(len(ids))
        groups.append(Group(start, len(tokens), len(part), length, torch.tensor(slot)))
    as_tensor = torch.tensor
    return Batch(
        as_tensor(tokens),
        as_tensor(positions),
        groups,
        as_tensor(rows),
        as_tensor(targets),
        as_tensor(rows_two),
        as_tensor(targets_two),
        as_tensor(next_tokens),
    )


class _Spread(torch.autograd.Function):
    """Flat rows [n, C] into a rectangle [cells, C] of zeros, and back."""

    @staticmethod
    def forward(ctx, flat, slot, cells):
        ctx.slot = slot
        return flat.new_zeros(cells, flat.shape[1]).index_copy_(0, slot, flat)

    @staticmethod
    def backward(ctx, d_rectangle):
        return d_rectangle.index_select(0, ctx.slot), None, None


class _Collect(torch.autograd.Function):
    """The rectangle's rows [cells, C] that hold tokens, as flat rows [n, C]."""

    @staticmethod
    def forward(ctx, rectangle, slot):
        ctx.slot, ctx.cells = slot, rectangle.shape[0]
        return rectangle.index_select(0, slot)

    @staticmethod
    def backward(ctx, d_flat):
        return d_flat.new_zeros(ctx.cells, d_flat.shape[1]).index_copy_(0, ctx.slot, d_flat), None


def spread(flat: torch.Tensor, group: Group) -> torch.Tensor:
    """[n, C] -> [count, length, C]."""
    return _Spread.apply(flat, group.slot, group.count * group.length).view(group.count, group.length, -1)


def collect(rectangle: torch.Tensor, group: Group) -> torch.Tensor:
    """[count, length, C] -> [n, C]."""
    return _Collect.apply(rectangle.reshape(group.count * group.length, -1), group.slot)
