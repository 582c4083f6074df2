"""Speed figures: python -m benchmarks.bench --out FILE."""
