"""What is fixed before the first label: population, order, sets, and the ledger of plans."""
