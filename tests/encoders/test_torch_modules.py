"""One contract over the zoo: what torch and its libraries do to a module works on every encoder.

Adapters, hooks, pruning, parametrizations and quantization change what a call of a submodule does;
exporters, tracers and transforms record it. Each must take part, or be refused.
"""

import copy
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.utils.checkpoint import checkpoint

from siamese_news.attention import RingAttention, StarAttention
from siamese_news.encoders import TokenEmbedding, build_encoder

NAMES = [
    "bag",
    "bag_idf",
    "bigru",
    "cnn",
    "gru",
    "star",
    "star_feed_forward",
    "star_paper",
    "star_reference",
    "transformer",
]
TRAINED = [name for name in NAMES if name != "bag"]
LENGTHS = [7, 1, 0, 4]
# Other batches and lengths than the one that was traced; empty texts in most.
SHAPES = [[7, 1, 0, 4], [1], [0, 0], [2, 1, 1, 0, 2, 2], [30], [3, 9]]
DYNAMIC = torch.export.Dim.DYNAMIC
warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch")


@pytest.fixture
def encoder(name, config):
    return make(name, config)


def make(name, config, kind="adaptive", cycles=2):
    torch.manual_seed(3)
    options = config(name, kind, 6)
    if "cycles" in options:
        options["cycles"] = cycles
    built = build_encoder(options)
    with torch.no_grad():
        for key, parameter in built.named_parameters():
            if key.endswith("factor"):  # starts at zero: let it count
                parameter.normal_()
    return built.eval()


@pytest.fixture
def inputs(texts):
    return texts(LENGTHS, dtype=torch.float32)


every = pytest.mark.parametrize("name", NAMES)
trained = pytest.mark.parametrize("name", TRAINED)


def _layers(encoder, *classes):
    """Name and module of each layer with a weight."""
    return [
        (key, part)
        for key, part in encoder.named_modules()
        if isinstance(part, classes)
    ]


def _agrees(run, encoder, texts, tolerance=1e-5):
    for number, lengths in enumerate(SHAPES):
        batch = texts(lengths, dtype=torch.float32, extra=(number + 1) % 2, seed=number)
        with torch.no_grad():
            expected = encoder(*batch)
            torch.testing.assert_close(run(*batch), expected, rtol=0, atol=tolerance)


@pytest.mark.sampled(8)
@every
@pytest.mark.parametrize("train", [False, True])
def test_a_hook_on_every_submodule_fires(encoder, inputs, train):
    fired = set()
    parts = {
        key: part
        for key, part in encoder.named_modules()
        if not isinstance(part, nn.ModuleList)
    }
    for key, part in parts.items():
        part.register_forward_hook(lambda *_, key=key: fired.add(key))
    with torch.set_grad_enabled(train):
        encoder(*inputs)
    assert fired == set(parts)


@pytest.mark.parametrize("name", ["two_head", "two_head_bag", "two_head_mean"])
def test_a_hook_on_every_submodule_of_two_heads_fires(encoder, inputs):
    fired = set()
    parts = {
        key: part
        for key, part in encoder.named_modules()
        if key and not isinstance(part, nn.ModuleList)
    }
    for key, part in parts.items():
        part.register_forward_hook(lambda *_, key=key: fired.add(key))
    encoder.heads(*inputs)
    missing = set(parts) - fired
    # `heads` reads the states of a context, and so calls its parts instead of the context itself.
    assert missing <= {"context"}
    handle = encoder.sparsity.register_forward_hook(lambda *result: result[-1] * 2)
    doubled = encoder.heads(*inputs)[1]
    handle.remove()
    torch.testing.assert_close(doubled, 2 * encoder.heads(*inputs)[1])


@trained
def test_hooks_of_all_modules_fire(encoder, inputs):
    fired = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda part, *_: fired.append(part)
    )
    try:
        encoder(*inputs)
    finally:
        handle.remove()
    parts = {part for part in encoder.modules() if not isinstance(part, nn.ModuleList)}
    assert set(fired) == parts


