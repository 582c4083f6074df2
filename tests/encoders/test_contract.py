"""One contract over every encoder of conf/, and over attention encoders x sparsity."""

import pickle
from pathlib import Path

import pytest
import torch
from hydra.utils import get_class, instantiate
from omegaconf import OmegaConf
from tests.composed import option

import siamese_news.conf
from siamese_news.encoders import (
    ENCODERS,
    StarEncoder,
    WhitenedEncoder,
    build_encoder,
    preset_names,
)
from siamese_news.errors import InputError
from siamese_news.sparsity import SPARSITIES

CONF = Path(siamese_news.conf.__file__).parent
FILES = {
    path.stem: option("encoder", path.stem)
    for path in sorted((CONF / "encoder").glob("*.yaml"))
}
KINDS = sorted(path.stem for path in (CONF / "sparsity").glob("*.yaml"))
ZOO = [
    (name, kind)
    for name, options in FILES.items()
    for kind in (KINDS if "sparsity" in options else ["softmax"])
]


def zoo(test):
    """Half of all encoders for each promise: another half for another promise."""
    cells = pytest.mark.parametrize(("name", "kind"), ZOO)
    return pytest.mark.sampled(len(ZOO) // 2)(cells(test))


@pytest.fixture
def encoder(name, kind, config):
    torch.manual_seed(3)
    built = build_encoder(config(name, kind, 6)).double()
    with torch.no_grad():
        for key, parameter in built.named_parameters():
            # What starts at zero: let it count.
            if key.endswith(("factor", "query")) or key == "relay_query.weight":
                parameter.normal_()
    return built


def _outputs(encoder, inputs):
    return encoder.heads(*inputs) if encoder.has_factors else (encoder(*inputs),)


@zoo
def test_shape_and_finite(encoder, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4])
    vectors = encoder(embeddings, mask, weights)
    assert vectors.shape == (4, encoder.output_dim)
    assert vectors.isfinite().all()
    assert encoder(embeddings, mask).isfinite().all()


@zoo
def test_a_spawned_process_gets_the_same_encoder(encoder, texts):
    inputs = texts([7, 1, 0, 4])
    sent = pickle.loads(pickle.dumps(encoder))
    for mine, its in zip(
        _outputs(encoder, inputs), _outputs(sent, inputs), strict=True
    ):
        assert torch.equal(mine, its)


@zoo
def test_every_parameter_gets_a_gradient(encoder, texts):
    if not list(encoder.parameters()):
        return  # a frozen bag
    outputs = _outputs(encoder, texts([7, 5, 0, 1, 6]))
    sum((output * torch.randn_like(output)).sum() for output in outputs).backward()
    for key, parameter in encoder.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.abs().sum() > 0, key


@zoo
def test_padding_changes_nothing(encoder, texts):
    lengths = [7, 1, 0, 4]
    short = encoder(*texts(lengths))
    padded = encoder(*texts(lengths, extra=5, garbage=3.0))
    torch.testing.assert_close(short, padded, rtol=0, atol=1e-12)


@zoo
def test_padding_changes_no_gradient(encoder, texts):
    lengths = [7, 1, 0, 4]
    grads = []
    for extra in (0, 5):
        encoder.zero_grad()
        embeddings, mask, weights = texts(lengths, extra=extra, garbage=1.0)
        embeddings.requires_grad_()
        outputs = _outputs(encoder, (embeddings, mask, weights))
        sum(output.square().sum() for output in outputs).backward()
        assert (embeddings.grad[~mask] == 0).all()
        grads.append(
            [embeddings.grad[:, :7], *[p.grad.clone() for p in encoder.parameters()]]
        )
    for short, padded in zip(*grads, strict=True):
        torch.testing.assert_close(short, padded, rtol=0, atol=1e-11)


