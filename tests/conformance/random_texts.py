"""Random models on texts for random_trees.py: columns of texts that are joined, moved, filled, compared and encoded, as in pipelines with categories."""
import numpy
from onnx import TensorProto, helper

DOMAIN = "ai.onnx.ml"
WORDS = ["cat", "Cat", "cat ", "", "été", "e\u0301te\u0301", "日本", "🐱", 'say "hi"', "a\\b", "a\nb", "x" * 70, "0", "1.5", "_Unused", "ß", "\u00a0", "dog", "doge", "do"]


class TextModel:
    """Nodes from the inputs c0, c1, ... to the output y, and perhaps texts as they are."""

    def __init__(self, draw):
        self.draw = draw
        self.nodes, self.outputs, self.initializers = [], [], []
        self.columns = [f"c{i}" for i in range(draw.randint(1, 4))]
        self.words = draw.sample(WORDS, draw.randint(2, len(WORDS)))
        self.made, self.kind = 0, "Texts"

    def name(self):
        self.made += 1
        return f"t{self.made}"

    def some(self, least=1):
        """Texts to look up: not all of those that inputs have, and some that they lack."""
        known = self.draw.sample(self.words, self.draw.randint(min(least, len(self.words)), len(self.words)))
        return known + [f"none{i}" for i in range(self.draw.randint(0, 2))]

    def node(self, op, inputs, domain="", output=None, **attributes):
        output = output or self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, values, dtype=TensorProto.INT64, shape=None):
        name = self.name()
        elements = [value.encode() for value in values] if dtype == TensorProto.STRING else values
        self.initializers.append(helper.make_tensor(name, dtype, [len(values)] if shape is None else shape, elements))
        return name

    # --- texts to texts; `width` is the number of columns ---

    def joined(self):
        columns = self.draw.sample(self.columns, self.draw.randint(1, len(self.columns)))
        return (self.node("Concat", columns, axis=1) if len(columns) > 1 else columns[0]), len(columns)

    def moved(self, x, width):
        how = self.draw.choice(["none", "chosen", "gathered", "sliced", "reshaped", "identity", "filled", "cast", "coded"])
        if how in ("chosen", "gathered"):
            places = [self.draw.randrange(width) for _ in range(self.draw.randint(1, 3))]
            indices = self.constant(places)
            return (self.node("ArrayFeatureExtractor", [x, indices], DOMAIN) if how == "chosen" else self.node("Gather", [x, indices], axis=1)), len(places)
        if how == "sliced":
            start = self.draw.randrange(width)
            return self.node("Slice", [x, self.constant([start]), self.constant([width]), self.constant([1])]), width - start
        if how == "reshaped":
            return self.node("Reshape", [x, self.constant([-1, 1])]), 1
        if how == "identity":
            return self.node("Identity", [x]), width
        if how == "cast":
            return self.node("Cast", [x], to=TensorProto.STRING), width
        if how == "filled":
            is_it = self.node("Equal", [x, self.constant([self.draw.choice(self.words)], TensorProto.STRING)])
            return self.node("Where", [is_it, self.constant([self.draw.choice(WORDS)], TensorProto.STRING, []), x]), width
        if how == "coded":
            keys = self.some()
            return self.node("LabelEncoder", [x], DOMAIN, keys_strings=keys, values_strings=[self.draw.choice(WORDS) for _ in keys], default_string=self.draw.choice(WORDS)), width
        return x, width

    # --- texts to the output ---

    def read(self, x, width):
        how = self.draw.choice(["one_hot", "one_hot", "labels", "labels", "mapper", "constant", "pair", "grams", "texts"])
        keys = self.some()
        if how == "one_hot":
            self.node("OneHotEncoder", [x], DOMAIN, "y", cats_strings=keys, zeros=1)
            return TensorProto.FLOAT
        if how == "labels":
            kind, dtype, values, default = self.draw.choice([("int64s", TensorProto.INT64, [self.draw.randint(-9, 9) for _ in keys], ("default_int64", -7)),
                                                             ("floats", TensorProto.FLOAT, [self.draw.uniform(-1, 1) for _ in keys], ("default_float", 0.5)),
                                                             ("strings", TensorProto.STRING, [self.draw.choice(WORDS) for _ in keys], ("default_string", "?"))])
            self.node("LabelEncoder", [x], DOMAIN, "y", keys_strings=keys, **{"values_" + kind: values, default[0]: default[1]})
            return dtype
        if how == "mapper":
            self.node("CategoryMapper", [x], DOMAIN, "y", cats_strings=keys, cats_int64s=self.draw.sample(range(50), len(keys)), default_int64=-3)
            return TensorProto.INT64
        if how == "constant":
            self.node("Equal", [x, self.constant([self.draw.choice(WORDS) for _ in range(width)], TensorProto.STRING)], output="y")
            return TensorProto.BOOL
        if how == "pair":
            self.node("Equal", [x, self.draw.choice(self.columns)] if width > 1 or not self.nodes else [x, x], output="y")
            return TensorProto.BOOL
        if how == "grams":
            pairs = [self.draw.choice(WORDS) for _ in range(2 * self.draw.randint(0, 3))]
            self.node("TfIdfVectorizer", [x], output="y", mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=self.draw.randint(0, 1), ngram_counts=[0, len(keys)],
                      ngram_indexes=list(range(len(keys) + len(pairs) // 2)), pool_strings=keys + pairs)
            return TensorProto.FLOAT
        self.node("Identity", [x], output="y")
        return TensorProto.STRING

    def draw_kind(self):
        x, width = self.joined()
        for _ in range(self.draw.randint(0, 3)):
            x, width = self.moved(x, width)
        if self.draw.random() < 0.3:
            self.outputs.append((self.node("Identity", [x], output="passed"), TensorProto.STRING))
        self.outputs.append(("y", self.read(x, width)))

    def model(self):
        inputs = [helper.make_tensor_value_info(name, TensorProto.STRING, ["N", 1]) for name in self.columns]
        graph = helper.make_graph(self.nodes, "random", inputs, [helper.make_tensor_value_info(name, dtype, None) for name, dtype in self.outputs], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 3)], ir_version=9)

    def inputs(self, rows, state):
        return {name: numpy.array([[self.words[i] if i < len(self.words) else f"new{state.integers(3)}"] for i in state.integers(0, len(self.words) + 2, rows)], object)
                for name in self.columns}
