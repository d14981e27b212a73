"""What mixers compute over positions: convolutions, scans and recurrences, as functions of tensors."""