@zoo
def test_batch_composition_changes_nothing(encoder, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4])
    together = encoder(embeddings, mask, weights)
    order = torch.tensor([2, 0, 3, 1])
    shuffled = encoder(embeddings[order], mask[order], weights[order])
    torch.testing.assert_close(together[order], shuffled, rtol=0, atol=1e-12)
    for row, length in enumerate([7, 1, 0, 4]):
        cut = slice(0, max(length, 1))
        alone = encoder(
            embeddings[row : row + 1, cut],
            mask[row : row + 1, cut],
            weights[row : row + 1, cut],
        )
        torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-12)


@pytest.mark.sampled(14)
@zoo
def test_masks_of_other_frameworks_mean_the_same(encoder, texts):
    lengths = [5, 2, 0, 3]
    embeddings, mask, weights = texts(lengths, extra=2)
    right = encoder(embeddings, mask, weights)
    for kind in (torch.int64, torch.uint8, torch.float32, torch.float64):
        assert torch.equal(encoder(embeddings, mask.to(kind), weights), right)
    for other in (mask.numpy(), mask.int().tolist()):
        assert torch.equal(encoder(embeddings, other, weights), right)

    turned = [part.flip(1) for part in (embeddings, mask, weights)]
    reversed_ = [part.clone() for part in (embeddings, mask, weights)]
    for row, length in enumerate(lengths):
        for part in reversed_:
            part[row, :length] = part[row, :length].flip(0)
    # Padding on the left: the same as the turned texts with padding on the right.
    torch.testing.assert_close(
        encoder(*turned), encoder(*reversed_), rtol=0, atol=1e-12
    )
    # Holes: a token that is masked out might as well not be there.
    wide = [part.repeat_interleave(2, 1) for part in (embeddings, mask, weights)]
    wide[1][:, 1::2] = False
    torch.testing.assert_close(encoder(*wide), right, rtol=0, atol=1e-12)

    for nonsense in (torch.nan, torch.inf):
        spoiled = embeddings.masked_fill(~mask[:, :, None], nonsense)
        for values in (weights, weights.masked_fill(~mask, nonsense)):
            torch.testing.assert_close(
                encoder(spoiled, mask, values), right, rtol=0, atol=1e-12
            )


@zoo
def test_heads_and_explanations_take_the_same_masks(encoder, texts):
    embeddings, mask, weights = texts([5, 2, 0, 3], extra=2)
    spoiled = embeddings.masked_fill(~mask[:, :, None], torch.nan)
    turned = [part.roll(2, 1) for part in (embeddings, mask.to(torch.int64), weights)]
    explanation = encoder.explain(embeddings, mask, weights)
    again = encoder.explain(spoiled, mask.to(torch.int64), weights)
    torch.testing.assert_close(again.contributions, explanation.contributions)
    torch.testing.assert_close(again.vectors, explanation.vectors)
    with pytest.raises(InputError, match="explain: the mask has padding before a tok"):
        encoder.explain(*turned)
    if encoder.has_factors:
        vectors, factors = encoder.heads(embeddings, mask, weights)
        for inputs, moved in (
            ((spoiled, mask.float(), weights), factors),
            (turned, factors.roll(2, 1)),
        ):
            torch.testing.assert_close(encoder.heads(*inputs), (vectors, moved))
        with pytest.raises(InputError, match=r"mask has the shape \(4, 6\)"):
            encoder.heads(embeddings, mask[:, :6], weights)


@zoo
def test_a_mask_that_does_not_fit_is_refused(encoder, texts):
    embeddings, mask, weights = texts([5, 2, 3])
    with pytest.raises(InputError, match=r"mask has the shape \(3, 4\).*\(3, 5, 6\)"):
        encoder(embeddings, mask[:, :4], weights[:, :4])
    additive = torch.zeros(3, 5).masked_fill(~mask, -1e9)
    with pytest.raises(InputError, match="values from -1000000000.0 to 0.0.*mask == 0"):
        encoder(embeddings, additive, weights)
    with pytest.raises(InputError, match=r"weights: got shape \(3, 4\)"):
        encoder(embeddings, mask, weights[:, :4])


@zoo
def test_without_gradients_nothing_changes(encoder, texts):
    inputs = texts([7, 1, 0, 4])
    with torch.inference_mode():
        quick = encoder(*inputs)
    torch.testing.assert_close(encoder(*inputs), quick, rtol=0, atol=1e-12)


