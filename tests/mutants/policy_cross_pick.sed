# CrossPick moves epsilon and keeps lambda.
# file: src/choice/policies/ftuner/ukernels.cpp
# target: test_cpu
# test: crosspick trades padding against occupancy*
s/steps \* parameters\.occ_stride/0 * parameters.occ_stride/
