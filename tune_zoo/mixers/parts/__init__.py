"""What mixers are built of: filters, short convolutions, decay rates, and the bases that several share."""