@zoo
def test_float32_padding(encoder, texts):
    encoder = encoder.float()
    inputs = texts([30, 2, 17], dtype=torch.float32)
    padded = texts([30, 2, 17], dtype=torch.float32, extra=9)
    torch.testing.assert_close(encoder(*inputs), encoder(*padded), rtol=0, atol=1e-6)


@zoo
def test_empty_batch_and_no_columns(encoder):
    nothing = torch.zeros(0, 4, 6, dtype=torch.float64)
    assert encoder(nothing, nothing.new_zeros(0, 4).bool()).shape == (
        0,
        encoder.output_dim,
    )
    columns = torch.zeros(2, 0, 6, dtype=torch.float64)
    assert encoder(columns, columns.new_zeros(2, 0).bool()).isfinite().all()


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # All kinds in one encoder; in the others those that are trained most.
        pytest.param(
            *(name, kind),
            marks=[]
            if name == "star" or kind in ("softmax", "adaptive")
            else pytest.mark.slow,
        )
        for name, kind in ZOO
    ],
)
def test_gradcheck(encoder, texts):
    """Of the real tokens; those of the padding have none, as `test_padding_changes_no_gradient`."""
    embeddings, mask, weights = texts([4, 1, 0])
    torch.autograd.gradcheck(
        lambda real: encoder(embeddings.index_put((mask,), real), mask, weights),
        embeddings[mask].requires_grad_(),
    )


@zoo
def test_non_contiguous_input(encoder, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4])
    strided = embeddings.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    torch.testing.assert_close(
        encoder(strided, mask, weights),
        encoder(embeddings, mask, weights),
        rtol=0,
        atol=1e-12,
    )


@zoo
def test_explain(encoder, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4])
    explanation = encoder.explain(embeddings, mask, weights)
    torch.testing.assert_close(explanation.vectors, encoder(embeddings, mask, weights))
    assert explanation.contributions.shape == mask.shape
    assert (explanation.contributions[~mask] == 0).all()
    for key, attention in explanation.attention.items():
        assert attention.shape[:2] == (4, 3), key
        real = (
            mask if attention.shape[2] == mask.shape[1] else mask.any(1, keepdim=True)
        )
        sums = attention.sum(-1).transpose(1, 2)[real]
        torch.testing.assert_close(sums, torch.ones_like(sums))
    for alphas in explanation.alphas.values():
        assert ((alphas >= 1) & (alphas <= 2)).all()
    assert all(not getattr(module, "record", False) for module in encoder.modules())


def test_a_linear_encoder_is_explained_exactly(config, texts):
    encoder = build_encoder(config("bag_idf", "softmax", 6)).double()
    shares = encoder.explain(*texts([7, 1, 0, 4])).contributions.sum(1)
    torch.testing.assert_close(
        shares, torch.tensor([1.0, 1, 0, 1], dtype=torch.float64)
    )


def test_frozen_identity_bag_is_the_mean(texts):
    encoder = build_encoder(
        {"class": "BagEncoder", "input_dim": 6, "weighting": "mean", "output_dim": None}
    )
    embeddings, mask, weights = texts([3, 0])
    vectors = encoder(embeddings, mask, weights)
    torch.testing.assert_close(vectors[0], embeddings[0].mean(0))
    assert (vectors[1] == 0).all()
    assert not list(encoder.parameters())


