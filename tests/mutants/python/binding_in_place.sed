# Runs of a binding write the same outputs again.
# file: src/python/dyn/io_binding.py
# test: test_a_binding_reads_what_its_memory_has
s/^        made = /        memory |= {name: value._tensor for name, value in zip(self._outputs, self._results)}\n        made = /
