"""What a hook without a seal has in place of the modules of these names: see tests.perf.trust_cost.

Complete modules, so that the hook without a seal does not load the real ones either.
"""