def test_tables_are_those_of_conf():
    kinds = [OmegaConf.load(CONF / f"sparsity/{kind}.yaml") for kind in KINDS]
    # A whitened encoder is fitted after training, not chosen before it.
    trained = {k: v for k, v in ENCODERS.items() if v is not WhitenedEncoder}
    rooms = {"encoders": (trained, FILES.values()), "sparsity": (SPARSITIES, kinds)}
    for room, (table, files) in rooms.items():
        targets = {options["_target_"] for options in files}
        assert targets == {f"siamese_news.{room}.{name}" for name in table}
        assert {get_class(target) for target in targets} == set(table.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class": "Star"}, "StarEncoder"),
        ({"class": None}, "StarEncoder"),
        ({"sparsity": {"class": "Relu"}}, "AdaptiveEntmax"),
        ({"wings": 2}, "wings"),
        ({"pooling": "min"}, "max_relay"),
        ({"similarity": "l2"}, "cosine"),
        ({"cycles": 0}, "cycles=0"),
    ],
)
def test_wrong_options_say_what_is_right(config, change, words):
    with pytest.raises(InputError, match=words):
        build_encoder({**config("star", "adaptive", 6), **change})


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", [*preset_names(), *ENCODERS])
@pytest.mark.parametrize("input_dim", [10, 40, 300])
def test_it_builds_from_input_dim_alone(name, input_dim, texts):
    encoder = build_encoder(name, input_dim=input_dim)
    inputs = texts([7, 1, 0, 4], dim=input_dim, dtype=torch.float32)
    vectors = encoder(*inputs)
    assert vectors.shape == (4, encoder.output_dim)
    assert vectors.isfinite().all()


@pytest.mark.parametrize("cls", ENCODERS.values())
def test_a_class_builds_from_input_dim_alone(cls):
    assert cls(input_dim=40).input_dim == 40


def _parts(encoder):
    """Every module of an encoder by name: its class and its plain attributes."""
    plain = (int, float, str, bool, tuple, type(None))
    return {
        name: (
            type(module),
            {
                k: v
                for k, v in vars(module).items()
                # One of them is told defaults that the other one leaves out.
                if isinstance(v, plain) and k != "_arguments"
            },
        )
        for name, module in encoder.named_modules()
    }


@pytest.mark.parametrize("input_dim", [50, 300])
@pytest.mark.parametrize("name", FILES)
def test_a_name_builds_what_conf_composes(name, input_dim):
    options = OmegaConf.create({"encoder": FILES[name]})
    options.sparsity = OmegaConf.load(CONF / "sparsity/adaptive.yaml")
    options = OmegaConf.to_container(options, resolve=True)["encoder"]
    torch.manual_seed(5)
    composed = instantiate(options, input_dim=input_dim)
    torch.manual_seed(5)
    named = build_encoder(name, input_dim=input_dim)
    assert _parts(named) == _parts(composed)
    for key, tensor in composed.state_dict().items():
        assert torch.equal(named.state_dict()[key], tensor), key


def test_names_are_those_of_conf():
    assert list(preset_names()) == sorted(FILES)


def test_options_come_before_those_of_the_name():
    encoder = build_encoder("bigru", input_dim=8, hidden_dim=3)
    assert encoder.output_dim == 6
    assert (
        build_encoder({"class": "GRUEncoder", "hidden_dim": 9}, input_dim=8).output_dim
        == 9
    )
    star = build_encoder("star", input_dim=8, heads=2, sparsity=SPARSITIES["Sparsemax"])
    assert star.alphas()["rings.0.sparsity"].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "words"),
    [("lstm", "'lstm'; expected one of bag, .*star_paper"), ("", "star")],
)
def test_an_unknown_name_lists_the_names(name, words):
    with pytest.raises(InputError, match=words):
        build_encoder(name, input_dim=8)


def test_without_input_dim_the_error_names_it():
    with pytest.raises(InputError, match="input_dim"):
        build_encoder("cnn")


@pytest.mark.parametrize(("width", "heads"), [(300, 7), (64, 10), (6, 0), (6, 12)])
def test_heads_that_do_not_divide_the_width(width, heads):
    with pytest.raises(
        ValueError, match=rf"heads={heads} for input_dim={width}.*give head_dim"
    ):
        StarEncoder(input_dim=width, heads=heads)
    if heads:
        assert StarEncoder(input_dim=width, heads=heads, head_dim=5).output_dim == width


def test_heads_divide_the_width():
    encoder = StarEncoder(input_dim=60, heads=12)
    assert (encoder.rings[0].heads, encoder.rings[0].head_dim) == (12, 5)
    assert encoder.stars[0].head_dim == 5
