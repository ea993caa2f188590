"""What all model generators share: graph building, deterministic weights, and the op forms of each exporter."""
