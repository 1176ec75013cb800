//! The independent exact checker of plans; no floats.
