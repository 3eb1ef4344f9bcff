"""What is exported of a model, and how its inputs are drawn."""
import dataclasses

import numpy


@dataclasses.dataclass
class Dim:
    """least .. greatest in whole steps; the example with which the exporter traces is none of 0, 1 and other dims' examples, so that no two are mistaken for one."""
    least: int
    greatest: int
    example: int
    step: int = 1


@dataclasses.dataclass
class Input:
    """shape: names of dims, integers, and sums of names such as "P+S". below: of integers, what they are less than; 0: floats, normal, or images. mask: each row is 1 up to a
    length that is drawn, and 0 behind it; the first row is 1 throughout."""
    name: str
    shape: tuple
    below: int = 0
    mask: bool = False


@dataclasses.dataclass
class Specification:
    """build: a module whose forward takes the inputs in order. output_axes: names of an output's dims where they are not the batch and the length."""
    name: str
    build: object
    dims: dict
    inputs: list
    outputs: list
    note: str = ""
    output_axes: dict = dataclasses.field(default_factory=dict)


def size(shape, dims):
    """Dims' values in a shape with names."""
    return [each if isinstance(each, int) else sum(dims[name] for name in each.split("+")) for each in shape]


def draw_images(random, count, height, width):
    """Patches of colours below noise: of noise alone all images have the same means, and networks that end in means cannot tell them apart."""
    patches = random.standard_normal((count, 3, 4, 4)) * random.uniform(1, 4, (count, 1, 1, 1))
    rows, columns = numpy.arange(height) * 4 // height, numpy.arange(width) * 4 // width
    return (patches[:, :, rows][:, :, :, columns] + random.standard_normal((count, 3, height, width))).astype(numpy.float32)


def draw(spec, dims, random):
    """spec: an Input or the same as a dict."""
    spec = spec if isinstance(spec, dict) else dataclasses.asdict(spec)
    shape = size(spec["shape"], dims)
    if spec["mask"]:
        lengths = random.integers(1, shape[1] + 1, (shape[0], 1))
        lengths[0] = shape[1]
        return (numpy.arange(shape[1]) < lengths).astype(numpy.int64)
    if spec["below"]:
        return random.integers(0, spec["below"], shape)
    if len(shape) == 4 and shape[1] == 3:
        return draw_images(random, *shape[::2], shape[3])
    return random.standard_normal(shape).astype(numpy.float32)


def random_dims(ranges, count, seed):
    """Values for each dim, count times: all least, all greatest, then any. Of those with steps of 1 some are odd."""
    random = numpy.random.default_rng(seed)
    chosen = [{name: least for name, (least, _, _) in ranges.items()}, {name: greatest for name, (_, greatest, _) in ranges.items()}]
    while len(chosen) < count:
        chosen.append({name: int(least + step * random.integers(0, (greatest - least) // step + 1)) for name, (least, greatest, step) in ranges.items()})
    return chosen[:count]
