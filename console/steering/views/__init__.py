"""Pages of steering: plans, approvals, the tally of shadow, the switch."""
