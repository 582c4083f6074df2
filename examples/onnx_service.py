"""A small service that encodes texts with ONNX Runtime, without torch in its process: FOLDER [MODEL].

Exports a model to FOLDER by torch.export and torch.onnx.export, starts this file again as a server
that answers POST / with {"texts": [...]}, and compares its vectors with the model's.
"""

import json
import subprocess
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np


def serve(folder: Path) -> None:
    """Answer one request."""
    import onnxruntime

    from siamese_news.text import Tokenizer, Vocabulary
    from siamese_news.text.content_words import content_words

    words = (folder / "words.txt").read_text("utf-8").split("\n")
    tokenizer, vocabulary = (
        Tokenizer(words=words),
        Vocabulary(words, unknown=(folder / "unknown").read_text()),
    )
    session = onnxruntime.InferenceSession(folder / "model.onnx")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            vectors = []
            for text in json.loads(body)["texts"]:
                words_of_text = content_words(tokenizer(text))  # as models/star reads
                ids = np.asarray([[*vocabulary.ids(words_of_text), -1]], np.int64)
                vectors.append(session.run(None, {"ids": ids})[0][0].tolist())
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(vectors).encode())

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, "torch" in sys.modules, flush=True)
    server.handle_request()


def main(folder: Path, model_folder: Path) -> None:
    """Export, start the service, ask it, and compare."""
    import torch

    from siamese_news import Model

    model = Model.load(model_folder).eval()
    size = torch.export.Dim("tokens", min=2, max=512)
    ids = torch.arange(6)[None]
    program = torch.export.export(model, (ids,), dynamic_shapes=({1: size},))
    folder.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(program, dynamo=True, input_names=["ids"]).save(
        folder / "model.onnx"
    )
    (folder / "words.txt").write_text("\n".join(model.vocabulary.words), "utf-8")
    (folder / "unknown").write_text(model.vocabulary.unknown)
    texts = ["the river is in my cellar", "smoke over Parcelwick", "no trains today"]
    command = [sys.executable, __file__, "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        port, has_torch = server.stdout.readline().split()
        url, body = f"http://127.0.0.1:{port}", json.dumps({"texts": texts}).encode()
        answer = json.loads(urllib.request.urlopen(url, body).read())
    expected = [model(torch.tensor([[*model.token_ids([t])[0], -1]]))[0] for t in texts]
    difference = abs(np.array(answer) - torch.stack(expected).detach().numpy()).max()
    print("torch in the service:", has_torch)
    print("difference:", difference)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]))
    else:
        star = Path(__file__).parents[1] / "models" / "star"
        main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else star)
