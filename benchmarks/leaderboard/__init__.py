"""One protocol, one table: every system on the same tests, choices locked on dev pools first."""
