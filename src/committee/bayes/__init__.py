"""Relatives of Expectation Propagation: EM, and samples of the exact posterior."""
