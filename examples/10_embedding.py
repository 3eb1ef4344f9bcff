"""Sentences to vectors by a model of the BERT family, and how alike they are.

    python3 10_embedding.py MODEL.onnx TOKENIZER.json "a sentence" "another one" ...

It was written for ONNX Runtime; the import is all that changed. Needs the packages dyn (docs/python.md) and tokenizers.
"""

import sys

import dyn as onnxruntime  # was: import onnxruntime
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


class Embedder:
    def __init__(self, model: str, tokenizer: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = {node.name for node in self.session.get_inputs()}
        # The hidden states: batch, tokens, width.
        self.hidden = next(node.name for node in self.session.get_outputs() if node.type == "tensor(float)" and len(node.shape) == 3)
        self.tokenizer: Tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.enable_truncation(max_length=256)
        self.tokenizer.enable_padding()

    def embed(self, sentences: list[str]) -> NDArray[np.float32]:
        """A vector of length 1 for each sentence: the mean of its tokens' hidden states."""
        encoded = self.tokenizer.encode_batch(sentences)
        feed = {
            "input_ids": np.array([row.ids for row in encoded], np.int64),
            "attention_mask": np.array([row.attention_mask for row in encoded], np.int64),
            "token_type_ids": np.array([row.type_ids for row in encoded], np.int64),
        }
        [hidden] = self.session.run([self.hidden], {name: array for name, array in feed.items() if name in self.inputs})
        mask = feed["attention_mask"][:, :, None].astype(np.float32)
        means = (hidden * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
        vectors: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors


def main(arguments: list[str]) -> int:
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    model, tokenizer, *sentences = arguments
    vectors = Embedder(model, tokenizer).embed(sentences)
    for row, sentence in zip(vectors @ vectors.T, sentences, strict=True):
        print(" ".join(f"{likeness:6.3f}" for likeness in row), sentence)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
