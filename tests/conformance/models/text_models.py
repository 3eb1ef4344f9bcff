"""Transformers of tokens, of transformers' own code: two or three layers, small widths."""
import torch
import transformers
from specification import Dim, Input, Specification

VOCABULARY = 211
BATCH = Dim(1, 5, 2)
LENGTH = Dim(1, 64, 13)
WIDTHS = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 112, "vocab_size": VOCABULARY, "max_position_embeddings": 160}


class FirstOutput(torch.nn.Module):
    """The outputs named, of a model called by names."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *values):
        result = self.model(**dict(zip(self.inputs, values)), return_dict=True)
        return tuple(getattr(result, name) for name in self.outputs)


class WithPast(torch.nn.Module):
    """A decoder: tokens, a mask of past and new positions, keys and values of each layer; logits, and keys and values of all positions. Places of the tokens are an input,
    or counted by the mask."""

    def __init__(self, model, places_given):
        super().__init__()
        self.model, self.places_given = model, places_given

    def forward(self, ids, mask, *rest):
        past = rest[self.places_given:]
        cache = transformers.DynamicCache(list(zip(past[::2], past[1::2])))
        positions = rest[0] if self.places_given else (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1]:]
        result = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, return_dict=True)
        layers = result.past_key_values.layers
        return (result.logits, *(part for layer in layers for part in (layer.keys, layer.values)))


def encoder(name, model, config, types=False, outputs=("last_hidden_state", "pooler_output")):
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    specs = [Input("input_ids", ("B", "S"), VOCABULARY), Input("attention_mask", ("B", "S"), mask=True)]
    if types:
        specs.append(Input("token_type_ids", ("B", "S"), 2))
    return Specification(name, lambda: FirstOutput(model(config()), inputs, outputs), {"B": BATCH, "S": LENGTH}, specs, list(outputs))


def decoder(name, model, config, layers, heads, depth, places_given, **more):
    past = [f"past.{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
    places = [Input("position_ids", ("B", "S"), 160)] if places_given else []
    return Specification(
        name, lambda: WithPast(model(config()), places_given), {"B": BATCH, "P": Dim(1, 40, 7), "S": Dim(1, 24, 5)},
        [Input("input_ids", ("B", "S"), VOCABULARY), Input("attention_mask", ("B", "P+S"), mask=True), *places, *(Input(each, ("B", heads, "P", depth)) for each in past)],
        ["logits", *(each.replace("past", "present") for each in past)], output_axes={each.replace("past", "present"): {0: "B", 2: "P+S"} for each in past}, **more)


def bert():
    return transformers.BertConfig(**WIDTHS, attn_implementation="sdpa")


def albert():
    return transformers.AlbertConfig(**WIDTHS, embedding_size=32, attn_implementation="sdpa")


def distilbert():
    return transformers.DistilBertConfig(vocab_size=VOCABULARY, max_position_embeddings=160, n_layers=2, n_heads=4, dim=48, hidden_dim=112, attn_implementation="sdpa")


def roberta():
    return transformers.RobertaConfig(**WIDTHS, pad_token_id=1, type_vocab_size=1, attn_implementation="sdpa")


def gpt2():
    return transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=160, n_embd=48, n_layer=2, n_head=4, attn_implementation="eager")


def llama():
    return transformers.LlamaConfig(**WIDTHS, num_key_value_heads=2, attn_implementation="sdpa")


def t5():
    return transformers.T5Config(vocab_size=VOCABULARY, d_model=48, d_kv=12, d_ff=112, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")


def whisper():
    return transformers.WhisperConfig(vocab_size=VOCABULARY, num_mel_bins=20, d_model=48, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=112,
                                      decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=64, max_source_positions=75,
                                      pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3, attn_implementation="sdpa")


def text_models():
    return [
        encoder("bert", transformers.BertModel, bert, types=True),
        encoder("albert", transformers.AlbertModel, albert, types=True),
        encoder("distilbert", transformers.DistilBertModel, distilbert, outputs=("last_hidden_state",)),
        encoder("roberta", transformers.RobertaModel, roberta),
        decoder("gpt2-past", transformers.GPT2LMHeadModel, gpt2, 2, 4, 12, True),
        decoder("llama-past", transformers.LlamaForCausalLM, llama, 2, 2, 12, True),
        encoder("t5-encoder", transformers.T5EncoderModel, t5, outputs=("last_hidden_state",)),
        Specification("whisper-encoder", lambda: FirstOutput(transformers.WhisperModel(whisper()).encoder, ["input_features"], ["last_hidden_state"]), {"B": BATCH},
                      [Input("input_features", ("B", 20, 150))], ["last_hidden_state"], note="its length is fixed: the model takes no other"),
    ]
