//! Arrival curves, min-plus operators and deviations in exact integers.
