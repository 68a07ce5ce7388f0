"""Context: how many tokens a text takes. Atoms, tree and assembly join here later."""
