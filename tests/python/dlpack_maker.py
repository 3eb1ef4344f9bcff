"""Objects that speak DLPack in any way, right or wrong, made of its structures in memory."""

import ctypes

CPU, CUDA = 1, 2


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


#: Structures and deleters stay until the end: a consumer may have them as long as it likes.
_alive = []


class Producer:
    """A view of a NumPy array as DLPack describes it, but for what is given otherwise. `deleted` counts calls of the deleter."""

    FLOAT32 = (2, 32, 1)

    def __init__(self, array, dtype=FLOAT32, shape=None, strides=None, device=(CPU, 0), offset=0, version=(1, 0), read_only=False, data=None, asked=None):
        self.array, self.deleted, self.asked = array, 0, asked or device
        shape = array.shape if shape is None else shape
        self._sizes = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self._deleter = _Deleter(self._delete)
        tensor = _Tensor(array.ctypes.data - offset if data is None else data, _Device(*device), len(shape), _DType(*dtype), self._sizes, self._strides, offset)
        if version is None:
            self._managed, self._name = _Managed(tensor, None, self._deleter), b"dltensor"
        else:
            self._managed, self._name = _Versioned(*version, None, self._deleter, int(read_only), tensor), b"dltensor_versioned"

        _alive.append(self)

    def _delete(self, _managed):
        self.deleted += 1

    def __dlpack__(self, **_):
        return _new_capsule(ctypes.addressof(self._managed), self._name, None)

    def __dlpack_device__(self):
        return self.asked


class OldProducer(Producer):
    """From before DLPack had versions."""

    def __init__(self, array, **given):
        super().__init__(array, version=None, **given)

    def __dlpack__(self, stream=None):
        return super().__dlpack__()
