"""Where a run shows its trials besides its own records: TensorBoard, MLflow, Weights & Biases."""
