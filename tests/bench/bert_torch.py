"""BERT in PyTorch, with weights by the names of examples/models/bert_base.dyn and bert_large.dyn. Needs torch."""

import torch
from torch.nn import functional

from bert_sizes import DEPTH, layers_of, width_of


class TorchBert:
    """The same in PyTorch, with its fused attention; called with ids, type_ids and mask as numpy arrays."""

    def __init__(self, weights):
        self.layers, self.width = layers_of(weights), width_of(weights)
        self.weights = {name: torch.from_numpy(value) for name, value in weights.items()}
        # PyTorch keeps a linear layer's weight as [out, in].
        self.linears = {name: value.t().contiguous() for name, value in self.weights.items() if value.dim() == 2 and "embeddings." not in name}

    def linear(self, x, name):
        return functional.linear(x, self.linears[f"{name}.weight"], self.weights[f"{name}.bias"])

    def layer_norm(self, x, name):
        return functional.layer_norm(x, (self.width,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-12)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.width // DEPTH, DEPTH).transpose(1, 2)

    def attention(self, x, hide, name):
        q, k, v = (self.heads(self.linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=hide)
        joined = mixed.transpose(1, 2).reshape(x.shape)
        return self.layer_norm(self.linear(joined, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    @torch.inference_mode()
    def __call__(self, ids, type_ids, mask):
        table = {part: self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "token_type", "position")}
        x = table["word"][torch.from_numpy(ids)] + table["token_type"][torch.from_numpy(type_ids)] + table["position"][: ids.shape[1]]
        x = self.layer_norm(x, "embeddings.LayerNorm")
        hide = (1 - torch.from_numpy(mask))[:, None, None, :] * -10000.0
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            y = self.attention(x, hide, f"{name}.attention")
            inner = functional.gelu(self.linear(y, f"{name}.intermediate.dense"))
            x = self.layer_norm(self.linear(inner, f"{name}.output.dense") + y, f"{name}.output.LayerNorm")
        return x
