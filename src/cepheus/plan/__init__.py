"""From rules to what kernels run: analyses, and the lowering of rules to flat arrays."""
