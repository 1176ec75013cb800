//! Routing, analyses, modes and deployment: from a network to a plan.
