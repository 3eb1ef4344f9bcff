# A buffer that is bound is given back at once.
# file: src/python/bindings/arrays/given.cpp
# test: test_bytes_that_are_lent_cannot_move
s/taken_ = PyObject_GetBuffer(object\.ptr(), &view_, PyBUF_RECORDS_RO) == 0;/taken_ = PyObject_GetBuffer(object.ptr(), \&view_, PyBUF_RECORDS_RO) == 0; if (taken_) { Py_buffer own = view_; PyBuffer_Release(\&own); taken_held_ = false; }/; s/    if (taken_) PyBuffer_Release/    if (taken_ \&\& taken_held_) PyBuffer_Release/; s/  bool taken_ = false;/  bool taken_ = false, taken_held_ = true;/
