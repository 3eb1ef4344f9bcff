#!/usr/bin/env python3
"""Random models of classical machine learning (the domain ai.onnx.ml) with what ONNX Runtime makes of them, as cases for dyn-conformance.

  random_trees.py FOLDER [--models 60] [--seed 1]

Ensembles of trees of every mode, with NaNs in their inputs, and the operators that stand around them. Thresholds and inputs are multiples of 1/4, so that many are equal; weights of
leaves are multiples of 1/64, so that sums are exact and no label hangs on a rounding. A quarter of the models are pipelines on texts (random_texts.py). Three data sets for each, of
other numbers of rows. Writes FOLDER/node/NAME/{model.onnx, data.json, test_data_set_N} and FOLDER/names.txt. What ONNX Runtime refuses is drawn again.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import collections
import pathlib
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_cases import write_case, write_cases
from random_texts import TextModel

ROWS = (1, 5, 47)
TOLERANCES = {"rtol": 1e-4, "atol": 2e-5}
DOMAIN = "ai.onnx.ml"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
NUMPY = {TensorProto.FLOAT: numpy.float32, TensorProto.DOUBLE: numpy.float64, TensorProto.INT64: numpy.int64, TensorProto.INT32: numpy.int32, TensorProto.FLOAT16: numpy.float16}


class Model:
    """One node, or a few."""

    def __init__(self, draw):
        self.draw = draw
        self.features = draw.randint(1, 7)
        self.dtype = TensorProto.FLOAT
        self.has_nan = False
        self.nodes, self.outputs, self.initializers, self.kind = [], [], [], ""

    def quarter(self, low=-8, high=8):
        return self.draw.randint(low, high) / 4

    def weight(self, positive=False):
        return self.draw.randint(1 if positive else -40, 40) / 64

    def floats(self, count):
        return [self.draw.uniform(-1.5, 1.5) for _ in range(count)]

    def node(self, op, outputs, inputs=("x",), **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [name for name, _ in outputs], domain=DOMAIN, **{key: value for key, value in attributes.items() if value is not None}))
        self.kind = self.kind or op
        self.outputs = outputs

    # --- trees ---

    def trees(self, count, deepest):
        """Lists of [feature, threshold, mode, yes, no], or of None for a leaf; yes and no are places."""
        one_mode = self.draw.choice(MODES[:4]) if self.draw.random() < 0.5 else None
        trees = []
        for _ in range(count):
            nodes, open_ = [None], [(0, 0)]
            while open_:
                place, depth = open_.pop(0)
                if depth >= deepest or (depth > 0 and self.draw.random() < 0.25):
                    continue
                nodes[place] = [self.draw.randrange(self.features), self.quarter(), one_mode or self.draw.choice(MODES), len(nodes), len(nodes) + 1]
                open_ += [(len(nodes), depth + 1), (len(nodes) + 1, depth + 1)]
                nodes += [None, None]
            trees.append(nodes)
        return trees

    def list_attributes(self, trees, leaves, targets, weight, always):
        """The attributes of TreeEnsembleClassifier and TreeEnsembleRegressor."""
        lists = collections.defaultdict(list)
        shuffled = self.draw.random() < 0.3
        for number, nodes in enumerate(trees):
            ids = self.draw.sample(range(len(nodes)), len(nodes)) if shuffled else list(range(len(nodes)))
            for place, inner in enumerate(nodes):
                feature, threshold, mode, yes, no = inner or [0, 0.0, "LEAF", 0, 0]
                for name, value in (("treeids", number), ("nodeids", ids[place]), ("featureids", feature), ("values", threshold), ("modes", mode), ("truenodeids", ids[yes]),
                                    ("falsenodeids", ids[no]), ("missing_value_tracks_true", int(inner is not None and self.draw.random() < 0.3))):
                    lists["nodes_" + name].append(value)
                if inner:
                    continue
                chosen = targets if always else self.draw.sample(targets, self.draw.randint(1, len(targets)))
                for target in chosen:
                    for name, value in (("treeids", number), ("nodeids", ids[place]), ("ids", target), ("weights", weight())):
                        lists[leaves + name].append(value)
        if self.draw.random() < 0.5:
            del lists["nodes_missing_value_tracks_true"]
        self.has_nan = self.draw.random() < 0.6
        if self.dtype == TensorProto.DOUBLE and self.draw.random() < 0.6:
            for name in ("nodes_values", leaves + "weights"):
                lists[name + "_as_tensor"] = numpy_helper.from_array(numpy.array(lists.pop(name), numpy.float64), name)
        return lists

    def transform(self, shares_one=False):
        """ONNX Runtime knows LOGISTIC of a score that two classes share since a newer version."""
        return self.draw.choice(["NONE", "SOFTMAX", "SOFTMAX_ZERO"] if shares_one else TRANSFORMS[:4])

    def size(self):
        return (self.draw.choice([1, 3, 17, 40]), self.draw.choice([1, 3, 6]))

    def regressor(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE])
        targets = self.draw.choice([1, 1, 2, 3])
        # ONNX Runtime gives a target that no leaf mentions 0, not its base value.
        has_base = self.draw.random() < 0.5
        attributes = self.list_attributes(self.trees(*self.size()), "target_", list(range(targets)), self.weight, self.draw.random() < 0.5 or targets == 1 or has_base)
        base = self.floats(targets) if has_base and "target_weights" in attributes else None
        self.node("TreeEnsembleRegressor", [("y", TensorProto.FLOAT)], n_targets=targets, aggregate_function=self.draw.choice(["SUM", "AVERAGE", "MIN", "MAX"]),
                  post_transform=self.transform(), base_values=base, **attributes)

    def tree_classifier(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32])
        classes = self.draw.choice([2, 2, 2, 3, 5])
        targets = list(range(classes))
        if classes == 2 and self.draw.random() < 0.7:
            targets = [self.draw.choice([0, 0, 1])]
        positive = self.draw.random() < 0.5
        base = self.draw.choice([0, 0, classes])
        if classes == 2 and len(targets) == 1 and self.draw.random() < 0.4:
            base = 1
        always = classes > 2 or self.draw.random() < 0.6
        attributes = self.list_attributes(self.trees(*self.size()), "class_", targets, lambda: self.weight(positive), always)
        base = [self.weight() for _ in range(base)] if base and "class_weights" in attributes else None
        self.node("TreeEnsembleClassifier", [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)], classlabels_int64s=self.labels(classes),
                  post_transform=self.transform(classes == 2 and positive), base_values=base, **attributes)

    def tree_ensemble(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE])
        kind = NUMPY[self.dtype]
        targets = self.draw.choice([1, 1, 3])
        inner, leaves, roots, members = [], [], [], []
        for nodes in self.trees(*self.size()):
            if nodes[0] is None:  # a root is an inner node
                nodes = [[0, self.quarter(), "BRANCH_LEQ", 1, 2], None, None]
            places = {}
            for place, node in enumerate(nodes):
                of_kind = leaves if node is None else inner
                places[place] = len(of_kind)
                of_kind.append((self.weight(), self.draw.randrange(targets)) if node is None else [node, nodes, places])
            roots.append(places[0])
        lists = collections.defaultdict(list)
        for node, nodes, places in inner:
            feature, threshold, mode, yes, no = node
            number = MODES.index(mode) if self.draw.random() < 0.85 else MEMBER
            if number == MEMBER:
                members += [self.draw.randint(1, 5) for _ in range(self.draw.randint(1, 6))] + [float("nan")]
            for name, value in (("featureids", feature), ("splits", threshold), ("modes", number), ("truenodeids", places[yes]), ("falsenodeids", places[no]),
                                ("trueleafs", int(nodes[yes] is None)), ("falseleafs", int(nodes[no] is None)), ("missing_value_tracks_true", int(self.draw.random() < 0.3))):
                lists["nodes_" + name].append(value)
        if self.draw.random() < 0.5:
            del lists["nodes_missing_value_tracks_true"]
        self.has_nan = self.draw.random() < 0.6

        def tensor(values, dtype):
            return numpy_helper.from_array(numpy.array(values, dtype))

        lists["nodes_splits"], lists["nodes_modes"] = tensor(lists["nodes_splits"], kind), tensor(lists["nodes_modes"], numpy.uint8)
        self.node("TreeEnsemble", [("y", self.dtype)], n_targets=targets, tree_roots=roots, leaf_weights=tensor([weight for weight, _ in leaves], kind),
                  leaf_targetids=[target for _, target in leaves], membership_values=tensor(members, kind) if members else None, aggregate_function=self.draw.randint(0, 3),
                  post_transform=self.draw.choice([0, 3]), **lists)  # ONNX Runtime takes 1 for 2

    # --- products ---

    def labels(self, classes):
        return self.draw.sample(range(-9, 40), classes)

    def linear_regressor(self):
        targets = self.draw.choice([1, 2, 4])
        self.node("LinearRegressor", [("y", TensorProto.FLOAT)], targets=targets, coefficients=self.floats(targets * self.features), intercepts=self.floats(targets),
                  post_transform=self.transform())

    def linear_classifier(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
        classes = self.draw.choice([1, 2, 3, 5])
        self.node("LinearClassifier", [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)], coefficients=self.floats(classes * self.features),
                  intercepts=self.floats(classes), classlabels_ints=self.labels(max(classes, 2)), post_transform=self.transform(classes == 1))

    def kernel(self):
        kind = self.draw.choice(["LINEAR", "POLY", "RBF", "SIGMOID"])
        return {"kernel_type": kind, "kernel_params": [self.draw.uniform(0.05, 0.4), self.draw.uniform(-0.5, 0.5), self.draw.choice([2.0, 3.0])]}

    def svm_regressor(self):
        vectors = self.draw.choice([0, 1, 9])
        kernel = self.kernel() if vectors else {}
        self.node("SVMRegressor", [("y", TensorProto.FLOAT)], n_supports=vectors, support_vectors=self.floats(vectors * self.features) if vectors else None,
                  coefficients=self.floats(vectors or self.features), rho=self.floats(1), one_class=self.draw.choice([0, 0, 1]), **{"kernel_params": [0.0, 0.0, 0.0], **kernel})

    def svm_classifier(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32])
        classes = self.draw.choice([2, 2, 3, 4])
        if self.draw.random() < 0.3:
            attributes = {"coefficients": self.floats(classes * self.features), "rho": self.floats(1), "kernel_params": [0.0, 0.0, 0.0]}
        else:
            counts, pairs = [self.draw.randint(1, 4) for _ in range(classes)], classes * (classes - 1) // 2
            attributes = {"vectors_per_class": counts, "support_vectors": self.floats(sum(counts) * self.features), "coefficients": self.floats((classes - 1) * sum(counts)),
                          "rho": self.floats(pairs), **self.kernel()}
            if self.draw.random() < 0.5:
                attributes |= {"prob_a": self.floats(pairs), "prob_b": self.floats(pairs)}
        self.node("SVMClassifier", [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)], classlabels_ints=self.labels(classes),
                  post_transform=self.transform(classes == 2), **attributes)

    # --- features ---

    def any_number(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32])

    def scaler(self):
        self.any_number()
        count = self.draw.choice([1, self.features])
        self.node("Scaler", [("y", TensorProto.FLOAT)], offset=self.floats(count), scale=self.floats(count))

    def normalizer(self):
        self.any_number()
        self.node("Normalizer", [("y", TensorProto.FLOAT)], norm=self.draw.choice(["MAX", "L1", "L2"]))

    def imputer(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.INT64])
        count = self.draw.choice([1, self.features])
        if self.dtype == TensorProto.FLOAT:
            self.has_nan = True
            self.node("Imputer", [("y", self.dtype)], imputed_value_floats=self.floats(count), replaced_value_float=self.draw.choice([float("nan"), 0.25]))
        else:
            self.node("Imputer", [("y", self.dtype)], imputed_value_int64s=[self.draw.randint(-9, 9) for _ in range(count)], replaced_value_int64=1)

    def binarizer(self):
        self.node("Binarizer", [("y", self.dtype)], threshold=self.quarter())

    def vectorizer(self):
        self.any_number()
        widths = [self.draw.choice([self.features, max(self.features - 1, 1), self.features + 2]) for _ in range(self.draw.randint(1, 3))]
        self.node("FeatureVectorizer", [("y", TensorProto.FLOAT)], inputs=["x"] * len(widths), inputdimensions=widths)

    def extractor(self):
        self.any_number()
        places = numpy.array([[self.draw.randrange(self.features) for _ in range(self.draw.randint(1, 5))]], numpy.int64)
        self.initializers.append(numpy_helper.from_array(places, "places"))
        self.node("ArrayFeatureExtractor", [("y", self.dtype)], inputs=["x", "places"])

    def encoder(self):
        to_floats, from_floats = self.draw.random() < 0.5, self.draw.random() < 0.5
        self.dtype = TensorProto.FLOAT if from_floats else TensorProto.INT64
        self.has_nan = from_floats
        count = self.draw.randint(1, 9)
        keys = [self.quarter() if from_floats else self.draw.randint(-4, 4) for _ in range(count)]
        values = self.floats(count) if to_floats else [self.draw.randint(-99, 99) for _ in range(count)]
        attributes = {"default_float": 0.5} if to_floats else {"default_int64": self.draw.randint(-9, 9)}
        self.node("LabelEncoder", [("y", TensorProto.FLOAT if to_floats else TensorProto.INT64)],
                  **{"keys_floats" if from_floats else "keys_int64s": keys, "values_floats" if to_floats else "values_int64s": values, **attributes})

    def one_hot(self):
        self.dtype = self.draw.choice([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
        self.node("OneHotEncoder", [("y", TensorProto.FLOAT)], cats_int64s=self.draw.sample(range(-4, 6), self.draw.randint(1, 6)), zeros=1)

    KINDS = [regressor, regressor, tree_classifier, tree_classifier, tree_classifier, tree_ensemble, tree_ensemble, linear_regressor, linear_classifier, svm_regressor,
             svm_classifier, svm_classifier, scaler, normalizer, imputer, binarizer, vectorizer, extractor, encoder, one_hot]

    def draw_kind(self):
        self.draw.choice(self.KINDS)(self)

    def model(self):
        graph = helper.make_graph(self.nodes, "random", [helper.make_tensor_value_info("x", self.dtype, ["N", self.features])],
                                  [helper.make_tensor_value_info(name, dtype, None) for name, dtype in self.outputs], self.initializers)
        version = 5 if self.kind == "TreeEnsemble" else 3
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, version)], ir_version=9)

    def input(self, rows, state):
        x = state.integers(-10, 11, [rows, self.features]) / 4
        if NUMPY[self.dtype] in (numpy.int64, numpy.int32):
            x = numpy.floor(x)
        elif self.has_nan:
            x[state.random(x.shape) < 0.1] = numpy.nan
        return x.astype(NUMPY[self.dtype])

    def inputs(self, rows, state):
        return {"x": self.input(rows, state)}


def write_model(folder, drawn, session_of):
    model = drawn.model()
    session = session_of(model)
    state = numpy.random.default_rng(drawn.draw.getrandbits(32))
    sets = []
    for rows in ROWS:
        inputs = drawn.inputs(rows, state)
        sets.append((list(inputs.values()), session.run(None, inputs)))
    write_case(folder, model, sets, TOLERANCES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    drawn = collections.Counter()

    def draw(number, session_of):
        state = random.Random(arguments.seed * 1_000_003 + number)
        model = TextModel(state) if state.random() < 0.25 else Model(state)
        model.draw_kind()

        def write(folder):
            write_model(folder, model, session_of)
            drawn[model.kind] += 1

        return f"random_{arguments.seed}_{number}_{model.kind.lower()}", write

    refused = write_cases(arguments.folder, arguments.models, draw)
    print(f"note: {arguments.models} models: " + ", ".join(f"{op} {count}" for op, count in sorted(drawn.items())))
    for reason, count in refused.items():
        print(f"note: ONNX Runtime refused {count}: {reason}".replace("\n", " "))


if __name__ == "__main__":
    main()
