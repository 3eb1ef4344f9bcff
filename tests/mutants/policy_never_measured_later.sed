# Blocks that the load did not time are never timed.
# file: targets/cpu/policies/paper_policies.cpp
# target: test_cpu
# test: a policy whose blocks were not timed*
s/if (!figures_\.measure ||/if (true ||/