@pytest.mark.sampled(3)
@trained
def test_a_hook_changes_the_result(encoder, inputs):
    before = encoder(*inputs)
    for key, part in _layers(encoder, nn.Linear, nn.Conv1d):
        handle = part.register_forward_hook(_bent)
        changed = encoder(*inputs)
        handle.remove()
        assert not torch.allclose(changed, before), key
    torch.testing.assert_close(encoder(*inputs), before, rtol=0, atol=0)


def _bent(_module, _inputs, output):
    """Another direction: a constant or a factor would not count behind norms and cosines."""
    dim = 1 if isinstance(_module, nn.Conv1d) else -1
    steps = torch.linspace(0.5, 2, output.shape[dim])
    return output * (steps[:, None] if dim == 1 else steps)


def _adapters(kind, encoder):
    peft = pytest.importorskip("peft")
    linear = [key for key, _ in _layers(encoder, nn.Linear)]
    layers = [key for key, _ in _layers(encoder, nn.Linear, nn.Conv1d)]
    if kind == "ia3":  # peft has none for Conv1d
        return peft.IA3Config(
            target_modules=linear, feedforward_modules=[], init_ia3_weights=False
        )
    options = {"r": 2, "init_lora_weights": False, "use_dora": kind == "dora"}
    if layers:
        return peft.LoraConfig(
            target_modules=linear if kind == "dora" else layers, **options
        )
    weights = [key for key, _ in encoder.named_parameters() if "weight" in key]
    return peft.LoraConfig(target_modules=[], target_parameters=weights, **options)


@pytest.mark.sampled(4)
@trained
@pytest.mark.parametrize("kind", ["lora", "dora", "ia3"])
def test_adapters_train(encoder, name, inputs, kind):
    peft = pytest.importorskip("peft")
    if "gru" in name and kind != "lora":
        pytest.skip("peft has no such adapter for a bare parameter")
    before = encoder(*inputs).detach()
    adapted = peft.get_peft_model(encoder, _adapters(kind, encoder))
    vectors = adapted(*inputs)
    assert not torch.allclose(vectors, before)
    (
        vectors * torch.linspace(-1, 2, vectors.numel()).view(vectors.shape)
    ).sum().backward()
    tensors = {
        key: each for key, each in adapted.named_parameters() if each.requires_grad
    }
    assert len(tensors) >= (1 if kind == "ia3" else 2)
    for key, tensor in tensors.items():
        assert tensor.grad is not None and tensor.grad.abs().sum() > 0, key
    # Training without gradients, as evaluation does, sees the same encoder.
    with torch.no_grad():
        torch.testing.assert_close(adapted(*inputs), vectors, rtol=0, atol=1e-5)
    if "gru" not in name:
        merged = adapted.merge_and_unload()
        torch.testing.assert_close(merged(*inputs), vectors, rtol=0, atol=1e-5)


@trained
def test_dynamic_quantization(encoder, inputs):
    quantized = torch.ao.quantization.quantize_dynamic(encoder, {nn.Linear, nn.GRU})
    assert not _layers(quantized, nn.Linear, nn.GRU)
    vectors = quantized(*inputs)
    expected = encoder(*inputs).detach()
    assert torch.cosine_similarity(vectors, expected, 1)[[0, 1, 3]].min() > 0.99
    assert not torch.equal(vectors, expected)  # the quantized maps were computed


@trained
def test_pruning_counts(encoder, name, config, inputs):
    layers = _layers(encoder, nn.Linear, nn.Conv1d, nn.GRU)
    for _, part in layers:
        for weight in [
            key for key, _ in part.named_parameters() if key.startswith("weight")
        ]:
            prune.l1_unstructured(part, weight, amount=0.5)
    vectors = encoder(*inputs)
    for _, part in layers:
        for weight in [key.removesuffix("_orig") for key in list(part._parameters)]:
            if weight.startswith("weight"):
                prune.remove(part, weight)
    plain = make(name, config)
    plain.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(vectors, plain(*inputs), rtol=0, atol=1e-6)
    assert not torch.allclose(vectors, make(name, config)(*inputs))


