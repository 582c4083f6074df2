"""The recurrent encoders of the AST paper's comparison."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from siamese_news.encoders.encoder import Encoder
from siamese_news.sparsity.plain_calls import is_hooked, is_plain, is_traced


class GRUEncoder(Encoder):
    """The final states of a GRU, of both directions if bidirectional. No padding is computed.

    Args:
        input_dim: E.
        hidden_dim: the size of a state in each direction.
        bidirectional: whether a second GRU reads backwards: D = 2 * hidden_dim.

    Raises:
        ValueError: a size below 1.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import GRUEncoder
        >>> encoder = GRUEncoder(input_dim=40, hidden_dim=150, bidirectional=True)
        >>> mask = torch.arange(9) < torch.tensor([[9], [4]])
        >>> encoder(torch.randn(2, 9, 40), mask).shape
        torch.Size([2, 300])
    """

    def __init__(
        self,
        *,
        input_dim: int,
        hidden_dim: int = 300,
        layers: int = 1,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(
            input_dim=input_dim, output_dim=hidden_dim * (1 + bidirectional)
        )
        self.bidirectional = bidirectional
        self.gru = nn.GRU(
            input_dim, hidden_dim, layers, batch_first=True, bidirectional=bidirectional
        )

    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """See `Encoder`. The vector of a text without a token is zero."""
        # A trace by torch.jit keeps packing; torch.compile leaves it to Python.
        packs = torch.jit.is_tracing() or torch.compiler.is_dynamo_compiling()
        if torch.compiler.is_exporting() or (is_traced() and not packs):
            return self._final_by_steps(embeddings, mask)
        if not packs and 0 in mask.shape:
            return embeddings.new_zeros(len(mask), self.output_dim)
        return self._final_of_packed(embeddings, mask.sum(1))

    def _final_of_packed(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            embeddings,
            lengths.clamp(min=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        if is_plain(self.gru, nn.GRU) and _are_listed(self.gru):
            _, states = self.gru(packed)  # (layers * directions, B, hidden)
        else:
            with _current_weights(self.gru):
                _, states = self.gru(packed)
        final = states[-1 - self.bidirectional :].transpose(0, 1).flatten(1)
        return final * (lengths > 0)[:, None]

    def _final_by_steps(self, embeddings: Tensor, mask: Tensor) -> Tensor:
        """The same token by token, if lengths may not become numbers: padding keeps the state."""
        gru = self.gru
        if is_hooked(gru) or not isinstance(gru, nn.GRU):
            raise NotImplementedError(
                f"GRUEncoder has a {type(gru).__name__} with hooks, or of another class than "
                "torch's GRU, which cannot be exported or transformed; remove the hooks, or export "
                "the encoder before it is quantized"
            )
        states = embeddings.transpose(0, 1)
        real = mask.t()[:, :, None]
        for layer in range(gru.num_layers):
            directions = [self._read(states, real, f"l{layer}")]
            if gru.bidirectional:
                directions.append(self._read(states, real, f"l{layer}_reverse"))
            states = torch.cat([all_states for _, all_states in directions], 2)
        return torch.cat([final for final, _ in directions], 1)

    def _read(self, states: Tensor, real: Tensor, name: str) -> tuple[Tensor, Tensor]:
        """The last state (B, hidden) and all (S, B, hidden) of one direction of one layer.

        States (S, B, E) and real (S, B, 1) bool.
        """
        weight = getattr(self.gru, f"weight_hh_{name}")
        bias = getattr(self.gru, f"bias_hh_{name}")
        gates = F.linear(
            states,
            getattr(self.gru, f"weight_ih_{name}"),
            getattr(self.gru, f"bias_ih_{name}"),
        )
        backwards = name.endswith("_reverse")

        def step(state: Tensor, token: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            gate, is_real = token
            reset, update, new = gate.chunk(3, 1)
            its_reset, its_update, its_new = F.linear(state, weight, bias).chunk(3, 1)
            candidate = torch.tanh(new + torch.sigmoid(reset + its_reset) * its_new)
            changed = candidate + torch.sigmoid(update + its_update) * (
                state - candidate
            )
            state = torch.where(is_real, changed, state)
            return state, state.clone()

        state = states.new_zeros(states.shape[1], self.gru.hidden_size)
        if torch.compiler.is_exporting():  # a loop whose number of steps is open
            # Only exporting needs it, and it has no public name.
            from torch._higher_order_ops.scan import scan

            return scan(step, state, (gates, real), reverse=backwards)
        order = range(len(states))
        all_states = []
        for position in reversed(order) if backwards else order:
            state, _ = step(state, (gates[position], real[position]))
            all_states.append(state)
        return state, torch.stack(all_states[::-1] if backwards else all_states)


# torch's GRU passes a list of its weights to the kernels. Parametrizations, adapters and
# `torch.func.functional_call` give the names of the weights other values, which that list lacks.


def _are_listed(gru: nn.GRU) -> bool:
    """Whether the list has the weights that the names stand for."""
    weights = (getattr(gru, name) for name in gru._flat_weights_names)
    return all(a is b for a, b in zip(gru._flat_weights, weights, strict=True))


@contextmanager
def _current_weights(module: nn.Module) -> Iterator[None]:
    """Let each GRU in the module list its weights anew when it is called."""
    lists = {
        submodule: submodule._flat_weights
        for submodule in module.modules()
        if isinstance(submodule, nn.GRU)
    }
    handles = [gru.register_forward_pre_hook(_list_weights) for gru in lists]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for gru, weights in lists.items():
            gru._flat_weights = weights


def _list_weights(gru: nn.Module, _inputs: Any) -> None:
    assert isinstance(gru, nn.GRU)
    gru._flat_weights = [getattr(gru, name) for name in gru._flat_weights_names]
