"""Commands that measure what the documents report; python -m benchmarks.bench prints the speed."""