@trained
def test_pruned_weights_are_masked_anew_after_a_step(encoder, inputs):
    """A stale copy of the weight would not follow the optimizer."""
    key, part = _layers(encoder, nn.Linear, nn.Conv1d, nn.GRU)[0]
    weight = next(
        each for each, _ in part.named_parameters() if each.startswith("weight")
    )
    prune.random_unstructured(part, weight, amount=0.1)
    before = encoder(*inputs).detach()
    with torch.no_grad():
        getattr(part, f"{weight}_orig").add_(1)
    assert not torch.allclose(encoder(*inputs), before), key


@pytest.mark.sampled(1)
@trained
def test_weight_norm_counts(encoder, inputs):
    for key, part in _layers(encoder, nn.Linear, nn.Conv1d, nn.GRU):
        changed = copy.deepcopy(encoder)
        part = changed.get_submodule(key)
        for weight in [
            each for each, _ in part.named_parameters() if each.startswith("weight")
        ]:
            parametrizations.weight_norm(part, weight)
        torch.testing.assert_close(
            changed(*inputs), encoder(*inputs), rtol=0, atol=1e-5
        )
        with torch.no_grad():
            for norms in part.parametrizations.values():
                size = norms.original0.shape
                norms.original0.mul_(torch.linspace(0.5, 3, size.numel()).view(size))
        vectors = changed(*inputs)
        assert not torch.allclose(vectors, encoder(*inputs)), key
        vectors.square().sum().backward()
        for norms in part.parametrizations.values():
            assert norms.original0.grad is not None, key


@trained
def test_functional_call_takes_the_given_parameters(encoder, name, config, inputs):
    others = {key: each.detach() * 1.5 for key, each in encoder.named_parameters()}
    called = torch.func.functional_call(encoder, others, inputs)
    loaded = make(name, config)
    loaded.load_state_dict(others, strict=False)
    torch.testing.assert_close(called, loaded(*inputs), rtol=0, atol=1e-6)
    assert not torch.allclose(called, encoder(*inputs))


