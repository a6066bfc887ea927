"""Muon for matrices, AdamW for everything else, over shared flat buffers.

Two single-thread processes train together. Parameters live in one shared buffer, each process has
its own gradient buffer, and each process updates the parameters it owns with the sum of both.
"""

import torch

MUON_RATE, ADAM_RATE, ROUTER_RATE = 0.02, 3e-3, 1e-3
MOMENTUM = 0.95
BETAS, ADAM_EPS = (0.9, 0.95), 1e-8
WEIGHT_DECAY = 0.01
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # quintic coefficients of the Muon paper
NEWTON_SCHULZ_STEPS = 4


def orthogonalize(g: torch.Tensor) -> torch.Tensor:
    """The nearest (semi-)orthogonal matrices to g [batch, out, in], by Newton-Schulz."""
    a, b, c = NEWTON_SCHULZ
    flip = g.shape[-2] > g.shape[-1]
    x = g.transpose(-1, -2) if flip else g
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        square = x @ x.transpose(-1, -2)
        x = a * x + (b * square + c * square @ square) @ x
    return x.transpose(-1, -2) if flip else x


def uses_muon(name: str, shape) -> bool:
    return len(shape) >= 2 and not any(part in name for part in ("embed_tokens", "lm_head", "mlp.gate.", "indexer."))


def is_trained(name: str) -> bool:
    """The correction bias follows the load, the indexer is trained last on the frozen model."""
    return "e_score_correction_bias" not in name and "indexer." not in name


def cost(name: str, shape) -> float:
    """Rough update cost, to share the work between processes."""
    count = torch.Size(shape).numel()
    return count * (min(shape[-2:]) if uses_muon(name, shape) else 3)


class Optimizer:
    """Updates the tensors in `owned` (name -> view of the shared parameters)."""

    def __init__(self, owned: dict[str, torch.Tensor]):
        self.owned = owned
        self.state = {
            name: [torch.zeros_like(t)] if uses_muon(name, t.shape) else [torch.zeros_like(t), torch.zeros_like(t)]
            for name, t in owned.items()
        }

    @torch.no_grad()
    def update(self, step: int, rate: float, gradients: dict[str, torch.Tensor]) -> None:
        """rate: the schedule's factor in (0, 1]; gradients: summed over processes, mean per token, of the
        owned weights that took part."""
        for name, gradient in gradients.items():
            parameter = self.owned[name]
            if uses_muon(name, parameter.shape):
                self._muon(name, parameter, gradient, rate * MUON_RATE)
            else:
                self._adam(name, parameter, gradient, step, rate * (ROUTER_RATE if "mlp.gate." in name else ADAM_RATE))

    def _muon(self, name, parameter, gradient, rate):
        momentum = self.state[name][0]
        momentum.mul_(MOMENTUM).add_(gradient)
        nesterov = gradient + MOMENTUM * momentum
        # Gate and up are two matrices, and every expert has its own.
        pair = 2 if "gate_up_proj" in name else 1
        shape = (-1, parameter.shape[-2] // pair, parameter.shape[-1])
        stretch = max(1.0, shape[-2] / shape[-1]) ** 0.5
        parameter.mul_(1 - rate * WEIGHT_DECAY)
        for target, matrix in zip(parameter.view(shape), nesterov.view(shape)):
            if matrix.abs().max() > 0:
                target.add_(orthogonalize(matrix), alpha=-rate * stretch)

    def _adam(self, name, parameter, gradient, step, rate):
        mean, square = self.state[name]
        mean.lerp_(gradient, 1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        mean_hat, square_hat = mean / (1 - BETAS[0] ** step), square / (1 - BETAS[1] ** step)
        if parameter.dim() > 1:
            parameter.mul_(1 - rate * WEIGHT_DECAY)
        parameter.addcdiv_(mean_hat, square_hat.sqrt() + ADAM_EPS, value=-rate)
