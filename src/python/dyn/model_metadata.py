"""A model's description of itself, as ONNX Runtime has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._dyn import Metadata

#: ONNX Runtime's version of a model that has none.
_NO_VERSION = 2**63 - 1


@dataclass
class ModelMetadata:
    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = _NO_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict)

    @classmethod
    def _of(cls, own: Metadata) -> ModelMetadata:
        return cls(own.producer, own.graph, own.domain, own.description, own.graph_description, own.version or _NO_VERSION, own.properties)
