# Elements of a computed factor beyond K are what the expression gives of another element.
# file: targets/ptx/copies/computed_copy.cpp
# target: test_ptx
# test: what is not finite in a computed factor stays in its row
s/value = builder_\.CreateSelect(exists, value, llvm::Constant::getNullValue(value->getType()));//