@pytest.mark.sampled(3)
@trained
def test_gradients_of_each_text_by_vmap(encoder, inputs):
    parameters = dict(encoder.named_parameters())

    def loss(values, *text):
        batch = tuple(part[None] for part in text)
        return torch.func.functional_call(encoder, values, batch).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0, 0))
    grads = each({key: value.detach() for key, value in parameters.items()}, *inputs)
    for row in range(len(LENGTHS)):
        encoder.zero_grad()
        encoder(*(part[row : row + 1] for part in inputs)).square().sum().backward()
        for key, parameter in parameters.items():
            expected = (
                torch.zeros_like(parameter)
                if parameter.grad is None
                else parameter.grad
            )
            torch.testing.assert_close(grads[key][row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(5)
@every
def test_a_copy_and_a_pickle_are_the_same_encoder(encoder, inputs):
    vectors = encoder(*inputs)
    encoder.explain(*inputs)
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert torch.equal(other(*inputs), vectors)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(2)
        assert torch.equal(encoder(*inputs), vectors)


@pytest.mark.sampled(6)
@trained
@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing(encoder, inputs, reentrant):
    grads = []
    for run in (
        encoder,
        lambda *batch: checkpoint(encoder, *batch, use_reentrant=reentrant),
    ):
        encoder.zero_grad()
        embeddings = inputs[0].clone().requires_grad_()
        run(embeddings, *inputs[1:]).square().sum().backward()
        grads.append([embeddings.grad, *(each.grad for each in encoder.parameters())])
    for plain, recomputed in zip(*grads, strict=True):
        torch.testing.assert_close(plain, recomputed, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(8)
@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(name, config, texts, dtype):
    """Long texts, texts without a token, and texts without a weight above zero."""
    encoder = make(name, config)
    embeddings, mask, weights = texts([90, 1, 0, 4], dtype=torch.float32)
    weights = weights * 1e-4  # below what half precision divides by
    weights[3] = 0
    exact = encoder(embeddings, mask, weights)
    half = copy.deepcopy(encoder).to(dtype)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            vectors = half(embeddings.to(dtype), mask, weights.to(dtype))
        assert vectors.dtype == dtype
        torch.testing.assert_close(vectors.float(), exact, rtol=0.1, atol=0.1)
    explained = half.explain(embeddings.to(dtype), mask, weights.to(dtype))
    assert explained.contributions.isfinite().all()


@pytest.mark.sampled(4)
@every
def test_a_trace_holds_for_other_shapes(encoder, inputs, texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(encoder, inputs, check_trace=False)  # `_agrees` does
    _agrees(traced, encoder, texts)


@pytest.mark.sampled(4)
@every
def test_a_trace_of_full_texts_still_masks(encoder, texts):
    full = texts([5, 5], dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(encoder, full, check_trace=False)
    _agrees(traced, encoder, texts)


# An export takes time for each module, so the main case has one cycle.
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        *(("cnn", 2), ("star_feed_forward", 1)),
        *(
            pytest.param(name, 2, marks=pytest.mark.slow)
            for name in ("bag_idf", "bigru", "star", "star_feed_forward", "transformer")
        ),
    ],
)
def test_export_with_open_batch_and_length(name, cycles, config, inputs, texts):
    encoder = make(name, config, cycles=cycles)
    exported = torch.export.export(
        encoder, inputs, dynamic_shapes=[{0: DYNAMIC, 1: DYNAMIC}] * 3
    )
    _agrees(exported.module(), encoder, texts)


@pytest.mark.parametrize(
    "name",
    [
        "bag",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in NAMES
            if name != "bag"
        ),
    ],
)
def test_onnx_with_open_batch_and_length(encoder, inputs, texts, tmp_path):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    dynamic = [{0: DYNAMIC, 1: DYNAMIC}] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            encoder, inputs, dynamo=True, dynamic_shapes=dynamic, verbose=False
        )
    program.save(tmp_path / "encoder.onnx")
    session = runtime.InferenceSession(
        tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"]
    )
    wanted = {each.name for each in session.get_inputs()}

    def run(*batch):
        arrays = zip(("embeddings", "mask", "weights"), batch, strict=True)
        feed = {key: value.numpy() for key, value in arrays if key in wanted}
        return torch.from_numpy(session.run(None, feed)[0])

    _agrees(run, encoder, texts)


@every
def test_symbolic_tracing_is_refused(encoder):
    with pytest.raises((torch.fx.proxy.TraceError, TypeError)):
        torch.fx.symbolic_trace(encoder)


@pytest.mark.parametrize("name", ["star", "star_feed_forward", "star_reference"])
def test_the_fast_form_serves_where_nothing_is_at_work(monkeypatch, encoder, inputs):
    def refuse(*_):
        raise AssertionError("the submodules were called")

    for kind in (RingAttention, StarAttention):
        monkeypatch.setattr(kind, "_by_modules", refuse)
    encoder(*inputs).sum().backward()
    with torch.inference_mode():
        encoder(*inputs)
    encoder.rings[0].key.register_forward_hook(lambda *_: None)
    with pytest.raises(AssertionError, match="were called"):
        encoder(*inputs)


@pytest.mark.parametrize("name", ["bigru", "gru"])
def test_a_gru_with_hooks_is_not_exported_without_them(encoder, inputs):
    encoder.gru.register_forward_hook(lambda *_: None)
    with pytest.raises(Exception, match="remove the hooks"):
        torch.export.export(encoder, inputs)


def test_a_traced_embedding_knows_unknown_words():
    embedding = TokenEmbedding(torch.eye(3), trainable=False)
    traced = torch.jit.trace(embedding, (torch.tensor([[2, 0, -1]]),))
    ids = torch.tensor([[1, 77, -1, 3]])
    for traced_part, part in zip(traced(ids), embedding(ids), strict=True):
        torch.testing.assert_close(traced_part, part, rtol=0, atol=0)
