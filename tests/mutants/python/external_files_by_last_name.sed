# Files of external data that are in memory lose their folders.
# file: src/python/dyn/model_files.py
# test: test_external_data_from_memory
s/os.path.join(self._folder, name): view/os.path.join(self._folder, os.path.basename(name)): view/
